import { execFile } from 'node:child_process';
import { closeSync, ftruncateSync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const mebibyte = 1024 * 1024;

/** Makes an empty, sparse disk; an existing one of that name is emptied. */
export function createBlankDisk(path: string, sizeMiB: number): void {
  const descriptor = openSync(path, 'w');
  try {
    ftruncateSync(descriptor, sizeMiB * mebibyte);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Makes an ext4 disk that holds what the folder holds, and little more; needs no root and no mount.
 */
export async function createFolderDisk(path: string, folder: string): Promise<void> {
  const { stdout } = await run('du', ['-s', '--apparent-size', '--block-size=1M', folder]);
  const contentMiB = Number.parseInt(stdout, 10);
  createBlankDisk(path, Math.ceil(contentMiB * 1.1) + 32);
  await run('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-d', folder, path]);
}

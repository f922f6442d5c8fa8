import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { createFolderDisk } from './disks.ts';

const run = promisify(execFile);

/**
 * Makes a disk whose content can stand for a container image: programs of this machine, at their own paths,
 * with the libraries they load. In a live guest it needs the serial `agent`.
 */
export async function createProgramsDisk(
  disk: string,
  folder: string,
  programs: readonly string[],
): Promise<void> {
  for (const program of programs) {
    const { stdout } = await run('ldd', [program]);
    const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
    for (const path of [program, ...libraries]) copyReal(path, folder);
  }
  for (const name of ['etc', 'tmp', 'root']) mkdirSync(join(folder, name), { recursive: true });
  await createFolderDisk(disk, folder);
}

function copyReal(path: string, folder: string): void {
  const target = join(folder, path);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(realpathSync(path), target);
}

import { execFile } from 'node:child_process';
import { rm, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { mebibyte } from '../../../scripts/parts/coreos-disk.ts';
import { osDisk, osDiskShape } from '../../../scripts/parts/os-disk.ts';
import { partFolder } from '../../../scripts/parts/part.ts';

const run = promisify(execFile);

/**
 * Unpacks the disk image of Lab CoreOS onto a disk of that size; the table and its partitions stay
 * unchanged.
 */
export async function unpackOsDisk(disk: string, sizeMiB: number): Promise<void> {
  const packed = `${partFolder(osDisk)}/labcoreos.raw.zst`;
  await run('zstd', ['--quiet', '--decompress', '--sparse', '--force', packed, '-o', disk]);
  await truncate(disk, sizeMiB * mebibyte);
}

const bootOf = (disk: string): string => `${disk}?offset=${osDiskShape.boot.startMiB * mebibyte}`;

/** The text of a file on the boot partition of such a disk. */
export async function readOnBoot(disk: string, path: string): Promise<string> {
  return (await run('debugfs', ['-R', `cat ${path}`, bootOf(disk)])).stdout;
}

/**
 * Writes a file on the boot partition of such a disk, in the place of one that is there; its folder
 * is made.
 */
export async function writeOnBoot(disk: string, path: string, text: string): Promise<void> {
  const [content, commands] = [`${disk}.content`, `${disk}.commands`];
  await writeFile(content, text);
  const lines = [`mkdir ${dirname(path)}`, `rm ${path}`, `write ${content} ${path}`];
  await writeFile(commands, `${lines.join('\n')}\n`);
  await run('debugfs', ['-w', '-f', commands, bootOf(disk)]);
  await Promise.all([rm(content), rm(commands)]);
}

/**
 * The content of the folder of an installed disk with the network of the first boot:
 * `/INODE/MODE/…/NAME/…`.
 */
export const keyfilesOn = async (disk: string): Promise<string> =>
  (await run('debugfs', ['-R', 'ls -p /coreos-firstboot-network', bootOf(disk)])).stdout;

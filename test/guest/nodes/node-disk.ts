import { execFile } from 'node:child_process';
import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mebibyte } from '../../../scripts/parts/disk/gpt.ts';
import { osDisk, osDiskShape } from '../../../scripts/parts/os-disk.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { machineConfig } from '../install/ignition.ts';

const run = promisify(execFile);

/** Room for a second system, as an installed disk has it. */
const diskMiB = 2048;

/** Bash that lets the root file system have the partition, which is larger than that of the image. */
export const growRoot =
  "unshare --mount sh -c 'mount -o remount,rw /sysroot && xfs_growfs /sysroot' > /dev/null";

/** Makes disks of hosts that were installed and never booted, as coreos-installer leaves them. */
export async function createNodeDisks(
  folder: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const first = join(folder, 'node.raw');
  const packed = join(partFolder(osDisk), 'labcoreos.raw.zst');
  await run('zstd', ['--quiet', '--decompress', '--sparse', '--force', packed, '-o', first]);
  await truncate(first, diskMiB * mebibyte);
  const growing = run('sfdisk', ['--quiet', '-N', '4', first]);
  growing.child.stdin?.end(', +\n');
  await growing;
  const config = join(folder, 'config.ign');
  await writeFile(config, JSON.stringify(machineConfig()));
  const boot = `${first}?offset=${osDiskShape.boot.startMiB * mebibyte}`;
  const commands = join(folder, 'place-ignition');
  await writeFile(commands, `mkdir /ignition\nwrite ${config} /ignition/config.ign\n`);
  await run('debugfs', ['-w', '-f', commands, boot]);
  const disks = names.map((name) => join(folder, `${name}.raw`));
  const argv = ['--sparse=always', '--reflink=auto', '--no-target-directory'];
  await Promise.all(disks.map((disk) => run('cp', [...argv, first, disk])));
  await rm(first);
  return disks;
}

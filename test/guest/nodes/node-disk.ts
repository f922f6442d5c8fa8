import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { machineConfig } from '../install/ignition.ts';
import { unpackOsDisk, writeOnBoot } from '../rig/os-disk.ts';

const run = promisify(execFile);

/** Room for a second system, as an installed disk has it. */
const diskMiB = 2048;

/**
 * Bash that lets the root file system have the partition, which is larger than that of the image.
 */
export const growRoot =
  "unshare --mount sh -c 'mount -o remount,rw /sysroot && xfs_growfs /sysroot' > /dev/null";

/** Makes disks of hosts that were installed and never booted, as coreos-installer leaves them. */
export async function createNodeDisks(
  folder: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const first = join(folder, 'node.raw');
  await unpackOsDisk(first, diskMiB);
  const growing = run('sfdisk', ['--quiet', '-N', '4', first]);
  growing.child.stdin?.end(', +\n');
  await growing;
  await writeOnBoot(first, '/ignition/config.ign', JSON.stringify(machineConfig()));
  const disks = names.map((name) => join(folder, `${name}.raw`));
  const argv = ['--sparse=always', '--reflink=auto', '--no-target-directory'];
  await Promise.all(disks.map((disk) => run('cp', [...argv, first, disk])));
  await rm(first);
  return disks;
}

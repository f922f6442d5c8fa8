import { execFileSync } from 'node:child_process';
import { osDiskShape } from '../../../scripts/parts/os-disk.ts';

/**
 * What is in the folder of an installed disk from which the first boot takes its network:
 * `/INODE/MODE/…/NAME/…`.
 */
export function keyfilesOn(disk: string): string {
  const bootPlace = `${disk}?offset=${osDiskShape.boot.startMiB * 1024 ** 2}`;
  const argv = ['-R', 'ls -p /coreos-firstboot-network', bootPlace];
  return execFileSync('debugfs', argv, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
}

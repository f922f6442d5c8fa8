import type { BlockDevice } from './lsblk.ts';
import { partitionsOf } from './partitions.ts';
import { isArray, isMapped, isPartition, standingOn } from './tree.ts';

/** Removes a device-mapper device, waiting for whoever has it open a moment. */
export const removeMappedArgv = (name: string): readonly string[] => [
  ...['dmsetup', 'remove', '--retry', name],
];

/** Stops a RAID array. */
export const stopArrayArgv = (path: string): readonly string[] => ['mdadm', '--stop', path];

/** Makes a device forget that it was in an array. */
export const forgetArrayArgv = (path: string): readonly string[] => [
  ...['mdadm', '--zero-superblock', path],
];

/** What stands on a disk and must go before it is written: no partitions, no multipath device. */
export const leftoversOn = (disk: BlockDevice): readonly BlockDevice[] =>
  standingOn(disk).filter(
    (device) =>
      !isPartition(device) && device.type !== 'mpath' && (isMapped(device) || isArray(device)),
  );

/**
 * Commands that take down what stands on a disk, from the top. The members of an array forget it
 * as soon as it is stopped, else udev puts it together again. Members on other disks are left.
 */
export function takedownArgvs(disk: BlockDevice): readonly (readonly string[])[] {
  const members = [disk, ...partitionsOf(disk)];
  return leftoversOn(disk).flatMap((device) => {
    if (!isArray(device)) return [removeMappedArgv(device.name)];
    const own = members.filter(({ children }) =>
      children.some(({ kname }) => kname === device.kname),
    );
    return [stopArrayArgv(device.path), ...own.map(({ path }) => forgetArrayArgv(path))];
  });
}

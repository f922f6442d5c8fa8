import type { BlockDevice } from './lsblk.ts';
import { isNamed, withAllOn } from './tree.ts';

/** Lists volume groups with the physical volumes they lie on. */
export const vgsArgv = ['vgs', '--noheadings', '-o', 'vg_name,pv_name'] as const;

/** Lists physical volumes. */
export const pvsArgv = ['pvs', '--noheadings', '-o', 'pv_name'] as const;

/** Deactivates every volume of a group. */
export const deactivateGroupArgv = (group: string): readonly string[] => [
  ...['vgchange', '--activate', 'n', group],
];

/** Removes a group with all its volumes. */
export const removeGroupArgv = (group: string): readonly string[] => ['vgremove', group, '-y'];

/** Removes the metadata of LVM from a device. */
export const removePhysicalArgv = (path: string): readonly string[] => [
  ...['pvremove', path, '-y', '-ff'],
];

/** A volume group and one device it lies on. */
export interface GroupDevice {
  readonly group: string;
  readonly device: string;
}

/** Reads the output of `vgsArgv`; lines without both fields are left out. */
export const parseVgs = (stdout: string): readonly GroupDevice[] =>
  fieldsOf(stdout).flatMap(([group, device]) =>
    group === undefined || device === undefined ? [] : [{ group, device }],
  );

/** Reads the output of `pvsArgv`. */
export const parsePvs = (stdout: string): readonly string[] =>
  fieldsOf(stdout).flatMap(([device]) => (device === undefined ? [] : [device]));

const fieldsOf = (stdout: string): readonly (readonly string[])[] =>
  stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/));

/** Whether a path is the disk or stands on it; whole names only, `sda` is not in `sdaa`. */
export const isOn = (disk: BlockDevice, path: string): boolean =>
  withAllOn(disk).some((device) => isNamed(device, path));

/** The groups that lie on a disk, wholly or in part, each once. */
export const groupsOn = (disk: BlockDevice, groups: readonly GroupDevice[]): readonly string[] => [
  ...new Set(groups.filter(({ device }) => isOn(disk, device)).map(({ group }) => group)),
];

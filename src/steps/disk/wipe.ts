import type { BlockDevice } from './lsblk.ts';
import { partitionsOf } from './partitions.ts';

const mebibyte = 1024 ** 2;

/** Zeroes the first sector: the whole of what the Go agent does to a further disk. */
export const zeroFirstSectorArgv = (path: string): readonly string[] => [
  ...['dd', 'if=/dev/zero', `of=${path}`, 'bs=512', 'count=1'],
];

/** Removes every signature that libblkid knows, also the GPT at both ends; busy or not. */
export const wipefsArgv = (path: string): readonly string[] => [
  ...['wipefs', '--all', '--force', path],
];

/** The second try of `wipefsArgv`, for a device that does not let itself be forced. */
export const wipefsGentlyArgv = (path: string): readonly string[] => ['wipefs', '--all', path];

/**
 * Zeroes a mebibyte at a place of a disk. A partition table with its 128 entries takes 33 sectors
 * at each end: 17 KiB on 512-byte sectors, 132 KiB on 4Kn, so that a mebibyte holds it on both.
 */
export const zeroMebibyteArgv = (path: string, atByte: number | string): readonly string[] => [
  ...['dd', 'if=/dev/zero', `of=${path}`, 'bs=1M', 'count=1'],
  ...['oflag=seek_bytes', `seek=${atByte}`, 'conv=fsync'],
];

/** Prints what is left of signatures; nothing when the device is clean. */
export const wipefsListArgv = (path: string): readonly string[] => [
  ...['wipefs', '--noheadings', '--output', 'TYPE,OFFSET', path],
];

/** Waits until udev has seen every change. */
export const settleArgv = ['udevadm', 'settle', '--timeout=30'] as const;

/** Where the tables of a disk are, and the signatures that a later table could bring back. */
export interface DiskTables {
  readonly path: string;
  /** Where the mebibytes with the two tables begin; text where it is not known yet. */
  readonly ends: readonly (number | string)[];
  /** Paths of the partitions. */
  readonly partitions: readonly string[];
}

/** The tables of a disk; without ends where the disk is no longer than a mebibyte. */
export const tablesOf = (disk: BlockDevice): DiskTables => ({
  path: disk.path,
  ends: disk.sizeBytes > mebibyte ? [0, disk.sizeBytes - mebibyte] : [],
  partitions: partitionsOf(disk).map(({ path }) => path),
});

/**
 * Makes a disk forget its partition tables (GPT, its copy at the end, MBR) and the signatures on
 * its partitions, which a later table at the same place would bring back.
 */
export const forgetTablesArgvs = (
  asked: string,
  { path, ends, partitions }: DiskTables,
): readonly (readonly string[])[] => [
  zeroFirstSectorArgv(asked),
  ...partitions.map(wipefsArgv),
  wipefsArgv(path),
  ...ends.map((atByte) => zeroMebibyteArgv(path, atByte)),
  ['blockdev', '--rereadpt', path],
  settleArgv,
];

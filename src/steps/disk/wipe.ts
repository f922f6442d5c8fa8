// Every command that takes data from a disk. They are run by disk/clean (the install disk), by
// disk/format-extra (further disks), and by image/write when it fails. guards.ts decides what may
// be wiped.
import {
  isArray,
  isLeftover,
  isNamed,
  partitionsOf,
  descendantsOf,
  withDescendants,
  type BlockDevice,
} from './block-devices.ts';
import { seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import type { TargetDisk } from './facts.ts';
import { confirmTarget } from './target.ts';

const mebibyte = 1024 ** 2;

/** Zeroes the first sector: the whole of what the Go agent does to a further disk. */
const zeroFirstSectorArgv = (path: string): readonly string[] => [
  ...['dd', 'if=/dev/zero', `of=${path}`, 'bs=512', 'count=1'],
];

/**
 * Removes every signature that libblkid knows, also the GPT at both ends. The kernel refuses a
 * device that something else has (`O_EXCL`; util-linux, `wipefs.c`).
 */
export const wipefsArgv = (path: string): readonly string[] => ['wipefs', '--all', path];

/** The same of a device whatever has it. */
const wipefsForcedArgv = (path: string): readonly string[] => [
  ...['wipefs', '--all', '--force', path],
];

/**
 * Zeroes a mebibyte at a place of a disk. A partition table with its 128 entries takes 33 sectors
 * at each end: 17 KiB on 512-byte sectors, 132 KiB on 4Kn, so that a mebibyte holds it on both.
 */
export const zeroMebibyteArgv = (path: string, atByte: number | string): readonly string[] => [
  ...['dd', 'if=/dev/zero', `of=${path}`, 'bs=1M', 'count=1'],
  ...['oflag=seek_bytes', `seek=${atByte}`, 'conv=fsync'],
];

/** Prints the remaining signatures; nothing when the device is clean. */
export const wipefsListArgv = (path: string): readonly string[] => [
  ...['wipefs', '--noheadings', '--output', 'TYPE,OFFSET', path],
];

/** Waits until udev has seen every change. */
export const settleArgv = ['udevadm', 'settle', '--timeout=30'] as const;

/** Where the tables of a disk are, and the signatures that a later table could bring back. */
interface DiskTables {
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
  ...partitions.map(wipefsForcedArgv),
  wipefsForcedArgv(path),
  ...ends.map((atByte) => zeroMebibyteArgv(path, atByte)),
  ['blockdev', '--rereadpt', path],
  settleArgv,
];

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
interface GroupDevice {
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

/** Whether a path is the disk or is built on it; whole names only, `sda` is not in `sdaa`. */
export const isOn = (disk: BlockDevice, path: string): boolean =>
  withDescendants(disk).some((device) => isNamed(device, path));

/** The groups that lie on a disk, wholly or in part, each once. */
export const groupsOn = (disk: BlockDevice, groups: readonly GroupDevice[]): readonly string[] => [
  ...new Set(groups.filter(({ device }) => isOn(disk, device)).map(({ group }) => group)),
];

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

/** What uses a disk and must go before it is written: no partitions, no multipath device. */
export const leftoversOn = (disk: BlockDevice): readonly BlockDevice[] =>
  descendantsOf(disk).filter(isLeftover);

/**
 * Commands that take down what uses a disk, from the top. The members of an array forget it
 * as soon as it is stopped, else udev puts it together again. Members on other disks remain.
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

/**
 * Overwrites the boot code and the partition table. Directly, past the page cache: a flush of what
 * the writer left there could take minutes, and a stopped run has seconds.
 */
const zeroTableArgv = (disk: string): readonly string[] => [
  ...['dd', 'if=/dev/zero', `of=${disk}`, 'bs=1M', 'count=1', 'oflag=direct'],
];

/** Partitions that a CoreOS disk boots from (coreos-assembler, `create_disk.sh`). */
const bootLabels = ['EFI-SYSTEM', 'boot'];

/**
 * The partitions to make useless where the table itself must stay; none where it is not known which
 * of them are kept.
 */
const bootPartitions = (disk: BlockDevice, kept: TargetDisk['kept']): readonly string[] =>
  partitionsOf(disk)
    .filter(({ partLabel, partUuid }) => {
      const isKnown = kept !== undefined && partUuid !== '';
      return (
        isKnown && bootLabels.includes(partLabel) && !kept.some((one) => one.partUuid === partUuid)
      );
    })
    .map(({ path }) => path);

/** What is to be made unbootable. */
interface HalfWritten {
  readonly disk: TargetDisk;
  /** The table holds partitions that must not be lost. */
  readonly keepsPartitions: boolean;
  /** The run is to end now; whoever stopped it waits a few seconds and no longer. */
  readonly isStopped: boolean;
}

/**
 * 2.4 s for either way: a look and the table, or a look and a signature for each of the two
 * partitions that boot.
 */
const hurried = { table: seconds(1.2), partition: seconds(0.6) };

/**
 * Sees to it that a disk that was not written to its end does not boot. The writer does so itself
 * when it fails, but not when it is stopped, nor when the kernel holds the disk. It runs when the
 * run is over already, so it listens to no signal; its commands are short.
 */
export async function makeUnbootable(
  host: Host,
  { disk, keepsPartitions, isStopped }: HalfWritten,
): Promise<void> {
  const { signal } = new AbortController();
  const limit = isStopped ? hurried[keepsPartitions ? 'partition' : 'table'] : seconds(30);
  const confirm = (): Promise<BlockDevice> => confirmTarget(host, disk, { signal, limit });
  const seen = await confirm();
  if (keepsPartitions) {
    for (const [index, path] of bootPartitions(seen, disk.kept).entries()) {
      if (index > 0) await confirm();
      await host.exec(wipefsForcedArgv(path), { signal, limit });
    }
    return;
  }
  await host.exec(zeroTableArgv(disk.path), { signal, limit });
  // Nothing boots from now on: a stop waits for no more.
  if (isStopped) return;
  await confirm();
  await host.exec(wipefsForcedArgv(disk.path), { signal, limit });
}

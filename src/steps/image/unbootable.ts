import { type Millis, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { readBlockDevices, targetAmong } from '../disk/block-devices.ts';
import type { TargetDisk } from '../disk/facts.ts';
import type { BlockDevice } from '../disk/lsblk.ts';
import { partitionsOf } from '../disk/partitions.ts';

/**
 * Overwrites the boot code and the partition table. Directly, past the page cache: a flush of what
 * the writer left there could take minutes, and a stopped run has seconds.
 */
export const zeroTableArgv = (disk: string): readonly string[] => [
  'dd',
  'if=/dev/zero',
  `of=${disk}`,
  'bs=1M',
  'count=1',
  'oflag=direct',
];

/** Removes the signatures of tables, also of the second one at the end of the disk. */
export const wipeArgv = (device: string): readonly string[] => [
  'wipefs',
  '--all',
  '--force',
  device,
];

/** Partitions that a CoreOS disk boots from (coreos-assembler, `create_disk.sh`). */
const bootLabels = ['EFI-SYSTEM', 'boot'];

/** The partitions to make useless where the table itself must stay. */
export const bootPartitions = (disk: BlockDevice): readonly string[] =>
  partitionsOf(disk)
    .filter(({ partLabel }) => bootLabels.includes(partLabel))
    .map(({ path }) => path);

/** What is to be made unbootable. */
export interface HalfWritten {
  readonly disk: TargetDisk;
  /** The table holds partitions that must not be lost. */
  readonly keepsPartitions: boolean;
  /** The run is to end now; whoever stopped it waits a few seconds and no longer. */
  readonly isStopped: boolean;
}

interface Limits {
  readonly look: Millis;
  readonly zeroTable: Millis;
  readonly wipe: Millis;
  readonly wipePartition: Millis;
}

const unhurried: Limits = {
  look: seconds(30),
  zeroTable: seconds(30),
  wipe: seconds(30),
  wipePartition: seconds(30),
};

/** 2.5 s for either way: the table and the disk, or a look and the two partitions that boot. */
const hurried: Limits = {
  look: seconds(1),
  zeroTable: seconds(1.5),
  wipe: seconds(1),
  wipePartition: seconds(0.75),
};

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
  const limits = isStopped ? hurried : unhurried;
  if (!keepsPartitions) {
    await host.exec(zeroTableArgv(disk.path), { signal, limit: limits.zeroTable });
    await host.exec(wipeArgv(disk.path), { signal, limit: limits.wipe });
    return;
  }
  const roots = await readBlockDevices(host, signal, limits.look);
  for (const path of bootPartitions(targetAmong(roots, disk))) {
    await host.exec(wipeArgv(path), { signal, limit: limits.wipePartition });
  }
}

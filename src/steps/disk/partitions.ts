import { diskFailure } from './failures.ts';
import type { BlockDevice } from './lsblk.ts';
import { isPartition } from './tree.ts';

/** A partition by what it is for, as CoreOS images lay them out. */
export type PartitionPurpose = 'esp' | 'boot' | 'root';

/** GPT type of an EFI system partition (UEFI specification, 5.3.3). */
const espType = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';

const isFor: Readonly<Record<PartitionPurpose, (partition: BlockDevice) => boolean>> = {
  esp: ({ partType }) => partType === espType,
  boot: ({ label, partLabel }) => label === 'boot' || partLabel === 'boot',
  root: ({ label, partLabel }) => label === 'root' || partLabel === 'root',
};

/** A partition that was found on a disk. */
export interface FoundPartition {
  /** What `mount` takes: `/dev/sda4`, `/dev/mapper/mpatha4`. */
  readonly path: string;
  /** Its number in the partition table. */
  readonly number: number;
  /** GPT partition GUID, lower case; empty when the host does not know it. */
  readonly partUuid: string;
  readonly sizeBytes: number;
}

/** The partitions of a disk, in the order of the host. */
export const partitionsOf = (disk: BlockDevice): readonly BlockDevice[] =>
  disk.children.filter(isPartition);

/**
 * Finds a partition by its type or label. Numbers are not looked at: architectures number them
 * differently, and partitions that were kept may stand before them.
 * @throws AgentError `disk.no-partition`
 */
export function findPartition(disk: BlockDevice, purpose: PartitionPurpose): FoundPartition {
  const found = partitionsOf(disk).find(isFor[purpose]);
  const number = found === undefined ? undefined : numberOf(disk, found);
  if (found === undefined || number === undefined) {
    throw diskFailure('disk.no-partition', `${disk.path} has no ${purpose} partition`, {
      context: { disk: disk.path, purpose, partitions: partitionsOf(disk).length },
    });
  }
  return { path: found.path, number, partUuid: found.partUuid, sizeBytes: found.sizeBytes };
}

/** `sda` and `sda4`, `nvme0n1` and `nvme0n1p4`, `mpatha` and `mpatha-part4` all give 4. */
function numberOf(disk: BlockDevice, partition: BlockDevice): number | undefined {
  const rest = partition.name.startsWith(disk.name)
    ? partition.name.slice(disk.name.length)
    : partition.name;
  const digits = /\d+$/.exec(rest)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * How much of the disk stays free, in whole percent, when everything that is on it and
 * `requiredBytes` more are taken away; 0 when nothing stays. It is what `growpart
 * --free-percent` wants.
 */
export function freePercent(disk: BlockDevice, requiredBytes: number): number {
  const used = partitionsOf(disk).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const rest = disk.sizeBytes - used - requiredBytes;
  return rest > 0 ? Math.floor((rest * 100) / disk.sizeBytes) : 0;
}

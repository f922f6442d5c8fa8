import { randomUUID } from 'node:crypto';
import type { Content, Device } from './device.ts';
import { partitionName } from './device.ts';

const MEBIBYTE = 2 ** 20;

/** GPT types (UEFI specification and the Discoverable Partitions Specification). */
const types = {
  biosBoot: '21686148-6449-6e6f-744e-656564454649',
  esp: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  linux: '0fc63daf-8483-4772-8e79-3d69d8477de4',
};

/** A partition that is about to be made. */
export interface PartitionPlan {
  readonly number: number;
  readonly label: string;
  readonly type: keyof typeof types;
  readonly mebibytes: number;
  readonly fstype?: string;
  readonly fsLabel?: string;
  readonly group?: string;
}

/** The partitions of a CoreOS image, as coreos-installer leaves them. */
export const coreosPartitions: readonly PartitionPlan[] = [
  { number: 1, label: 'BIOS-BOOT', type: 'biosBoot', mebibytes: 1 },
  {
    number: 2,
    label: 'EFI-SYSTEM',
    type: 'esp',
    mebibytes: 127,
    fstype: 'vfat',
    fsLabel: 'EFI-SYSTEM',
  },
  { number: 3, label: 'boot', type: 'linux', mebibytes: 384, fstype: 'ext4', fsLabel: 'boot' },
  { number: 4, label: 'root', type: 'linux', mebibytes: 3121, fstype: 'xfs', fsLabel: 'root' },
];

/** The partitions of a disk as devices. */
export const partitionsFor = (disk: Device, plans: readonly PartitionPlan[]): readonly Device[] =>
  plans.map((plan) => partition(disk, plan));

function partition(disk: Device, plan: PartitionPlan): Device {
  const name = partitionName(disk.name, plan.number);
  const [major = '8', minor = '0'] = disk.majorMinor.split(':');
  return {
    kname: name,
    name,
    majorMinor: `${major}:${Number(minor) + plan.number}`,
    type: 'part',
    sizeBytes: plan.mebibytes * MEBIBYTE,
    sectorBytes: disk.sectorBytes,
    parents: [disk.kname],
    entry: {
      number: plan.number,
      label: plan.label,
      type: types[plan.type],
      uuid: randomUUID(),
    },
    ...(plan.fstype === undefined ? {} : { content: contentOf(plan, plan.fstype) }),
  };
}

const contentOf = ({ fsLabel = '', group }: PartitionPlan, fstype: string): Content => ({
  fstype,
  label: fsLabel,
  uuid: randomUUID(),
  ...(group === undefined ? {} : { group }),
});

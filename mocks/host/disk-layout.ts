import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Content, type Device, type Mount, partitionName } from './devices.ts';

const MEBIBYTE = 2 ** 20;

/** GPT types (UEFI specification and the Discoverable Partitions Specification). */
const types = {
  biosBoot: '21686148-6449-6e6f-744e-656564454649',
  esp: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  linux: '0fc63daf-8483-4772-8e79-3d69d8477de4',
};

/** A partition to create. */
interface PartitionPlan {
  readonly number: number;
  readonly label: string;
  readonly type: keyof typeof types;
  readonly mebibytes: number;
  /** Its start; after the previous partition if undefined. */
  readonly startMebibytes?: number;
  readonly fstype?: string;
  readonly fsLabel?: string;
}

/** The partitions of a CoreOS image, as coreos-installer writes them. */
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
export function partitionsFor(disk: Device, plans: readonly PartitionPlan[]): readonly Device[] {
  let end = 1;
  return plans.map((plan) => {
    const start = plan.startMebibytes ?? end;
    end = start + plan.mebibytes;
    return partition(disk, plan, start * MEBIBYTE);
  });
}

function partition(disk: Device, plan: PartitionPlan, startBytes: number): Device {
  const { number, label } = plan;
  return {
    ...namesOf(disk, number),
    type: 'part',
    sizeBytes: plan.mebibytes * MEBIBYTE,
    sectorBytes: disk.sectorBytes,
    parents: [disk.kname],
    entry: { number, startBytes, label, type: types[plan.type], uuid: randomUUID() },
    ...(plan.fstype === undefined ? {} : { content: contentOf(plan, plan.fstype) }),
  };
}

function namesOf(disk: Device, number: number): Pick<Device, 'kname' | 'name' | 'majorMinor'> {
  const name = partitionName(disk.name, number);
  const [major = '8', minor = '0'] = disk.majorMinor.split(':');
  return { kname: name, name, majorMinor: `${major}:${Number(minor) + number}` };
}

/** A partition with another number in the table of its disk. */
export const renumbered = (disk: Device, one: Device, number: number): Device => ({
  ...one,
  ...namesOf(disk, number),
  ...(one.entry === undefined ? {} : { entry: { ...one.entry, number } }),
});

const contentOf = ({ fsLabel = '' }: PartitionPlan, fstype: string): Content => ({
  fstype,
  label: fsLabel,
  uuid: randomUUID(),
});

/**
 * The remains of earlier use on a disk: `coreos` an installed system, `lvm` an active volume group,
 * `raid` a degraded, assembled mirror, `mirror` a part of an assembled boot mirror as Butane makes
 * it (`boot_device.mirror`), `mounted` a mounted file system, `swap` a swap partition in use,
 * `data` an unused partition, `low-data` one with a number that a partition of the image has too.
 */
export const Leftovers = z.enum([
  ...(['none', 'coreos', 'lvm', 'raid', 'mirror', 'mounted', 'swap', 'data', 'low-data'] as const),
]);
export type Leftovers = z.infer<typeof Leftovers>;

/** A disk's leftovers: the devices on top of it, and their mounts. */
interface Remains {
  readonly devices: readonly Device[];
  readonly mounts: readonly Mount[];
  readonly swaps: readonly string[];
}

/** Creates the leftovers of a disk; `index` keeps names of several disks apart. */
export function remainsOn(disk: Device, leftovers: Leftovers, index: number): Remains {
  const none: Remains = { devices: [], mounts: [], swaps: [] };
  if (leftovers === 'none') return none;
  disk.table = 'gpt';
  if (leftovers === 'coreos') return { ...none, devices: partitionsFor(disk, coreosPartitions) };
  if (leftovers === 'mirror') return { ...none, devices: mirrorPartitions(disk, index + 1) };
  const [first] = partitionsFor(disk, [plans[leftovers]]);
  if (first === undefined) return none;
  const path = `/dev/${first.kname}`;
  switch (leftovers) {
    case 'data':
    case 'low-data':
      return { ...none, devices: [first] };
    case 'lvm':
      return { ...none, devices: [first, volume(first, index)] };
    case 'raid':
      return { ...none, devices: [first, mirror(first, index)] };
    case 'swap':
      return { ...none, devices: [first], swaps: [path] };
    case 'mounted':
      return {
        ...none,
        devices: [first],
        mounts: [{ source: path, target: '/var/mnt/data', fstype: 'ext4', options: 'rw' }],
      };
  }
}

const common = { number: 1, type: 'linux', mebibytes: 10_240 } as const;
const data = { label: 'data', fstype: 'ext4', fsLabel: 'data' } as const;
const behind = { ...common, ...data, startMebibytes: 25_000 } as const;
const plans = {
  lvm: { ...common, label: 'pv', fstype: 'LVM2_member' },
  raid: { ...common, label: 'raid', fstype: 'linux_raid_member', fsLabel: 'any:old' },
  swap: { ...common, label: 'swap', fstype: 'swap' },
  data: { ...behind, number: 5 },
  'low-data': { ...behind, number: 3 },
  mounted: { ...common, ...data },
} as const;

const volume = (member: Device, index: number): Device => ({
  kname: `dm-${index}`,
  name: 'old-root',
  majorMinor: `253:${index}`,
  type: 'lvm',
  sizeBytes: member.sizeBytes,
  sectorBytes: member.sectorBytes,
  parents: [member.kname],
  content: { fstype: 'xfs', label: 'root', uuid: 'a6b7f9a4-0000-4000-8000-000000000001' },
});

const mirror = (member: Device, index: number): Device => ({
  kname: `md${127 - index}`,
  name: `md${127 - index}`,
  majorMinor: `9:${127 - index}`,
  type: 'raid1',
  sizeBytes: member.sizeBytes,
  sectorBytes: member.sectorBytes,
  parents: [member.kname],
});

/**
 * The part of a boot mirror on one disk. Metadata 1.0 of `md-boot` is at the end, so that GRUB can
 * read the file system.
 */
function mirrorPartitions(disk: Device, number: number): readonly Device[] {
  const parts = partitionsFor(disk, coreosPartitions);
  const names = ['bios', 'esp', 'boot', 'root'];
  return parts.map((part, at): Device => {
    const name = names[at] ?? '';
    const member = { fstype: 'linux_raid_member', label: `any:md-${name}`, uuid: `md-${name}` };
    const label = `${name}-${number}`;
    return {
      ...part,
      ...(part.entry === undefined ? {} : { entry: { ...part.entry, label } }),
      content:
        at < 2
          ? { fstype: 'vfat', label, uuid: randomUUID() }
          : { ...member, ...(name === 'boot' ? { behind: mirrored.boot } : {}) },
    };
  });
}

const mirrored = {
  boot: { fstype: 'ext4', label: 'boot', uuid: '11111111-0000-4000-8000-000000000001' },
  root: { fstype: 'xfs', label: 'root', uuid: '11111111-0000-4000-8000-000000000002' },
};

/** The arrays of a boot mirror over all of its disks. */
export function mirrorArrays(devices: readonly Device[]): readonly Device[] {
  return (['boot', 'root'] as const).flatMap((name, at): readonly Device[] => {
    const members = devices.filter(({ content }) => content?.label === `any:md-${name}`);
    const [first] = members;
    if (first === undefined) return [];
    const kname = `md${at + 100}`;
    const parents = members.map((member) => member.kname);
    const { sizeBytes, sectorBytes } = first;
    const own = { kname, name: kname, majorMinor: `9:${at + 100}`, type: 'raid1' as const };
    return [{ ...own, sizeBytes, sectorBytes, parents, content: { ...mirrored[name] } }];
  });
}

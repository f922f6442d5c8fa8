import { z } from 'zod';
import type { Device } from './device.ts';
import { coreosPartitions, partitionsFor } from './layout.ts';
import type { Mount } from './devices.ts';

/**
 * What an earlier life left on a disk: `coreos` an installed system, `lvm` an active volume group,
 * `raid` a degraded mirror that was assembled, `mounted` a file system in use, `swap` a swap
 * partition in use, `data` a partition that nothing uses.
 */
export const Leftovers = z.enum(['none', 'coreos', 'lvm', 'raid', 'mounted', 'swap', 'data']);
export type Leftovers = z.infer<typeof Leftovers>;

/** A disk's leftovers: devices that stand on it, and what is in use. */
export interface Remains {
  readonly devices: readonly Device[];
  readonly mounts: readonly Mount[];
  readonly swaps: readonly string[];
}

/** Makes the leftovers of a disk; `index` keeps names of several disks apart. */
export function remainsOn(disk: Device, leftovers: Leftovers, index: number): Remains {
  const none: Remains = { devices: [], mounts: [], swaps: [] };
  if (leftovers === 'none') return none;
  disk.table = 'gpt';
  if (leftovers === 'coreos') return { ...none, devices: partitionsFor(disk, coreosPartitions) };
  const [first] = partitionsFor(disk, [plans[leftovers]]);
  if (first === undefined) return none;
  const path = `/dev/${first.kname}`;
  switch (leftovers) {
    case 'data':
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
const plans = {
  lvm: { ...common, label: 'pv', fstype: 'LVM2_member', group: 'old' },
  raid: { ...common, label: 'raid', fstype: 'linux_raid_member', fsLabel: 'any:old' },
  swap: { ...common, label: 'swap', fstype: 'swap' },
  data: { ...common, number: 5, label: 'data', fstype: 'ext4', fsLabel: 'data' },
  mounted: { ...common, label: 'data', fstype: 'ext4', fsLabel: 'data' },
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

import type { BlockDevice } from './lsblk.ts';

/**
 * Everything that stands on a device, each once, and always before what it stands on: the order in
 * which it can be taken down. The device itself is not in it.
 */
export function standingOn(device: BlockDevice): readonly BlockDevice[] {
  const seen = new Set<string>();
  const order: BlockDevice[] = [];
  const visit = (one: BlockDevice): void => {
    if (seen.has(one.kname)) return;
    seen.add(one.kname);
    one.children.forEach(visit);
    order.push(one);
  };
  device.children.forEach(visit);
  return order;
}

/** A device and everything that stands on it. */
export const withAllOn = (device: BlockDevice): readonly BlockDevice[] => [
  ...standingOn(device),
  device,
];

/** Every device of the host, each once. */
export function everyDevice(roots: readonly BlockDevice[]): readonly BlockDevice[] {
  const known = new Map<string, BlockDevice>();
  for (const root of roots) {
    for (const device of withAllOn(root)) known.set(device.kname, device);
  }
  return [...known.values()];
}

/** Whether a path, with its links followed or not, is this device. */
export const isNamed = (device: BlockDevice, path: string): boolean =>
  path === device.path || path === `/dev/${device.kname}`;

/** The device with this path, wherever it stands in the tree. */
export const deviceAt = (roots: readonly BlockDevice[], path: string): BlockDevice | undefined =>
  everyDevice(roots).find((device) => isNamed(device, path));

/** The disks at the bottom on which a device stands; the device itself when it is one. */
export const disksUnder = (
  roots: readonly BlockDevice[],
  device: BlockDevice,
): readonly BlockDevice[] =>
  roots.filter((root) => withAllOn(root).some(({ kname }) => kname === device.kname));

/** Made by the device mapper: a logical volume, an encrypted volume, a multipath device. */
export const isMapped = ({ kname }: BlockDevice): boolean => kname.startsWith('dm-');

/** A RAID array of the kernel, active or not. */
export const isArray = ({ kname }: BlockDevice): boolean => /^md(\d|_)/.test(kname);

/** A partition, of a plain disk or of a multipath device. */
export const isPartition = ({ type }: BlockDevice): boolean => type === 'part';

import { type Device, isMapped, pathOf } from './device.ts';

/** A file system that is mounted. */
export interface Mount {
  /** A device path, or what stands in its place: overlay, tmpfs. */
  readonly source: string;
  readonly target: string;
  readonly fstype: string;
  readonly options: string;
}

/** The block devices of a host and what is made of them. Changes are told to `onChange`. */
export interface Devices {
  readonly all: () => readonly Device[];
  readonly byKname: (kname: string) => Device | undefined;
  /** By any path of the device: /dev/sda, /dev/dm-0, /dev/mapper/x, /dev/vg/lv, /dev/disk/by-id/…. */
  readonly byPath: (path: string) => Device | undefined;
  readonly childrenOf: (device: Device) => readonly Device[];
  /** What stands on a device, next first; a device with two parents comes once. */
  readonly above: (device: Device) => readonly Device[];
  readonly add: (...devices: readonly Device[]) => void;
  /** Removes devices and all that stands on them. */
  readonly remove: (...devices: readonly Device[]) => void;
  /** Symbolic links below /dev, each with the path it leads to. */
  readonly links: () => ReadonlyMap<string, string>;
  readonly mounts: Mount[];
  /** Paths of devices that are swapped to. */
  readonly swaps: string[];
}

/** Makes the block devices of one host. */
export function devicesOf(begin: readonly Device[], onChange: () => void): Devices {
  let list: readonly Device[] = begin;
  let links = linksOf(list);
  const childrenOf = ({ kname }: Device): readonly Device[] =>
    list.filter(({ parents }) => parents.includes(kname));
  const above = (device: Device): readonly Device[] => [
    ...new Set(childrenOf(device).flatMap((child) => [child, ...above(child)])),
  ];
  const change = (next: readonly Device[]): void => {
    list = next;
    links = linksOf(list);
    onChange();
  };
  return {
    all: () => list,
    byKname: (kname) => list.find((one) => one.kname === kname),
    byPath: (path) => {
      const target = links.get(path) ?? path;
      return list.find((one) => `/dev/${one.kname}` === target);
    },
    childrenOf,
    above,
    add: (...added) => {
      change([...list, ...added]);
    },
    remove: (...removed) => {
      const gone = new Set(removed.flatMap((one) => [one, ...above(one)]));
      change(list.filter((one) => !gone.has(one)));
    },
    links: () => links,
    mounts: [],
    swaps: [],
  };
}

function linksOf(list: readonly Device[]): ReadonlyMap<string, string> {
  const links = new Map<string, string>();
  for (const device of list) {
    const node = `/dev/${device.kname}`;
    if (isMapped(device)) links.set(pathOf(device), node);
    if (device.type === 'lvm') links.set(`/dev/${device.name.replace('-', '/')}`, node);
    if (device.identity !== undefined) {
      links.set(`/dev/disk/by-id/wwn-${device.identity.wwn}`, node);
      const { model, serial } = device.identity;
      links.set(`/dev/disk/by-id/ata-${model.replaceAll(' ', '_')}_${serial}`, node);
    }
    if (device.entry !== undefined) links.set(`/dev/disk/by-partuuid/${device.entry.uuid}`, node);
  }
  return links;
}

/** Where a device is mounted, and `[SWAP]` when it is swapped to. */
export const mountpointsOf = (devices: Devices, device: Device): readonly string[] => [
  ...devices.mounts
    .filter(({ source }) => source.startsWith('/dev/') && devices.byPath(source) === device)
    .map(({ target }) => target),
  ...(devices.swaps.some((path) => devices.byPath(path) === device) ? ['[SWAP]'] : []),
];

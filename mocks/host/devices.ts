/** The type of a device in `lsblk`. */
type DeviceType = 'disk' | 'part' | 'lvm' | 'raid1' | 'rom' | 'loop' | 'mpath';

/** The content of a device as `blkid` detects it. */
export interface Content {
  /** ext4, vfat, xfs, LVM2_member, linux_raid_member, swap, iso9660, … */
  readonly fstype: string;
  readonly label: string;
  readonly uuid: string;
  /** The content that RAID metadata at the end of the device hides. */
  readonly behind?: Content;
}

interface PartitionEntry {
  readonly number: number;
  readonly startBytes: number;
  readonly label: string;
  /** GPT type, lower case. */
  readonly type: string;
  readonly uuid: string;
}

/** The identifiers of a disk. */
interface Identity {
  readonly serial: string;
  readonly wwn: string;
  readonly model: string;
  readonly vendor: string;
  readonly hctl: string;
  readonly isRotational: boolean;
}

/** A block device of a simulated host. */
export interface Device {
  /** Kernel name: sda, sda1, dm-0, md127. */
  readonly kname: string;
  /** sda, or the device-mapper name. */
  readonly name: string;
  readonly majorMinor: string;
  readonly type: DeviceType;
  sizeBytes: number;
  /** Logical sector size. */
  readonly sectorBytes: number;
  /** Kernel names of the devices that this device is built on. */
  readonly parents: readonly string[];
  readonly identity?: Identity;
  readonly entry?: PartitionEntry;
  content?: Content | undefined;
  /** Type of the partition table, for whole disks. */
  table?: 'gpt' | 'dos' | undefined;
}

/** The path of a device in lists. */
export const pathOf = ({ name, kname }: Pick<Device, 'name' | 'kname'>): string =>
  kname.startsWith('dm-') ? `/dev/mapper/${name}` : `/dev/${name}`;

/** Whether a device is a device-mapper device. */
export const isMapped = ({ kname }: Device): boolean => kname.startsWith('dm-');

/** Name of a partition: `sda1`, `nvme0n1p1`. */
export const partitionName = (disk: string, number: number): string =>
  /\d$/.test(disk) ? `${disk}p${number}` : `${disk}${number}`;

/** A file system that is mounted. */
export interface Mount {
  /** A device path, or its substitute: overlay, tmpfs. */
  readonly source: string;
  readonly target: string;
  readonly fstype: string;
  readonly options: string;
}

/** The block devices of a host and their mounts. */
export type Devices = ReturnType<typeof devicesOf>;

/** Creates the block devices of one host; `onChange` is called after each change of them. */
export function devicesOf(begin: readonly Device[], onChange: () => void) {
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
    all: (): readonly Device[] => list,
    byKname: (kname: string): Device | undefined => list.find((one) => one.kname === kname),
    /**
     * Accepts any path of the device: /dev/sda, /dev/dm-0, /dev/mapper/x, /dev/vg/lv,
     * /dev/disk/by-id/….
     */
    byPath: (path: string): Device | undefined => {
      const target = links.get(path) ?? path;
      return list.find((one) => `/dev/${one.kname}` === target);
    },
    childrenOf,
    /** The devices on top of a device, nearest first; a device with two parents appears once. */
    above,
    add: (...added: readonly Device[]): void => change([...list, ...added]),
    /** Removes devices and all devices on top of them. */
    remove: (...removed: readonly Device[]): void => {
      const gone = new Set(removed.flatMap((one) => [one, ...above(one)]));
      change(list.filter((one) => !gone.has(one)));
    },
    /** Symbolic links below /dev, each with its target. */
    links: (): ReadonlyMap<string, string> => links,
    mounts: [] as Mount[],
    /** Paths of devices in use as swap. */
    swaps: [] as string[],
  };
}

/**
 * The names of a disk from udev. Of two disks with one identifier udev may choose either; here it
 * is the last.
 */
function namesOf({ identity, majorMinor }: Device): readonly string[] {
  if (identity === undefined) return [];
  const { model, serial, wwn } = identity;
  return [
    ...(wwn === '' ? [] : [`/dev/disk/by-id/wwn-${wwn}`]),
    ...(serial === '' ? [] : [`/dev/disk/by-id/ata-${model.replaceAll(' ', '_')}_${serial}`]),
    `/dev/disk/by-path/pci-0000:00:1f.2-ata-${majorMinor.replace(':', '.')}`,
  ];
}

function linksOf(list: readonly Device[]): ReadonlyMap<string, string> {
  const links = new Map<string, string>();
  for (const device of list) {
    const node = `/dev/${device.kname}`;
    if (isMapped(device)) links.set(pathOf(device), node);
    if (device.type === 'lvm') links.set(`/dev/${device.name.replace('-', '/')}`, node);
    for (const name of namesOf(device)) links.set(name, node);
    if (device.entry !== undefined) links.set(`/dev/disk/by-partuuid/${device.entry.uuid}`, node);
    // Of two file systems with one label udev may choose either; here it is the first.
    const byLabel = `/dev/disk/by-label/${device.content?.label ?? ''}`;
    if (device.content?.label === 'root' && !links.has(byLabel)) links.set(byLabel, node);
  }
  return links;
}

/** The mount points of a device, and `[SWAP]` if it is used as swap. */
export const mountpointsOf = (devices: Devices, device: Device): readonly string[] => [
  ...devices.mounts
    .filter(({ source }) => source.startsWith('/dev/') && devices.byPath(source) === device)
    .map(({ target }) => target),
  ...(devices.swaps.some((path) => devices.byPath(path) === device) ? ['[SWAP]'] : []),
];

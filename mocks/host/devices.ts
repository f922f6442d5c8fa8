/** What `lsblk` calls the type of a device. */
type DeviceType = 'disk' | 'part' | 'lvm' | 'raid1' | 'rom' | 'loop' | 'mpath';

/** What is stored on a device, as `blkid` would find it. */
export interface Content {
  /** ext4, vfat, xfs, LVM2_member, linux_raid_member, swap, iso9660, … */
  readonly fstype: string;
  readonly label: string;
  readonly uuid: string;
  /** What RAID metadata at the end of the device hides until it is gone. */
  readonly behind?: Content;
}

/** The entry of a partition in its table. */
interface PartitionEntry {
  readonly number: number;
  readonly startBytes: number;
  readonly label: string;
  /** GPT type, lower case. */
  readonly type: string;
  readonly uuid: string;
}

/** What a disk says of itself. */
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
  /** Kernel names of what this device stands on. */
  readonly parents: readonly string[];
  readonly identity?: Identity;
  readonly entry?: PartitionEntry;
  content?: Content | undefined;
  /** Kind of the partition table, for whole disks. */
  table?: 'gpt' | 'dos' | undefined;
}

/** The path under which a device is listed. */
export const pathOf = ({ name, kname }: Pick<Device, 'name' | 'kname'>): string =>
  kname.startsWith('dm-') ? `/dev/mapper/${name}` : `/dev/${name}`;

/** Whether a device came from the device mapper. */
export const isMapped = ({ kname }: Device): boolean => kname.startsWith('dm-');

/** Name of a partition: `sda1`, `nvme0n1p1`. */
export const partitionName = (disk: string, number: number): string =>
  /\d$/.test(disk) ? `${disk}p${number}` : `${disk}${number}`;

/** A file system that is mounted. */
export interface Mount {
  /** A device path, or what stands in its place: overlay, tmpfs. */
  readonly source: string;
  readonly target: string;
  readonly fstype: string;
  readonly options: string;
}

/** The block devices of a host and what is made of them. */
export type Devices = ReturnType<typeof devicesOf>;

/** Makes the block devices of one host; `onChange` is called after each change of them. */
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
     * By any path of the device: /dev/sda, /dev/dm-0, /dev/mapper/x, /dev/vg/lv, /dev/disk/by-id/….
     */
    byPath: (path: string): Device | undefined => {
      const target = links.get(path) ?? path;
      return list.find((one) => `/dev/${one.kname}` === target);
    },
    childrenOf,
    /** What stands on a device, next first; a device with two parents comes once. */
    above,
    add: (...added: readonly Device[]): void => change([...list, ...added]),
    /** Removes devices and all that stands on them. */
    remove: (...removed: readonly Device[]): void => {
      const gone = new Set(removed.flatMap((one) => [one, ...above(one)]));
      change(list.filter((one) => !gone.has(one)));
    },
    /** Symbolic links below /dev, each with the path it leads to. */
    links: (): ReadonlyMap<string, string> => links,
    mounts: [] as Mount[],
    /** Paths of devices that are swapped to. */
    swaps: [] as string[],
  };
}

/**
 * What udev calls a disk. Of two disks with one identifier it takes either; here it is the last.
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
    // Of two file systems with one label udev takes either; here it is the first.
    const byLabel = `/dev/disk/by-label/${device.content?.label ?? ''}`;
    if (device.content?.label === 'root' && !links.has(byLabel)) links.set(byLabel, node);
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

/** What `lsblk` calls the type of a device. */
type DeviceType = 'disk' | 'part' | 'lvm' | 'raid1' | 'rom' | 'loop' | 'mpath';

/** What is stored on a device, as `blkid` would find it. */
export interface Content {
  /** ext4, vfat, xfs, LVM2_member, linux_raid_member, swap, iso9660, … */
  readonly fstype: string;
  readonly label: string;
  readonly uuid: string;
  /** Volume group of an LVM2_member, if it is in one. */
  readonly group?: string;
}

/** The entry of a partition in its table. */
interface PartitionEntry {
  readonly number: number;
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
  readonly transport: string;
}

/** A block device of a simulated host. */
export interface Device {
  /** Kernel name: sda, sda1, dm-0, md127. */
  readonly kname: string;
  /** sda, or the device-mapper name. */
  readonly name: string;
  readonly majorMinor: string;
  readonly type: DeviceType;
  readonly sizeBytes: number;
  /** Logical sector size. */
  readonly sectorBytes: number;
  /** Kernel names of what this device stands on. */
  readonly parents: readonly string[];
  readonly identity?: Identity;
  readonly entry?: PartitionEntry;
  content?: Content | undefined;
  /** Kind of the partition table, for whole disks. */
  table?: 'gpt' | 'dos' | undefined;
  isReadOnly?: boolean;
}

/** The path under which a device is listed. */
export const pathOf = ({ name, kname }: Pick<Device, 'name' | 'kname'>): string =>
  kname.startsWith('dm-') ? `/dev/mapper/${name}` : `/dev/${name}`;

/** Whether a device came from the device mapper. */
export const isMapped = ({ kname }: Device): boolean => kname.startsWith('dm-');

/** Name of a partition: `sda1`, `nvme0n1p1`. */
export const partitionName = (disk: string, number: number): string =>
  /\d$/.test(disk) ? `${disk}p${number}` : `${disk}${number}`;

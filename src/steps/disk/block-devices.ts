import * as z from 'zod';
import { type Millis, minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { diskFailure } from './failures.ts';

/** lsblk exits with this code if there is no device at all. */
const foundNone = 32;

/**
 * Every block device of the host, with relations that lsblk does not show. A loop device over
 * another device is listed as its child if a file system of it is mounted, or if it keeps more than
 * a whole disk busy: the table of a partition.
 * @throws AgentError `disk.unreadable`, `command.*`
 */
export async function readBlockDevices(
  host: Host,
  signal: AbortSignal,
  limit?: Millis,
): Promise<readonly BlockDevice[]> {
  const roots = await listBlockDevices(host, signal, limit);
  const loops = new Map<string, readonly BlockDevice[]>();
  for (const loop of roots.filter(({ type, sizeBytes }) => type === 'loop' && sizeBytes > 0)) {
    const text = await host.readText(`/sys/block/${loop.kname}/loop/backing_file`, signal);
    const backing = deviceAt(roots, text?.trim() ?? '');
    const isMounted = withDescendants(loop).some(({ mountpoints }) => mountpoints.length > 0);
    if (backing === undefined || (roots.includes(backing) && !isMounted)) continue;
    loops.set(backing.kname, [...(loops.get(backing.kname) ?? []), loop]);
  }
  const complete = (device: BlockDevice): BlockDevice => ({
    ...device,
    children: [...device.children.map(complete), ...(loops.get(device.kname) ?? [])],
  });
  return Promise.all(
    roots.map(complete).map(async (device) => {
      if (!device.kname.startsWith('nvme')) return device;
      const text = await host.readText(`/sys/block/${device.kname}/nsid`, signal);
      return { ...device, namespaceId: text?.trim() };
    }),
  );
}

/**
 * Every block device of the host, as lsblk lists them.
 * @throws AgentError `disk.unreadable`, `disk.not-supported`, `command.*`
 */
export async function listBlockDevices(
  host: Host,
  signal: AbortSignal,
  limit: Millis = minutes(2),
): Promise<readonly BlockDevice[]> {
  try {
    const options = { signal, limit, accept: [0, foundNone] };
    const { stdout, exitCode } = await host.exec(lsblkArgv, options);
    return exitCode === foundNone ? [] : parseLsblk(stdout);
  } catch (error) {
    const stderr = error instanceof AgentError ? String(error.context['stderr']) : '';
    if (!stderr.includes('unknown column')) throw error;
    throw diskFailure('disk.not-supported', `the live image is too old: ${stderr.trim()}`, {
      cause: error,
    });
  }
}

/**
 * All devices that are built on a device, each once, and always before the devices that they use:
 * the order in which they can be taken down. Without the device itself.
 */
export function descendantsOf(device: BlockDevice): readonly BlockDevice[] {
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

/** A device and all devices that are built on it. */
export const withDescendants = (device: BlockDevice): readonly BlockDevice[] => [
  ...descendantsOf(device),
  device,
];

/** Every device of the host, each once. */
export function everyDevice(roots: readonly BlockDevice[]): readonly BlockDevice[] {
  const known = new Map<string, BlockDevice>();
  for (const root of roots) {
    for (const device of withDescendants(root)) known.set(device.kname, device);
  }
  return [...known.values()];
}

/** Whether a path, with its links resolved or not, is this device. */
export const isNamed = (device: BlockDevice, path: string): boolean =>
  path === device.path || path === `/dev/${device.kname}`;

/** The device with this path, anywhere in the tree. */
export const deviceAt = (roots: readonly BlockDevice[], path: string): BlockDevice | undefined =>
  everyDevice(roots).find((device) => isNamed(device, path));

/** The disks at the bottom of a device; the device itself if it is a disk. */
export const disksUnder = (
  roots: readonly BlockDevice[],
  device: BlockDevice,
): readonly BlockDevice[] =>
  roots.filter((root) => withDescendants(root).some(({ kname }) => kname === device.kname));

/** A WWN without the prefix that names its kind of identifier. */
export const bareWwn = (wwn: string): string => wwn.replace(/^(0x|eui\.|uuid\.|naa\.|nvme\.)/i, '');

/** The multipath device that has a disk as one of its paths; undefined if none exists. */
export const multipathOver = (disk: BlockDevice): BlockDevice | undefined =>
  disk.children.find(({ type }) => type === 'mpath');

/** A device of the device mapper: a logical volume, an encrypted volume, a multipath device. */
export const isMapped = ({ kname }: BlockDevice): boolean => kname.startsWith('dm-');

/** A DASD before coreos-installer formats it: it has no size and no content (`s390x/eckd.rs`). */
export const isUnformatted = ({
  name,
  sizeBytes,
}: Pick<BlockDevice, 'name' | 'sizeBytes'>): boolean =>
  /^dasd[a-z]+$/.test(name) && sizeBytes === 0;

/** A RAID array of the kernel, active or not. */
export const isArray = ({ kname }: BlockDevice): boolean => /^md(\d|_)/.test(kname);

/** A partition. */
export const isPartition = ({ type }: BlockDevice): boolean => type === 'part';

/** LVM, RAID or another device-mapper device of an earlier system that can be taken down. */
export const isLeftover = (device: BlockDevice): boolean =>
  !isPartition(device) && device.type !== 'mpath' && (isMapped(device) || isArray(device));

/** GPT type of an EFI system partition (UEFI specification, 5.3.3). */
export const espType = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';

/** A partition found on a disk. */
export interface FoundPartition {
  /** The device path for `mount`: `/dev/sda4`, `/dev/mapper/mpatha4`. */
  readonly path: string;
  /** Its number in the partition table. */
  readonly number: number;
  /** GPT partition GUID, lower case; empty if the host does not know it. */
  readonly partUuid: string;
  readonly sizeBytes: number;
}

/** The partitions of a disk, in the order of the host. */
export const partitionsOf = (disk: BlockDevice): readonly BlockDevice[] =>
  disk.children.filter(isPartition);

/**
 * Finds a partition by its type or label. The number does not identify it: architectures number
 * partitions differently, and kept partitions may come before it.
 * @throws AgentError `disk.no-partition`
 */
export function findPartition(disk: BlockDevice, purpose: 'esp' | 'boot' | 'root'): FoundPartition {
  const found = partitionsOf(disk).find(({ partType, label, partLabel }) =>
    purpose === 'esp' ? partType === espType : label === purpose || partLabel === purpose,
  );
  const number = found && numberOf(disk, found);
  if (found === undefined || number === undefined) {
    throw diskFailure('disk.no-partition', `${disk.path} has no ${purpose} partition`, {
      context: { disk: disk.path, purpose, partitions: partitionsOf(disk).length },
    });
  }
  return { path: found.path, number, partUuid: found.partUuid, sizeBytes: found.sizeBytes };
}

/** The number of a partition: `sda4`, `nvme0n1p4` and `mpatha-part4` all give 4. */
function numberOf(disk: BlockDevice, partition: BlockDevice): number | undefined {
  const rest = partition.name.startsWith(disk.name)
    ? partition.name.slice(disk.name.length)
    : partition.name;
  const digits = /(?<!\d)\d+$/.exec(rest)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * The share of the disk that stays free, in whole percent, after everything on it and
 * `requiredBytes` more; 0 if nothing stays. The unit is that of `growpart --free-percent`.
 */
export function freePercent(disk: BlockDevice, requiredBytes: number): number {
  const used = partitionsOf(disk).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const rest = disk.sizeBytes - used - requiredBytes;
  return rest > 0 ? Math.floor((rest * 100) / disk.sizeBytes) : 0;
}

/** Columns that each supported live image knows. MOUNTPOINTS came with util-linux 2.37 (RHEL 9). */
const columns = [
  ...['NAME', 'KNAME', 'MAJ:MIN', 'TYPE', 'SIZE', 'LOG-SEC', 'RO', 'MOUNTPOINTS'],
  ...['FSTYPE', 'LABEL', 'PARTLABEL', 'PARTTYPE', 'PARTUUID'],
  ...['SERIAL', 'WWN', 'MODEL', 'VENDOR', 'HCTL', 'ROTA'],
];

/**
 * Lists every block device of the host as a tree. `--all` shows empty devices too: an inactive RAID
 * array has no size, and yet it holds its members.
 */
export const lsblkArgv = [
  'lsblk',
  '--all',
  '--bytes',
  '--json',
  '--output',
  columns.join(','),
] as const;

/** One block device; its children are the devices that are built on it. */
export interface BlockDevice {
  /** `sda`, or the device-mapper name. */
  readonly name: string;
  /** Kernel name, `sda` or `dm-0`. */
  readonly kname: string;
  /** `/dev/sda`, `/dev/mapper/mpatha`. */
  readonly path: string;
  readonly majorMinor: string;
  /** disk, part, loop, mpath, lvm, crypt, raid1, rom, … */
  readonly type: string;
  readonly sizeBytes: number;
  /** Logical sector size. */
  readonly sectorBytes: number;
  readonly isReadOnly: boolean;
  /** Mount points; `[SWAP]` if it is used as swap. */
  readonly mountpoints: readonly string[];
  readonly fsType: string;
  readonly label: string;
  readonly partLabel: string;
  /** GPT type, lower case. */
  readonly partType: string;
  /** GPT partition GUID, lower case. */
  readonly partUuid: string;
  readonly serial: string;
  readonly wwn: string;
  readonly model: string;
  readonly vendor: string;
  /** The id of an NVMe namespace, which is not the number in its name (`/sys/block/NAME/nsid`). */
  readonly namespaceId?: string | undefined;
  /**
   * SCSI address, `0:2:0:0`; a multipath device has the address of the path above it in the list.
   */
  readonly hctl: string;
  /** Whether the disk rotates, if lsblk reports it. */
  readonly isRotational?: boolean | undefined;
  readonly children: readonly BlockDevice[];
}

const word = z
  .string()
  .nullish()
  .transform((value) => value?.trim() ?? '');

const LsblkDevice = z.object({
  name: z.string(),
  kname: word,
  'maj:min': word,
  type: word,
  size: z.number().nullish(),
  'log-sec': z.number().nullish(),
  ro: z.boolean().nullish(),
  mountpoints: z.array(z.string().nullable()).default([]),
  fstype: word,
  label: word,
  partlabel: word,
  parttype: word,
  partuuid: word,
  serial: word,
  wwn: word,
  model: word,
  vendor: word,
  hctl: word,
  rota: z.boolean().nullish(),
  get children() {
    return z.array(LsblkDevice).nullish();
  },
});
type LsblkDevice = z.infer<typeof LsblkDevice>;

const LsblkOutput = z.object({ blockdevices: z.array(LsblkDevice) });

/**
 * Parses the output of `lsblkArgv`. Fields that are missing or null are empty.
 * @throws AgentError `disk.unreadable`
 */
export function parseLsblk(stdout: string): readonly BlockDevice[] {
  let json: unknown;
  try {
    json = JSON.parse(stdout);
  } catch (cause) {
    throw diskFailure('disk.unreadable', 'lsblk did not print JSON', { cause });
  }
  const output = LsblkOutput.safeParse(json);
  if (!output.success) {
    throw diskFailure('disk.unreadable', 'lsblk printed JSON that is not a list of devices', {
      cause: output.error,
    });
  }
  return output.data.blockdevices.map((root) => deviceOf(root));
}

/**
 * @param under the device above it in the list: lsblk reports serial number and model only for a
 * device without parents, and a multipath device has the values of its paths
 */
function deviceOf(of: LsblkDevice, under?: LsblkDevice): BlockDevice {
  const { serial, wwn, model, vendor, hctl } = of.type === 'mpath' ? (under ?? of) : of;
  const kname = of.kname === '' ? of.name : of.kname;
  return {
    name: of.name,
    kname,
    path: kname.startsWith('dm-') ? `/dev/mapper/${of.name}` : `/dev/${of.name}`,
    majorMinor: of['maj:min'],
    type: of.type,
    sizeBytes: of.size ?? 0,
    sectorBytes: of['log-sec'] ?? 512,
    isReadOnly: of.ro === true,
    mountpoints: of.mountpoints.filter((place) => place !== null),
    fsType: of.fstype,
    label: of.label,
    partLabel: of.partlabel,
    partType: of.parttype.toLowerCase(),
    partUuid: of.partuuid.toLowerCase(),
    serial,
    wwn,
    model,
    vendor,
    hctl,
    isRotational: of.rota ?? undefined,
    children: (of.children ?? []).map((child) => deviceOf(child, of)),
  };
}

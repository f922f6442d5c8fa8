import * as z from 'zod';
import { diskFailure } from './failures.ts';

/** Columns that every supported live image knows: PATH came with util-linux 2.33, MOUNTPOINTS with 2.37. */
const columns = [
  'NAME',
  'KNAME',
  'MAJ:MIN',
  'TYPE',
  'SIZE',
  'LOG-SEC',
  'RO',
  'MOUNTPOINT',
  'FSTYPE',
  'LABEL',
  'PARTLABEL',
  'PARTTYPE',
  'PARTUUID',
  'SERIAL',
  'WWN',
  'MODEL',
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

/** One block device; what is built on it are its children. */
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
  /** Mount points; swap in use reads `[SWAP]`. */
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
  readonly children: readonly BlockDevice[];
}

// Numbers and booleans came as text from lsblk before util-linux 2.33.
const count = z.union([z.number(), z.string().transform(Number)]).nullish();
const flag = z
  .union([z.boolean(), z.number(), z.string()])
  .nullish()
  .transform((value) => value === true || value === 1 || value === '1' || value === 'true');
const word = z
  .string()
  .nullish()
  .transform((value) => value?.trim() ?? '');

const LsblkDevice = z.object({
  name: z.string(),
  kname: word,
  'maj:min': word,
  type: word,
  size: count,
  'log-sec': count,
  ro: flag,
  mountpoint: word,
  fstype: word,
  label: word,
  partlabel: word,
  parttype: word,
  partuuid: word,
  serial: word,
  wwn: word,
  model: word,
  get children() {
    return z.array(LsblkDevice).nullish();
  },
});
type LsblkDevice = z.infer<typeof LsblkDevice>;

const LsblkOutput = z.object({ blockdevices: z.array(LsblkDevice) });

/**
 * Reads the output of `lsblkArgv`. Fields that are missing or null are empty; of the mount points of
 * a device there is one, the others come by `withMounts`.
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
 * @param under what it is listed below: lsblk tells serial number and model of what has nothing below it alone, and a
 * multipath device is what each of its paths is
 */
function deviceOf(of: LsblkDevice, under?: LsblkDevice): BlockDevice {
  const { serial, wwn, model } = of.type === 'mpath' ? (under ?? of) : of;
  const kname = of.kname === '' ? of.name : of.kname;
  return {
    name: of.name,
    kname,
    path: kname.startsWith('dm-') ? `/dev/mapper/${of.name}` : `/dev/${of.name}`,
    majorMinor: of['maj:min'],
    type: of.type,
    sizeBytes: of.size ?? 0,
    sectorBytes: of['log-sec'] ?? 512,
    isReadOnly: of.ro,
    mountpoints: of.mountpoint === '' ? [] : [of.mountpoint],
    fsType: of.fstype,
    label: of.label,
    partLabel: of.partlabel,
    partType: of.parttype.toLowerCase(),
    partUuid: of.partuuid.toLowerCase(),
    serial,
    wwn,
    model,
    children: (of.children ?? []).map((child) => deviceOf(child, of)),
  };
}

/** The mounts of the host, as the kernel lists them to its first process. */
export const mountinfo = '/proc/1/mountinfo';

/**
 * Adds every mount point to devices, which lsblk before util-linux 2.37 does not print.
 * @param listed text of `mountinfo` (proc_pid_mountinfo(5))
 */
export function withMounts(roots: readonly BlockDevice[], listed: string): readonly BlockDevice[] {
  const mounts = Map.groupBy(
    listed.split('\n').map((line) => line.split(' ')),
    ([_id, _parent, majorMinor = '']) => majorMinor,
  );
  const complete = (device: BlockDevice): BlockDevice => {
    const places = (mounts.get(device.majorMinor) ?? []).map((fields) =>
      unescaped(fields[4] ?? ''),
    );
    return {
      ...device,
      mountpoints: [...new Set([...device.mountpoints, ...places])],
      children: device.children.map(complete),
    };
  };
  return roots.map(complete);
}

/** The kernel writes blanks and backslashes of a path as three octal digits. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );

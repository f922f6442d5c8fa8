import { type Device, isMapped, mountpointsOf } from '../devices.ts';
import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import type { Machine } from '../machine.ts';

type Value = string | number | boolean | null | readonly (string | null)[];
type Column = (device: Device, machine: Machine) => Value;

/**
 * Columns of util-linux 2.37, that of the oldest live image (its `lsblk.c`), as far as they are
 * asked for. Newer ones know these too, and more.
 */
const columns: Readonly<Record<string, Column>> = {
  name: ({ name }) => name,
  kname: ({ kname }) => kname,
  pkname: ({ parents }) => parents[0] ?? null,
  'maj:min': ({ majorMinor }) => majorMinor,
  type: ({ type }) => type,
  size: ({ sizeBytes }) => sizeBytes,
  ro: ({ isReadOnly }) => isReadOnly === true,
  rm: ({ type }) => type === 'rom',
  rota: ({ identity }) => identity?.isRotational === true,
  hotplug: () => false,
  'log-sec': ({ sectorBytes }) => sectorBytes,
  'phy-sec': ({ sectorBytes }) => Math.max(sectorBytes, 4096),
  fstype: ({ content }) => content?.fstype ?? null,
  label: ({ content }) => orNull(content?.label),
  uuid: ({ content }) => orNull(content?.uuid),
  partlabel: ({ entry }) => orNull(entry?.label),
  parttype: ({ entry }) => entry?.type ?? null,
  partuuid: ({ entry }) => entry?.uuid ?? null,
  serial: ({ identity }) => orNull(identity?.serial),
  // A partition has the WWN of its disk, since udev imports the properties of that.
  wwn: ({ identity, type, parents: [disk = ''] }, { devices }) =>
    orNull((type === 'part' ? devices.byKname(disk)?.identity : identity)?.wwn),
  model: ({ identity }) => identity?.model ?? null,
  vendor: ({ identity }) => identity?.vendor ?? null,
  hctl: ({ identity }) => orNull(identity?.hctl),
  tran: ({ identity }) => identity?.transport ?? null,
  state: ({ type }) => (type === 'disk' ? 'running' : null),
  // Of several it prints the last one.
  mountpoint: (device, { devices }) => mountpointsOf(devices, device).at(-1) ?? null,
  mountpoints: (device, { devices }) => {
    const places = mountpointsOf(devices, device);
    return places.length === 0 ? [null] : places;
  },
};

const orNull = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : text;

const usual = ['name', 'maj:min', 'rm', 'size', 'ro', 'type', 'mountpoint'];

const lsblk: Program = (machine, call) => {
  const words = sortWords(call.argv.slice(1), ['--output', '-o', '--sort', '--exclude', '-e']);
  const asked = words.all('--output', '-o').join(',').toLowerCase();
  const names = asked === '' ? usual : asked.split(',');
  const strange = names.find((name) => !(name in columns));
  if (strange !== undefined) return fail(call, `lsblk: unknown column: ${strange}`);
  const roots = rootsOf(machine, call, words.rest);
  if (roots === undefined) return 32;
  const shown: Shown = { machine, names, isFlat: words.has('--nodeps', '-d') };
  if (words.has('--json', '-J', '-bJ', '-Jb')) {
    const blockdevices = roots.map((root) => asJson(root, shown));
    return print(call, `${JSON.stringify({ blockdevices }, null, 3)}\n`);
  }
  for (const device of roots.flatMap((root) => flattened(root, shown))) {
    call.out(`${names.map((name) => asText(columns[name]?.(device, machine))).join(' ')}\n`);
  }
  return 0;
};

interface Shown {
  readonly machine: Machine;
  readonly names: readonly string[];
  readonly isFlat: boolean;
}

function rootsOf(
  { devices }: Machine,
  call: Call,
  paths: readonly string[],
): readonly Device[] | undefined {
  if (paths.length === 0) return devices.all().filter(({ parents }) => parents.length === 0);
  const found = paths.flatMap((path) => devices.byPath(path) ?? []);
  for (const path of paths) {
    if (devices.byPath(path) === undefined) fail(call, `lsblk: ${path}: not a block device`);
  }
  return found.length === paths.length ? found : undefined;
}

function asJson(device: Device, shown: Shown): object {
  const { machine, names, isFlat } = shown;
  const fields = names.map((name) => [name, columns[name]?.(device, machine) ?? null] as const);
  const children = isFlat ? [] : machine.devices.childrenOf(device);
  return {
    ...Object.fromEntries(fields),
    ...(children.length === 0 ? {} : { children: children.map((one) => asJson(one, shown)) }),
  };
}

const flattened = (device: Device, { machine, isFlat }: Shown): readonly Device[] =>
  isFlat ? [device] : [device, ...machine.devices.above(device)];

function asText(value: Value | undefined): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.join('\n');
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}

/** Numbers in sectors of the disk; without `sectorsize`, which came with util-linux 2.37. */
const sfdisk: Program = ({ devices }, call) => {
  const [path = ''] = sortWords(call.argv.slice(1)).rest;
  const disk = devices.byPath(path);
  if (disk?.table === undefined) {
    return fail(call, `sfdisk: ${path}: does not contain a recognized partition table`);
  }
  const partitions = devices.childrenOf(disk).flatMap(({ kname, sizeBytes, entry }) => {
    if (entry === undefined) return [];
    const { startBytes, type, uuid, label } = entry;
    const [start, size] = [startBytes, sizeBytes].map((bytes) => bytes / disk.sectorBytes);
    const own = { node: `/dev/${kname}`, start, size, type: type.toUpperCase() };
    return [{ ...own, uuid: uuid.toUpperCase(), ...(label === '' ? {} : { name: label }) }];
  });
  const table = { label: disk.table, device: path, unit: 'sectors', partitions };
  return print(call, `${JSON.stringify({ partitiontable: table }, null, 3)}\n`);
};

/** `MAJ:MIN` and the like without the device: only what block devices say. */
const blockdev: Program = ({ devices }, call) => {
  const words = sortWords(call.argv.slice(1));
  const [path = ''] = words.rest;
  const device = devices.byPath(path);
  if (device === undefined) {
    return fail(call, `blockdev: cannot open ${path}: No such file or directory`);
  }
  if (words.has('--getss')) call.out(`${device.sectorBytes}\n`);
  if (words.has('--getsize64')) call.out(`${device.sizeBytes}\n`);
  if (words.has('--getsz')) call.out(`${device.sizeBytes / 512}\n`);
  if (words.has('--getro')) call.out(device.isReadOnly === true ? '1\n' : '0\n');
  const isBusy = devices.above(device).some((one) => isMapped(one) || one.type === 'raid1');
  return words.has('--rereadpt') && isBusy
    ? fail(call, 'blockdev: ioctl error on BLKRRPART: Device or resource busy')
    : 0;
};

/** Programs that list block devices. */
export const listingPrograms: Programs = { lsblk, blockdev, sfdisk };

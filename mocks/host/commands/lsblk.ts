import { type Device, isMapped, mountpointsOf } from '../devices.ts';
import { fail, print, type Program, type Programs, sortWords } from '../call.ts';
import type { Machine } from '../machine.ts';

type Value = string | number | boolean | null | readonly (string | null)[];
type Column = (device: Device, machine: Machine) => Value;

/**
 * Columns of util-linux 2.37, the version of the oldest live image (its `lsblk.c`), as far as
 * Bootwright uses them. Newer versions have these and more.
 */
const columns: Readonly<Record<string, Column>> = {
  name: ({ name }) => name,
  kname: ({ kname }) => kname,
  'maj:min': ({ majorMinor }) => majorMinor,
  type: ({ type }) => type,
  size: ({ sizeBytes }) => sizeBytes,
  ro: () => false,
  rota: ({ identity }) => identity?.isRotational === true,
  'log-sec': ({ sectorBytes }) => sectorBytes,
  fstype: ({ content }) => content?.fstype ?? null,
  label: ({ content }) => orNull(content?.label),
  partlabel: ({ entry }) => orNull(entry?.label),
  parttype: ({ entry }) => entry?.type ?? null,
  partuuid: ({ entry }) => entry?.uuid ?? null,
  serial: ({ identity }) => orNull(identity?.serial),
  // A partition has the WWN of its disk, because udev imports the properties of the disk.
  wwn: ({ identity, type, parents: [disk = ''] }, { devices }) =>
    orNull((type === 'part' ? devices.byKname(disk)?.identity : identity)?.wwn),
  model: ({ identity }) => identity?.model ?? null,
  vendor: ({ identity }) => identity?.vendor ?? null,
  hctl: ({ identity }) => orNull(identity?.hctl),
  mountpoints: (device, { devices }) => {
    const places = mountpointsOf(devices, device);
    return places.length === 0 ? [null] : places;
  },
};

const orNull = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : text;

/** `lsblk --json`: devices as a tree, each below all devices that it is built on. */
const lsblk: Program = (machine, call) => {
  const { devices } = machine;
  const words = sortWords(call.argv.slice(1), ['--output']);
  const names = words.all('--output').join(',').toLowerCase().split(',');
  const strange = names.find((name) => !(name in columns));
  if (strange !== undefined || !words.has('--json'))
    return fail(call, `lsblk: unknown column: ${strange ?? ''}`);
  const missing = words.rest.find((path) => devices.byPath(path) === undefined);
  if (missing !== undefined) return fail(call, `lsblk: ${missing}: not a block device`, 32);
  const roots =
    words.rest.length === 0
      ? devices.all().filter(({ parents }) => parents.length === 0)
      : words.rest.flatMap((path) => devices.byPath(path) ?? []);
  const asJson = (device: Device): object => {
    const children = words.has('--nodeps') ? [] : devices.childrenOf(device);
    return {
      ...Object.fromEntries(names.map((name) => [name, columns[name]?.(device, machine) ?? null])),
      ...(children.length === 0 ? {} : { children: children.map(asJson) }),
    };
  };
  return print(call, `${JSON.stringify({ blockdevices: roots.map(asJson) }, null, 3)}\n`);
};

/**
 * Numbers are in sectors of the disk; `sectorsize`, which came with util-linux 2.37, is omitted.
 */
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

/** `blockdev --rereadpt`. */
const blockdev: Program = ({ devices }, call) => {
  const [path = ''] = sortWords(call.argv.slice(1)).rest;
  const device = devices.byPath(path);
  if (device === undefined)
    return fail(call, `blockdev: cannot open ${path}: No such file or directory`);
  return devices.above(device).some((one) => isMapped(one) || one.type === 'raid1')
    ? fail(call, 'blockdev: ioctl error on BLKRRPART: Device or resource busy')
    : 0;
};

/** Programs that list block devices. */
export const listingPrograms: Programs = { lsblk, blockdev, sfdisk };

import {
  always,
  concatenated,
  flag,
  integer,
  keyed,
  type ListShape,
  object,
  optional,
  text,
  textSet,
} from './shape.ts';
import type {
  Cex,
  Clevis,
  ClevisCustom,
  Directory,
  Disk,
  File,
  Filesystem,
  HttpHeader,
  Link,
  Luks,
  Node,
  Owner,
  Partition,
  Raid,
  Resource,
  Storage,
  Tang,
  Verification,
} from './types.ts';

/** The key of users, groups, units, drop-ins, arrays, encrypted devices and headers. */
export const byName = ({ name }: { readonly name: string }): string => name;

const header = object<HttpHeader>('HttpHeader', { name: always(text), value: optional(text) });

const headers: ListShape = { ...keyed<HttpHeader>(header, byName), removesWithout: 'value' };

const verification = object<Verification>('Verification', { hash: optional(text) });

/** Content of a file, or a key file. Compression is as old as spec 3.0 here. */
const resource = object<Resource>('Resource', {
  compression: optional(text),
  httpHeaders: optional(headers, 1),
  source: optional(text),
  verification: optional(verification),
});

/** Another config or a certificate authority. Spec 3.0 knows only source and verification. */
export const reference = object<Resource>('Reference', {
  compression: optional(text, 1),
  httpHeaders: optional(headers, 1),
  source: optional(text),
  verification: optional(verification),
});

const owner = object<Owner>('Owner', { id: optional(integer), name: optional(text) });

const node = {
  path: always(text),
  group: optional(owner),
  overwrite: optional(flag),
  user: optional(owner),
};

const byPath = ({ path }: Node): string => path;
const byDevice = ({ device }: { readonly device: string }): string => device;

const directory = object<Directory>('Directory', { ...node, mode: optional(integer) });

const file = object<File>('File', {
  ...node,
  append: optional(concatenated(resource)),
  contents: optional(resource),
  mode: optional(integer),
});

const link = object<Link>('Link', { ...node, hard: optional(flag), target: always(text, 2) });

const partition = object<Partition>('Partition', {
  number: always(integer),
  guid: optional(text),
  label: optional(text),
  resize: optional(flag, 2),
  shouldExist: optional(flag),
  sizeMiB: optional(integer),
  startMiB: optional(integer),
  typeGuid: optional(text),
  wipePartitionEntry: optional(flag),
});

/** A numbered partition is known by its number, any other by its label. */
function partitionKey({ number, label }: Partition): string {
  if (number !== 0) return `number:${number}`;
  return label === undefined ? '' : `label:${label}`;
}

const disk = object<Disk>('Disk', {
  device: always(text),
  partitions: optional(keyed<Partition>(partition, partitionKey)),
  wipeTable: optional(flag),
});

const filesystem = object<Filesystem>('Filesystem', {
  device: always(text),
  format: optional(text),
  label: optional(text),
  mountOptions: optional(concatenated(text), 1),
  options: optional(concatenated(text)),
  path: optional(text),
  uuid: optional(text),
  wipeFilesystem: optional(flag),
});

const raid = object<Raid>('Raid', {
  name: always(text),
  devices: optional(textSet),
  level: always(text, 2),
  options: optional(concatenated(text)),
  spares: optional(integer),
});

const tang = object<Tang>('Tang', {
  url: always(text),
  advertisement: optional(text, 4),
  thumbprint: optional(text),
});

const clevis = object<Clevis>('Clevis', {
  custom: optional(
    object<ClevisCustom>('ClevisCustom', {
      config: always(text, 2),
      needsNetwork: optional(flag),
      pin: always(text, 2),
    }),
  ),
  tang: optional(keyed<Tang>(tang, ({ url }) => url)),
  threshold: optional(integer),
  tpm2: optional(flag),
});

const luks = object<Luks>('Luks', {
  name: always(text),
  cex: optional(object<Cex>('Cex', { enabled: optional(flag) }), 5),
  clevis: optional(clevis),
  device: optional(text),
  discard: optional(flag, 4),
  keyFile: optional(resource),
  label: optional(text),
  openOptions: optional(textSet, 4),
  options: optional(concatenated(text)),
  uuid: optional(text),
  wipeVolume: optional(flag),
});

/** The `storage` section. Files, directories and links share one key space on their path. */
export const storage = object<Storage>(
  'Storage',
  {
    directories: optional(keyed<Directory>(directory, byPath)),
    disks: optional(keyed<Disk>(disk, byDevice)),
    files: optional(keyed<File>(file, byPath)),
    filesystems: optional(keyed<Filesystem>(filesystem, byDevice)),
    links: optional(keyed<Link>(link, byPath)),
    luks: optional(keyed<Luks>(luks, byName), 2),
    raid: optional(keyed<Raid>(raid, byName)),
  },
  ['directories', 'files', 'links'],
);

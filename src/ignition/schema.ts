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
  Config,
  ConfigReferences,
  Directory,
  Disk,
  Dropin,
  File,
  Filesystem,
  HttpHeader,
  Ignition,
  KernelArguments,
  Link,
  Luks,
  Node,
  Owner,
  Partition,
  Passwd,
  PasswdGroup,
  PasswdUser,
  Proxy,
  Raid,
  Resource,
  Security,
  Storage,
  Systemd,
  Tang,
  Timeouts,
  Tls,
  Unit,
  Verification,
} from './types.ts';

/** The key of users, groups, units, drop-ins, arrays, encrypted devices and headers. */
const byName = ({ name }: { readonly name: string }): string => name;

const header = object<HttpHeader>('HttpHeader', { name: always(text), value: optional(text) });

const headers: ListShape = { ...keyed<HttpHeader>(header, byName), removesWithout: 'value' };

const verification = object<Verification>('Verification', { hash: optional(text) });

/** Content of a file, or a key file. Compression is as old as spec 3.0 here. */
export const resource = object<Resource>('Resource', {
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

export const owner = object<Owner>('Owner', { id: optional(integer), name: optional(text) });

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

export const disk = object<Disk>('Disk', {
  device: always(text),
  partitions: optional(keyed<Partition>(partition, partitionKey)),
  wipeTable: optional(flag),
});

export const filesystem = object<Filesystem>('Filesystem', {
  device: always(text),
  format: optional(text),
  label: optional(text),
  mountOptions: optional(concatenated(text), 1),
  options: optional(concatenated(text)),
  path: optional(text),
  uuid: optional(text),
  wipeFilesystem: optional(flag),
});

export const raid = object<Raid>('Raid', {
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
const storage = object<Storage>(
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

const references: ListShape = keyed<Resource>(reference, ({ source = '' }) => source);

export const security = object<Security>('Security', {
  tls: optional(object<Tls>('Tls', { certificateAuthorities: optional(references) })),
});

export const timeouts = object<Timeouts>('Timeouts', {
  httpResponseHeaders: optional(integer),
  httpTotal: optional(integer),
});

const ignition = object<Ignition>('Ignition', {
  version: always(text),
  config: optional(
    object<ConfigReferences>('ConfigReferences', {
      merge: optional(references),
      replace: optional(reference),
    }),
  ),
  proxy: optional(
    object<Proxy>('Proxy', {
      httpProxy: optional(text),
      httpsProxy: optional(text),
      noProxy: optional(textSet),
    }),
    1,
  ),
  security: optional(security),
  timeouts: optional(timeouts),
});

const kernelArguments = object<KernelArguments>(
  'KernelArguments',
  { shouldExist: optional(textSet), shouldNotExist: optional(textSet) },
  ['shouldExist', 'shouldNotExist'],
);

export const group = object<PasswdGroup>('PasswdGroup', {
  name: always(text),
  gid: optional(integer),
  passwordHash: optional(text),
  shouldExist: optional(flag, 2),
  system: optional(flag),
});

export const user = object<PasswdUser>('PasswdUser', {
  name: always(text),
  gecos: optional(text),
  groups: optional(textSet),
  homeDir: optional(text),
  noCreateHome: optional(flag),
  noLogInit: optional(flag),
  noUserGroup: optional(flag),
  passwordHash: optional(text),
  primaryGroup: optional(text),
  sshAuthorizedKeys: optional(textSet),
  shell: optional(text),
  shouldExist: optional(flag, 2),
  system: optional(flag),
  uid: optional(integer),
});

export const dropin = object<Dropin>('Dropin', { name: always(text), contents: optional(text) });

export const unit = object<Unit>('Unit', {
  name: always(text),
  contents: optional(text),
  dropins: optional(keyed<Dropin>(dropin, byName)),
  enabled: optional(flag),
  mask: optional(flag),
});

/** The shape of a whole config of spec 3.0 to 3.5. */
export const configShape = object<Config>('Config', {
  ignition: optional(ignition),
  kernelArguments: optional(kernelArguments, 3),
  passwd: optional(
    object<Passwd>('Passwd', {
      groups: optional(keyed<PasswdGroup>(group, byName)),
      users: optional(keyed<PasswdUser>(user, byName)),
    }),
  ),
  storage: optional(storage),
  systemd: optional(object<Systemd>('Systemd', { units: optional(keyed<Unit>(unit, byName)) })),
});

import {
  always,
  concatenated,
  flag,
  integer,
  keyed,
  object,
  optional,
  required,
  text,
  textSet,
} from './shape.ts';
/** The key of users, groups, units, drop-ins, arrays, encrypted devices and headers. */
const byName = ({ name }: { readonly name: string }): string => name;

const header = object('HttpHeader', { name: required(text), value: optional(text) });

const headers = { ...keyed(header, byName), removesWithout: 'value' };

const verification = object('Verification', { hash: optional(text) });

/** Content of a file, or a key file. Compression is as old as spec 3.0 here. */
export const resourceShape = object('Resource', {
  compression: optional(text),
  httpHeaders: optional(headers, 1),
  source: optional(text),
  verification: optional(verification),
});

/** Another config or a certificate authority. Spec 3.0 knows only source and verification. */
export const reference = object('Reference', {
  compression: optional(text, 1),
  httpHeaders: optional(headers, 1),
  source: optional(text),
  verification: optional(verification),
});

export const ownerShape = object('Owner', { id: optional(integer), name: optional(text) });

const node = {
  path: required(text),
  group: optional(ownerShape),
  overwrite: optional(flag),
  user: optional(ownerShape),
};

const byPath = ({ path }: { readonly path: string }): string => path;
const byDevice = ({ device }: { readonly device: string }): string => device;

export const directoryShape = object('Directory', { ...node, mode: optional(integer) });

export const fileShape = object('File', {
  ...node,
  append: optional(concatenated(resourceShape)),
  contents: optional(resourceShape),
  mode: optional(integer),
});

export const linkShape = object('Link', { ...node, hard: optional(flag), target: always(text, 2) });

const partition = object('Partition', {
  number: required(integer),
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
function partitionKey({
  number,
  label,
}: {
  readonly number: number;
  readonly label?: string;
}): string {
  if (number !== 0) return `number:${number}`;
  return label === undefined ? '' : `label:${label}`;
}

export const diskShape = object('Disk', {
  device: required(text),
  partitions: optional(keyed(partition, partitionKey)),
  wipeTable: optional(flag),
});

export const filesystemShape = object('Filesystem', {
  device: required(text),
  format: optional(text),
  label: optional(text),
  mountOptions: optional(concatenated(text), 1),
  options: optional(concatenated(text)),
  path: optional(text),
  uuid: optional(text),
  wipeFilesystem: optional(flag),
});

export const raidShape = object('Raid', {
  name: required(text),
  devices: optional(textSet),
  level: always(text, 2),
  options: optional(concatenated(text)),
  spares: optional(integer),
});

const tang = object('Tang', {
  url: required(text),
  advertisement: optional(text, 4),
  thumbprint: optional(text),
});

const clevis = object('Clevis', {
  custom: optional(
    object('ClevisCustom', {
      config: always(text, 2),
      needsNetwork: optional(flag),
      pin: always(text, 2),
    }),
  ),
  tang: optional(keyed(tang, ({ url }) => url)),
  threshold: optional(integer),
  tpm2: optional(flag),
});

const luks = object('Luks', {
  name: required(text),
  cex: optional(object('Cex', { enabled: optional(flag) }), 5),
  clevis: optional(clevis),
  device: optional(text),
  discard: optional(flag, 4),
  keyFile: optional(resourceShape),
  label: optional(text),
  openOptions: optional(textSet, 4),
  options: optional(concatenated(text)),
  uuid: optional(text),
  wipeVolume: optional(flag),
});

/** The `storage` section. Files, directories and links share one key space on their path. */
export const storageShape = object(
  'Storage',
  {
    directories: optional(keyed(directoryShape, byPath)),
    disks: optional(keyed(diskShape, byDevice)),
    files: optional(keyed(fileShape, byPath)),
    filesystems: optional(keyed(filesystemShape, byDevice)),
    links: optional(keyed(linkShape, byPath)),
    luks: optional(keyed(luks, byName), 2),
    raid: optional(keyed(raidShape, byName)),
  },
  ['directories', 'files', 'links'],
);

const references = keyed(reference, ({ source = '' }) => source);

export const security = object('Security', {
  tls: optional(object('Tls', { certificateAuthorities: optional(references) })),
});

export const timeouts = object('Timeouts', {
  httpResponseHeaders: optional(integer),
  httpTotal: optional(integer),
});

export const ignitionShape = object('Ignition', {
  version: required(text),
  config: optional(
    object('ConfigReferences', {
      merge: optional(references),
      replace: optional(reference),
    }),
  ),
  proxy: optional(
    object('Proxy', {
      httpProxy: optional(text),
      httpsProxy: optional(text),
      noProxy: optional(textSet),
    }),
    1,
  ),
  security: optional(security),
  timeouts: optional(timeouts),
});

const kernelArguments = object(
  'KernelArguments',
  { shouldExist: optional(textSet), shouldNotExist: optional(textSet) },
  ['shouldExist', 'shouldNotExist'],
);

export const groupShape = object('PasswdGroup', {
  name: required(text),
  gid: optional(integer),
  passwordHash: optional(text),
  shouldExist: optional(flag, 2),
  system: optional(flag),
});

export const userShape = object('PasswdUser', {
  name: required(text),
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

export const dropinShape = object('Dropin', { name: required(text), contents: optional(text) });

export const unitShape = object('Unit', {
  name: required(text),
  contents: optional(text),
  dropins: optional(keyed(dropinShape, byName)),
  enabled: optional(flag),
  mask: optional(flag),
});

/** The shape of a whole config of spec 3.0 to 3.5. */
export const configShape = object('Config', {
  ignition: optional(ignitionShape),
  kernelArguments: optional(kernelArguments, 3),
  passwd: optional(
    object('Passwd', {
      groups: optional(keyed(groupShape, byName)),
      users: optional(keyed(userShape, byName)),
    }),
  ),
  storage: optional(storageShape),
  systemd: optional(object('Systemd', { units: optional(keyed(unitShape, byName)) })),
});

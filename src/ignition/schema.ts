import {
  always,
  flag,
  integer,
  keyed,
  object,
  optional,
  text,
  textSet,
  type ListShape,
} from './shape.ts';
import { byName, reference, storage } from './schema-storage.ts';
import type {
  Config,
  ConfigReferences,
  Dropin,
  Ignition,
  KernelArguments,
  Passwd,
  PasswdGroup,
  PasswdUser,
  Proxy,
  Resource,
  Security,
  Systemd,
  Timeouts,
  Tls,
  Unit,
} from './types.ts';

const references: ListShape = keyed<Resource>(reference, ({ source = '' }) => source);

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
  security: optional(
    object<Security>('Security', {
      tls: optional(object<Tls>('Tls', { certificateAuthorities: optional(references) })),
    }),
  ),
  timeouts: optional(
    object<Timeouts>('Timeouts', {
      httpResponseHeaders: optional(integer),
      httpTotal: optional(integer),
    }),
  ),
});

const kernelArguments = object<KernelArguments>(
  'KernelArguments',
  { shouldExist: optional(textSet), shouldNotExist: optional(textSet) },
  ['shouldExist', 'shouldNotExist'],
);

const group = object<PasswdGroup>('PasswdGroup', {
  name: always(text),
  gid: optional(integer),
  passwordHash: optional(text),
  shouldExist: optional(flag, 2),
  system: optional(flag),
});

const user = object<PasswdUser>('PasswdUser', {
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

const dropin = object<Dropin>('Dropin', { name: always(text), contents: optional(text) });

const unit = object<Unit>('Unit', {
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

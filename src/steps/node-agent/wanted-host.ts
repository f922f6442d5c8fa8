import { Buffer } from 'node:buffer';
import { parseMachineConfig } from '../../ignition/parse.ts';
import { decodeResource } from '../../ignition/resource.ts';
import type { Config, File, PasswdUser, Unit } from '../../ignition/types.ts';
import { meantIgnition } from '../../layering/api/meaning.ts';
import { fieldsOf, type Fields, isList, type Value } from '../../layering/api/schema.ts';
import { splitArguments } from '../../os/driver.ts';

/** A file that a MachineConfig puts on a machine. */
export interface WantedFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  /** `USER:GROUP` for chown, where it is not root's. */
  readonly owner?: string;
}

/** Whether a unit starts with the machine. */
export interface WantedUnit {
  readonly name: string;
  readonly state: 'enabled' | 'disabled' | 'masked';
  /** Where the MachineConfig has the unit itself, so that it exists before the reboot. */
  readonly text?: string;
}

/** What a MachineConfig asks of a machine. */
export interface WantedHost {
  /** Image of the operating system, where no built one is desired. */
  readonly osImageURL: string;
  /** Several in one text of the MachineConfig are several. */
  readonly kernelArguments: readonly string[];
  /** Without those below /usr that come with the image. */
  readonly files: readonly WantedFile[];
  readonly units: readonly WantedUnit[];
  /** Packages, which come with a built image alone, as JSON. */
  readonly packages: string;
  /** What is only done when a machine is installed, as JSON. */
  readonly fixed: string;
}

/**
 * Reads what a MachineConfig asks of a machine.
 * @throws AgentError `ignition.*` when its config cannot be read
 */
export function wantedHost(machineConfig: Fields): WantedHost {
  const spec = fieldsOf(machineConfig['spec']);
  const { config } = parseMachineConfig(JSON.stringify(spec['config'] ?? {}));
  const units = config.systemd?.units ?? [];
  return {
    osImageURL: textOf(spec['osImageURL']),
    kernelArguments: listOf(spec['kernelArguments']).flatMap(splitArguments),
    files: [
      ...(config.storage?.files ?? []).filter((file) => !isAppended(file)).map(wantedFile),
      ...units.flatMap(unitFiles),
      ...(config.passwd?.users ?? []).flatMap(keysOf),
    ].filter(({ path }) => !isOfImage(path)),
    units: units.flatMap(wantedUnit),
    packages: JSON.stringify([
      listOf(spec['extensions']).toSorted(),
      textOf(spec['kernelType']) || 'default',
    ]),
    fixed: fixedPart(config, spec['fips'] === true),
  };
}

/** Whether a path is read-only on a machine; /usr/local leads to /var. */
const isOfImage = (path: string): boolean =>
  path.startsWith('/usr/') && !path.startsWith('/usr/local/');

/** What was appended cannot be taken back, nor seen. */
const isAppended = ({ append = [] }: File): boolean => append.length > 0;

const wantedFile = ({ path, contents = {}, mode, user, group }: File): WantedFile => {
  const [uid, gid] = [user, group].map((one) => one?.name ?? one?.id ?? 0);
  return {
    path,
    content: decodeResource({ source: '', ...contents }),
    mode: mode ?? 0o644,
    ...(user === undefined && group === undefined ? {} : { owner: `${uid}:${gid}` }),
  };
};

/** Where units of this machine are. */
export const unitFolder = '/etc/systemd/system';

/** A masked unit is a link, and has no text. */
function unitFiles({ name, contents, dropins = [], mask }: Unit): readonly WantedFile[] {
  const unit = contents === undefined || contents === '' || mask === true ? [] : [contents];
  return [
    ...unit.map((text) => textFile(`${unitFolder}/${name}`, text)),
    ...dropins
      .filter((dropin) => (dropin.contents ?? '') !== '')
      .map((dropin) => textFile(`${unitFolder}/${name}.d/${dropin.name}`, dropin.contents ?? '')),
  ];
}

function wantedUnit({ name, contents = '', enabled, mask }: Unit): readonly WantedUnit[] {
  const unit = { name, ...(contents === '' ? {} : { text: contents }) };
  if (mask === true) return [{ ...unit, state: 'masked' }];
  if (enabled === undefined) return [];
  return [{ ...unit, state: enabled ? 'enabled' : 'disabled' }];
}

const textFile = (path: string, text: string): WantedFile => ({
  path,
  content: Buffer.from(text),
  mode: 0o644,
});

/** Where Ignition puts keys, and sshd of CoreOS reads them. */
function keysOf({ name, homeDir, sshAuthorizedKeys = [] }: PasswdUser): readonly WantedFile[] {
  if (sshAuthorizedKeys.length === 0) return [];
  const home = homeDir ?? (name === 'root' ? '/root' : `/home/${name}`);
  return [
    {
      path: `${home}/.ssh/authorized_keys.d/ignition`,
      content: Buffer.from(`${sshAuthorizedKeys.join('\n')}\n`),
      mode: 0o600,
      owner: `${name}:${name}`,
    },
  ];
}

function fixedPart({ storage = {}, passwd = {} }: Config, fips: boolean): string {
  const files = storage.files?.filter(isAppended) ?? [];
  const users = (passwd.users ?? []).map((user) => ({ ...user, sshAuthorizedKeys: [] }));
  const fixed = { storage: { ...storage, files }, passwd: { ...passwd, users } };
  return JSON.stringify([fips, meantIgnition(fixed as unknown as Fields)]);
}

const textOf = (value: Value | undefined): string => (typeof value === 'string' ? value : '');

const listOf = (value: Value | undefined): readonly string[] =>
  isList(value) ? value.filter((one): one is string => typeof one === 'string') : [];

import { isDeepStrictEqual } from 'node:util';
import { Buffer } from 'node:buffer';
import { parseConfig } from '../../ignition/parse.ts';
import { decodeResource } from '../../ignition/resource.ts';
import type { Config, File, PasswdUser, Unit } from '../../ignition/types.ts';
import { meantIgnition } from '../../layering/api/meaning.ts';
import { fieldsOf, type Fields, isList, textOf, type Value } from '../../lib/fields.ts';
import { splitArguments } from '../../os/kernel-arguments.ts';

/** A file of a MachineConfig on a machine. */
export interface WantedFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  /** `USER:GROUP` for chown; root's by default. */
  readonly owner?: string | undefined;
  /** Its source, if it is not a file of the MachineConfig: a unit by its name, or a user. */
  readonly from?: { readonly unit: string } | 'user';
}

/** State of a unit. */
export interface WantedUnit {
  readonly name: string;
  readonly state: 'enabled' | 'disabled' | 'masked';
  /** The unit's text in the MachineConfig, so that the unit exists before the reboot. */
  readonly text?: string | undefined;
}

/** The state of a machine that a MachineConfig describes. */
export interface WantedHost {
  /** Image of the operating system, if no built one is desired. */
  readonly osImageURL: string;
  /** A text of the MachineConfig with several arguments is split. */
  readonly kernelArguments: readonly string[];
  /** Without files below /usr, which come with the image. */
  readonly files: readonly WantedFile[];
  readonly units: readonly WantedUnit[];
  /** Hash of the password of core; `*` without one. */
  readonly password: string;
  /** Packages, which only come with a built image, as JSON. */
  readonly packages: string;
  /** Parts that only an installation applies, as JSON. */
  readonly fixed: string;
  /** Links, which only an installation makes; a MachineConfig may drop them all. As JSON. */
  readonly links: string;
}

/**
 * Reads the described state from a MachineConfig.
 * @throws AgentError `ignition.*` for an unreadable config
 */
export function wantedHost(machineConfig: Fields): WantedHost {
  const spec = fieldsOf(machineConfig['spec']);
  const config = parseConfig(JSON.stringify(spec['config'] ?? {}));
  const units = config.systemd?.units ?? [];
  return {
    osImageURL: textOf(spec['osImageURL']),
    kernelArguments: listOf(spec['kernelArguments']).flatMap(splitArguments),
    files: [
      ...wantedFiles((config.storage?.files ?? []).filter((file) => !isAppended(file))),
      ...units.flatMap(unitFiles),
      ...(config.passwd?.users ?? []).flatMap(keysOf),
    ].filter(({ path }) => !isOfImage(path)),
    units: units.flatMap(wantedUnit),
    password: passwordOf(config),
    packages: JSON.stringify([
      listOf(spec['extensions']).toSorted(),
      textOf(spec['kernelType']) || 'default',
    ]),
    fixed: fixedPart(config, spec['fips'] === true),
    links: meantText({ storage: { links: config.storage?.links ?? [] } }),
  };
}

/** Whether a path is read-only on a machine; /usr/local is a link into /var. */
const isOfImage = (path: string): boolean =>
  path.startsWith('/usr/') && !path.startsWith('/usr/local/');

/** Appended content can neither be reverted nor detected. */
const isAppended = ({ append = [] }: File): boolean => append.length > 0;

/** The most unpacked bytes of a MachineConfig's files: all are in memory at once. */
const mostContent = 64 * 1024 * 1024;

function wantedFiles(files: readonly File[]): readonly WantedFile[] {
  let left = mostContent;
  return files.map((one) => {
    const file = wantedFile(one, Math.max(left, 1));
    left -= file.content.length;
    return file;
  });
}

const wantedFile = (
  { path, contents = {}, mode, user, group }: File,
  maxBytes: number,
): WantedFile => {
  const [uid, gid] = [user, group].map((one) => given(one?.name) ?? one?.id ?? 0);
  return {
    path,
    content: decodeResource({ source: '', ...contents }, maxBytes),
    mode: mode ?? 0o644,
    owner: user === undefined && group === undefined ? undefined : `${uid}:${gid}`,
  };
};

/** Ignition treats an empty text as missing. */
const given = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Folder of a machine's own units. */
export const unitFolder = '/etc/systemd/system';

/** A masked unit is a link, and has no text. */
function unitFiles({ name, contents, dropins = [], mask }: Unit): readonly WantedFile[] {
  const unit = contents === undefined || contents === '' || mask === true ? [] : [contents];
  return [
    ...unit.map((text) => unitFile(name, '', text)),
    ...dropins
      .filter((dropin) => (dropin.contents ?? '') !== '')
      .map((dropin) => unitFile(name, `.d/${dropin.name}`, dropin.contents ?? '')),
  ];
}

function wantedUnit({ name, contents, enabled, mask }: Unit): readonly WantedUnit[] {
  const unit = { name, text: given(contents) };
  if (mask === true) return [{ ...unit, state: 'masked' }];
  if (enabled === undefined) return [];
  return [{ ...unit, state: enabled ? 'enabled' : 'disabled' }];
}

const unitFile = (unit: string, rest: string, text: string): WantedFile => ({
  path: `${unitFolder}/${unit}${rest}`,
  content: Buffer.from(text),
  mode: 0o644,
  from: { unit },
});

/** The file in which Ignition writes keys, and sshd of CoreOS reads them. */
function keysOf({ name, homeDir, sshAuthorizedKeys = [] }: PasswdUser): readonly WantedFile[] {
  if (sshAuthorizedKeys.length === 0) return [];
  const home = given(homeDir) ?? (name === 'root' ? '/root' : `/home/${name}`);
  return [
    {
      path: `${home}/.ssh/authorized_keys.d/ignition`,
      content: Buffer.from(`${sshAuthorizedKeys.join('\n')}\n`),
      mode: 0o600,
      owner: `${name}:${name}`,
      from: 'user',
    },
  ];
}

function fixedPart(
  { kernelArguments = {}, storage = {}, passwd = {} }: Config,
  fips: boolean,
): string {
  const files = storage.files?.filter(isAppended) ?? [];
  const users = (passwd.users ?? []).flatMap(fixedUser);
  const others = { ...storage, files, links: [] };
  return `${fips} ${meantText({ kernelArguments, storage: others, passwd: { ...passwd, users } })}`;
}

const meantText = (config: object): string => JSON.stringify(meantIgnition(config as Fields));

/** The operator sets `*` without a password, which disables it. */
function passwordOf({ passwd }: Config): string {
  const { passwordHash = '' } = passwd?.users?.findLast(isCore) ?? {};
  return passwordHash === '' ? '*' : passwordHash;
}

const isCore = ({ name }: PasswdUser): boolean => name === 'core';

/**
 * The keys of users can change on a running machine, and the password of core; the operator accepts
 * no other user.
 */
function fixedUser(user: PasswdUser): readonly object[] {
  const { sshAuthorizedKeys: _, passwordHash, ...others } = user;
  const rest = isCore(user) || passwordHash === undefined ? others : { ...others, passwordHash };
  const meantUser = (one: object): Fields => meantIgnition({ passwd: { users: [one as Fields] } });
  const saysNoMore = isDeepStrictEqual(meantUser(rest), meantUser({ name: user.name }));
  return isCore(user) && saysNoMore ? [] : [rest];
}

const listOf = (value: Value | undefined): readonly string[] =>
  isList(value) ? value.filter((one): one is string => typeof one === 'string') : [];

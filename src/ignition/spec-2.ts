import { type Decoded, type DecodedObject, Decoder } from './decode.ts';
import { ignitionFailure } from './failures.ts';
import { refuseErrors } from './finding.ts';
import type { JsonObject } from './json.ts';
import * as spec3 from './schema.ts';
import { concatenated, flag, integer, optional, required, text } from './shape.ts';
import type { FieldTable, ListShape, ObjectShape } from './shape.ts';
import type * as types from './types.ts';
import { simplifyPath, validateConfig } from './validate.ts';
import type { SpecMinor } from './version.ts';

/** What spec 2 has in another form than spec 3. */
type Node = types.Node & { readonly filesystem?: string };
type File = Omit<types.File, 'append'> & Node & { readonly append?: boolean };
type Directory = Node & types.Directory;
type Link = Node & types.Link;
type User = types.PasswdUser & { readonly create?: types.PasswdUser };
type Unit = types.Unit & { readonly enable?: boolean };
type Mount = types.Filesystem & { readonly create?: object };
interface Filesystem {
  readonly name?: string;
  readonly path?: string;
  readonly mount?: Mount;
}
/** All lists of a config. */
interface Parts extends Pick<types.Ignition, 'security' | 'timeouts'> {
  readonly append: readonly types.Resource[];
  readonly replace: types.Resource | undefined;
  readonly networkd: readonly types.Dropin[];
  readonly groups: readonly types.PasswdGroup[];
  readonly users: readonly User[];
  readonly directories: readonly Directory[];
  readonly disks: readonly types.Disk[];
  readonly files: readonly File[];
  readonly filesystems: readonly Filesystem[];
  readonly links: readonly Link[];
  readonly raid: readonly types.Raid[];
  readonly units: readonly Unit[];
}

/** The specs that are converted, as numbers below that of 3.1: they know nothing that came with it. */
const minors: ReadonlyMap<unknown, SpecMinor> = new Map([
  ['2.0.0', 0],
  ['2.1.0', 0.1],
  ['2.2.0', 0.2],
]);

const shape = (fields: FieldTable): ObjectShape => ({
  ...{ kind: 'object', name: 'Spec2', fields, sharedKeys: [] },
});
const list = (fields: FieldTable): ListShape => concatenated(shape(fields));
const later = (since: SpecMinor, { fields }: ObjectShape): FieldTable =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      { ...field, since: Math.max(since, field.since) },
    ]),
  );

const owner = optional(shape({ id: optional(integer), name: optional(text, 0.1) }));
const node: FieldTable = {
  ...{ filesystem: optional(text), path: required(text), overwrite: optional(flag, 0.2) },
  ...{ user: owner, group: owner },
};

/** Spec 2.0 to 2.2 (coreos/ignition v0.35, `config/v2_2/types`), by the shapes of spec 3 that are the same. */
const configShape = shape({
  ignition: optional(
    shape({
      config: optional(
        shape({
          append: optional(concatenated(spec3.reference)),
          replace: optional(spec3.reference),
        }),
      ),
      security: optional(spec3.security, 0.2),
      timeouts: optional(spec3.timeouts, 0.1),
    }),
  ),
  networkd: optional(shape({ units: optional(concatenated(spec3.dropinShape)) })),
  passwd: optional(
    shape({
      groups: optional(concatenated(spec3.groupShape)),
      users: optional(
        list({
          ...later(0.1, spec3.userShape),
          ...{ name: required(text), passwordHash: optional(text) },
          ...{ sshAuthorizedKeys: optional(concatenated(text)), create: optional(spec3.userShape) },
        }),
      ),
    }),
  ),
  storage: optional(
    shape({
      directories: optional(list({ ...node, mode: optional(integer) }), 0.1),
      disks: optional(concatenated(spec3.diskShape)),
      files: optional(
        list({
          ...{ ...node, mode: optional(integer), append: optional(flag, 0.2) },
          contents: optional(spec3.resourceShape),
        }),
      ),
      filesystems: optional(
        list({
          ...{ name: optional(text), path: optional(text) },
          mount: optional(
            shape({
              ...later(0.1, spec3.filesystemShape),
              ...{ device: required(text), format: optional(text), create: optional(shape({})) },
            }),
          ),
        }),
      ),
      links: optional(list({ ...node, hard: optional(flag), target: required(text) }), 0.1),
      raid: optional(
        list({ ...spec3.raidShape.fields, options: optional(concatenated(text), 0.2) }),
      ),
    }),
  ),
  systemd: optional(
    shape({
      units: optional(
        list({ ...spec3.unitShape.fields, enabled: optional(flag, 0.1), enable: optional(flag) }),
      ),
    }),
  ),
});

/** A config of spec 2 as JSON, with what is known of the text. */
interface Spec2Text {
  readonly value: JsonObject;
  readonly version: unknown;
  readonly fractions: ReadonlySet<string>;
}

/**
 * Converts a config of spec 2.0 to 2.2 to spec 3.0 by the rules of the Machine Config Operator (`ParseAndConvertConfig`, with
 * coreos/ign-converter `v23tov30`): of what is there twice the last counts, and files and units come in the opposite order.
 * What the operator refuses is refused.
 * @throws AgentError `ignition.spec-2` for what has no form in spec 3, `ignition.invalid`
 */
export function convertSpec2({ value, version, fractions }: Spec2Text): types.Config {
  const minor = minors.get(version);
  if (minor === undefined)
    throw refused(String(version), 'only 2.0.0, 2.1.0 and 2.2.0 are converted');
  const decoder = new Decoder({ minor, fractions });
  const old = partsOf(decoder.object(configShape, value, { path: '' }));
  refuseErrors(decoder.findings, 'ignition.invalid');
  const problem = problemIn(old) ?? (minor === 0 ? oldestProblem(old) : undefined);
  if (problem !== undefined) throw refused(String(version), problem);
  const config = converted(withoutDuplicates(old), minor);
  refuseErrors(validateConfig(config), 'ignition.invalid');
  return config;
}

function partsOf(config: DecodedObject): Parts {
  const at = (...path: readonly string[]): unknown =>
    path.reduce<Decoded | undefined>(
      (part, name) => (part as DecodedObject | undefined)?.[name],
      config,
    );
  const listAt = (...path: readonly string[]) => (at(...path) ?? []) as never;
  const of = (section: string, ...names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, listAt(section, name)]));
  return {
    append: listAt('ignition', 'config', 'append'),
    replace: at('ignition', 'config', 'replace'),
    security: at('ignition', 'security'),
    timeouts: at('ignition', 'timeouts'),
    networkd: listAt('networkd', 'units'),
    ...of('passwd', 'groups', 'users'),
    ...of('storage', 'directories', 'disks', 'files', 'filesystems', 'links', 'raid'),
    units: listAt('systemd', 'units'),
  } as unknown as Parts;
}

const refused = (version: string, why: string): Error =>
  ignitionFailure(
    'ignition.spec-2',
    `ignition config of spec ${version} cannot be converted: ${why}`,
    {
      context: { version },
    },
  );

/** What has no form in spec 3, or breaks a rule of spec 2 that spec 3 does not have. */
function problemIn({
  append,
  networkd,
  users,
  disks,
  filesystems,
  ...old
}: Parts): string | undefined {
  const nodes = [...old.files, ...old.directories, ...old.links];
  const problems: readonly (readonly [is: boolean, problem: string])[] = [
    [networkd.length > 0, 'it has units of networkd'],
    [
      disks.some(({ partitions }) => partitions?.[0] !== undefined),
      'it has partitions, in sectors',
    ],
    [append.length > 1, 'it appends more than one config'],
    [nodes.some(({ filesystem }) => !filesystem), 'a path names no filesystem'],
    [nodes.some(({ path }) => !path.startsWith('/')), 'a path is not absolute'],
    [old.files.some((one) => one.append && one.overwrite), 'a file is appended to and overwritten'],
    [users.some(({ name }) => name !== 'core'), 'it has another user than core'],
    [users.some(isTwofold), 'a user is described in create and beside it'],
  ];
  return (
    problems.find(([is]) => is)?.[1] ??
    filesystems.map(filesystemProblem).find((one) => one !== undefined) ??
    throughLink(old.links, nodes)
  );
}

/** What spec 2.0 alone does not allow. */
function oldestProblem({ append, replace, files, groups, users }: Parts): string | undefined {
  const sources = [...append, replace, ...files.map(({ contents }) => contents)];
  const isKnown = (one?: types.Resource): boolean =>
    /^(?:$|https?:|data:)/i.test(one?.source ?? '');
  if (!sources.every(isKnown)) return 'spec 2.0 has no such URL';
  const ids = [...groups.map(({ gid }) => gid), ...users.map(({ create }) => create?.uid)];
  return ids.some((id) => id !== undefined && id < 0) ? 'an id is below 0' : undefined;
}

/** Members of a user that may be beside `create`, which the operator drops. */
const besideCreate = ['name', 'passwordHash', 'sshAuthorizedKeys', 'create'];

const isTwofold = (user: User): boolean =>
  user.create !== undefined &&
  Object.entries(user).some(
    ([name, value]) =>
      !besideCreate.includes(name) &&
      (Array.isArray(value) ? value.length > 0 : value === 0 || Boolean(value)),
  );

/** The file system that is there already may be named, and is passed over. */
function filesystemProblem({ name, path, mount }: Filesystem): string | undefined {
  if (name !== 'root') return `it makes the filesystem ${name ?? ''}, whose place is not known`;
  if ((mount === undefined) === (path === undefined)) return 'a filesystem needs a mount or a path';
  if (path?.startsWith('/') === false) return 'a path is not absolute';
  return mount && mountProblem(mount);
}

function mountProblem({ create, options = [], wipeFilesystem }: Mount): string | undefined {
  const isBoth = create !== undefined && (wipeFilesystem === true || options.length > 0);
  return isBoth ? 'a filesystem has create, and options beside it' : undefined;
}

/** The operator compares beginnings of paths, not whole names. */
function throughLink(links: readonly Link[], nodes: readonly Node[]): string | undefined {
  const paths = nodes.map(({ path }) => simplifyPath(path));
  const through = links
    .map(({ path }) => simplifyPath(path))
    .find((link) => paths.some((path) => path !== link && path.startsWith(link)));
  return through === undefined ? undefined : `another path begins like the link ${through}`;
}

/** From the last to the first: what is seen first counts. */
function withoutDuplicates(old: Parts): Parts {
  const files = new Map<string, File>();
  for (const file of old.files.toReversed()) {
    if (!files.has(file.path)) files.set(file.path, file);
  }
  const units = new Map<string, Unit>();
  for (const unit of old.units.toReversed())
    units.set(unit.name, joined(units.get(unit.name), unit));
  const users = old.users.toReversed();
  const keys = new Set(users.flatMap(({ sshAuthorizedKeys = [] }) => sshAuthorizedKeys));
  return {
    ...{ ...old, files: [...files.values()], units: [...units.values()] },
    users: users.slice(0, 1).map((user) => ({ ...user, sshAuthorizedKeys: [...keys] })),
  };
}

/** A unit that is there already takes the drop-ins that it does not have. */
function joined(kept: Unit | undefined, unit: Unit): Unit {
  if (kept === undefined) return unit;
  const { dropins = [] } = kept;
  const isNew = ({ name }: types.Dropin): boolean => !dropins.some((own) => own.name === name);
  return { ...kept, dropins: [...dropins, ...(unit.dropins ?? []).filter(isNew)] };
}

function converted(old: Parts, minor: SpecMinor): types.Config {
  const { append, replace, timeouts, security } = old;
  const authorities = security?.tls?.certificateAuthorities?.map(sourced);
  const userOf = (user: User): object => ({
    ...{ ...trimmed(user), create: undefined },
    passwordHash: minor === 0 ? unlessEmpty(user.passwordHash) : user.passwordHash,
  });
  const groupOf = (group: types.PasswdGroup): object => ({
    ...{ ...trimmed(group), passwordHash: unlessEmpty(group.passwordHash) },
  });
  const config = { merge: append.map(sourced), replace: replace && sourced(replace) };
  const result = {
    ignition: {
      ...{ version: '3.0.0', config, timeouts },
      security: { tls: { certificateAuthorities: authorities } },
    },
    passwd: { users: old.users.map(userOf), groups: old.groups.map(groupOf) },
    storage: storageOf(old, minor),
    systemd: { units: old.units.map(unitOf) },
  };
  // Only members that are undefined are left out.
  return JSON.parse(JSON.stringify(result)) as types.Config;
}

function storageOf({ disks, raid, ...old }: Parts, minor: SpecMinor): object {
  const ownerOf = ({
    id = minor === 0 ? 0 : undefined,
    name,
  }: NonNullable<types.Node['user']> = {}) =>
    id === undefined && !name ? undefined : { id, name: unlessEmpty(name) };
  const nodeOf = ({ user, group, ...node }: Node): object => ({
    ...{ ...node, path: simplifyPath(node.path), filesystem: undefined },
    ...{ user: ownerOf(user), group: ownerOf(group) },
  });
  // Before spec 2.2 there is always a mode.
  const withMode = (node: File | Directory): object => ({
    ...(minor < 0.2 ? { mode: 0 } : {}),
    ...nodeOf(node),
  });
  const fileOf = ({ append = false, contents = {}, ...file }: File): object => {
    const content = sourced(trimmed(contents));
    const place = append ? { append: [content] } : { contents: content };
    return { ...withMode(file), overwrite: append ? false : (file.overwrite ?? true), ...place };
  };
  return {
    ...{ disks: disks.map(trimmed), raid: raid.map(trimmed), files: old.files.map(fileOf) },
    directories: old.directories.map(withMode),
    links: old.links.map((link) => trimmed(nodeOf(link))),
  };
}

const unitOf = ({ enable, enabled, ...unit }: Unit): object => ({
  ...{ ...trimmed(unit), dropins: unit.dropins?.map(trimmed) },
  enabled: enabled ?? (enable === true ? true : undefined),
});

const unlessEmpty = (value: string | undefined): string | undefined =>
  value === '' ? undefined : value;

const sourced = (resource: types.Resource): types.Resource => ({ source: '', ...resource });

/** Members whose zero value in spec 2 is none in spec 3. */
const optionals: ReadonlySet<string> = new Set([
  ...['compression', 'contents', 'gecos', 'hard', 'homeDir', 'mask', 'noCreateHome', 'noLogInit'],
  ...['noUserGroup', 'primaryGroup', 'shell', 'spares', 'system', 'wipeTable'],
]);

const trimmed = <T extends object>(value: T): T =>
  Object.fromEntries(
    Object.entries(value).filter(([name, one]) => Boolean(one) || !optionals.has(name)),
  ) as T;

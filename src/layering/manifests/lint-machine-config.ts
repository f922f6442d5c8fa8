import { Buffer } from 'node:buffer';
import { lintConfig } from '../../ignition/parse.ts';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import type { Config, File } from '../../ignition/types.ts';
import { visitObjects } from '../../ignition/validate.ts';
import { AgentError } from '../../model/failure.ts';
import {
  type Fields,
  fieldsOf,
  isFields,
  isList,
  listOf,
  textOf,
  type Value,
} from '../../lib/fields.ts';
import { isSubdomain } from '../api/schema.ts';
import { controllerVersionKey, kernelOf, packagesOfExtensions } from '../api/machine-config.ts';
import { lintOSConfig } from '../api/os-config-findings.ts';
import { segmentsOf } from '../api/os-config.ts';
import { readListed, type SourceObject } from '../api/source-object.ts';
import {
  decodeSource,
  isSourceFinding,
  type LintFinding,
  lintFindingOf,
  wrongObject,
} from '../api/source-text.ts';
import { operatorFile } from './operator-files.ts';

/** A file that is linted. */
export interface LintedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** It was found in a folder, where other objects are no mistake. */
  readonly isInFolder: boolean;
}

interface Found {
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  /** `spec.config.storage.files[0].path`. */
  readonly at: string;
  readonly message: string;
}

/** A MachineConfig that was read, for what several of them say. */
interface ReadConfig {
  readonly source: SourceObject;
  readonly name: string;
  readonly role: string;
  readonly config: Config | undefined;
}

const WANTED = 'a MachineConfig, a MachineOSConfig or an Ignition config';
const roleLabel = 'machineconfiguration.openshift.io/role';

/**
 * Findings of MachineConfigs, MachineOSConfigs and Ignition configs: what Ignition or the Machine
 * Config Operator refuses, what a running node refuses, and what overrides a default for ever.
 * Places are `FILE:LINE`, in the order of the files.
 */
export function lintMachineConfigs(files: readonly LintedFile[]): readonly LintFinding[] {
  const read: ReadConfig[] = [];
  const findings = files.flatMap((file) => findingsIn(file, read));
  return [...findings, ...findingsAmong(read)];
}

function findingsIn(file: LintedFile, read: ReadConfig[]): readonly LintFinding[] {
  const text = decodeSource(file.path, file.bytes, WANTED);
  if (isSourceFinding(text)) return [lintFindingOf(text)];
  const listed = readListed(text, WANTED);
  if (listed.length === 0 && !file.isInFolder)
    return [
      lintFindingOf(wrongObject(`${file.path}:1`, `${WANTED} is expected, and this is empty`)),
    ];
  return listed.flatMap((source) => {
    if (isSourceFinding(source))
      return file.isInFolder && source.code === 'layering.wrong-object'
        ? []
        : [lintFindingOf(source)];
    if (source.value['kind'] === 'MachineOSConfig') return lintOSConfig(source);
    const found = findingsOf(source, file.isInFolder, read);
    const line = ({ place }: LintFinding): number =>
      Number(place.slice(place.lastIndexOf(':') + 1));
    return found
      .map((one) => lintFinding(source, one))
      .toSorted((one, other) => line(one) - line(other));
  });
}

/**
 * Findings of one MachineConfig, errors for what stops a bootstrap: what the API server, the
 * Machine Config Operator or the first boot refuses.
 */
export const lintMachineConfig = (source: SourceObject): readonly LintFinding[] =>
  machineConfigFindings(source, []).map((one) => lintFinding(source, one));

const lintFinding = (
  { place }: SourceObject,
  { rule, severity, at, message }: Found,
): LintFinding => ({
  rule,
  severity,
  message: `${message} [${rule}]`,
  place: place(segmentsOf(at)),
});

function findingsOf(
  source: SourceObject,
  isInFolder: boolean,
  read: ReadConfig[],
): readonly Found[] {
  const { value } = source;
  if (value['kind'] === 'MachineConfig') return machineConfigFindings(source, read);
  if (isIgnition(value)) return ignitionFindings(value, '').findings;
  if (value['variant'] !== undefined)
    return [error('other-kind', 'variant', 'this is Butane: lint what butane makes of it')];
  if (isInFolder) return [];
  return [error('other-kind', 'kind', `${WANTED} is expected, and this is another object`)];
}

const sections = ['ignition', 'kernelArguments', 'passwd', 'storage', 'systemd'];

/** A configuration of Bootwright has a section of that name too, beside others. */
const isIgnition = (value: Fields): boolean =>
  fieldsOf(value['ignition'])['version'] !== undefined ||
  (value['ignition'] !== undefined && Object.keys(value).every((key) => sections.includes(key)));

const error = (rule: string, at: string, message: string): Found => ({
  rule,
  severity: 'error',
  at,
  message,
});
const warning = (rule: string, at: string, message: string): Found => ({
  rule,
  severity: 'warning',
  at,
  message,
});

const where = (holds: boolean, ...findings: readonly Found[]): readonly Found[] =>
  holds ? findings : [];

/** What Ignition refuses and warns of. */
function ignitionFindings(
  value: Fields,
  before: string,
): { readonly config?: Config; readonly findings: readonly Found[] } {
  const at = (path: string): string => [before, path].filter((part) => part !== '').join('.');
  try {
    const { config, findings } = lintConfig(JSON.stringify(value));
    const all = [...findings.map((one) => ({ ...one, at: at(one.path) })), ...spoilt(config, at)];
    return { config, findings: all };
  } catch (thrown) {
    return { findings: [thrownFinding(thrown, error('', at('ignition.version'), ''))] };
  }
}

/**
 * Embedded content that is not what it says, which Ignition finds at the first boot; what is too
 * large for us may be right.
 */
const spoilt = (config: Config, at: (path: string) => string): readonly Found[] =>
  visitObjects(config).flatMap(({ value, path }) => {
    try {
      if (isDataUrl(textOf(value['source']))) decodeResource(value);
      return [];
    } catch (thrown) {
      const { code, message, context } = thrown as AgentError;
      const isWrong = code === 'ignition.gzip' || context['actual'] !== undefined;
      return where(isWrong, error('content-invalid', at(`${path}.source`), message));
    }
  });

/** A failure of Bootwright as a finding; its code is the rule unless one is given. */
function thrownFinding(thrown: unknown, { rule, at }: Found): Found {
  if (!(thrown instanceof AgentError)) throw thrown;
  return error(rule === '' ? thrown.code : rule, at, `${thrown.message}: ${thrown.hint}`);
}

/**
 * As the operator validates one (`ValidateMachineConfig`), and what its daemon does with it on a
 * node.
 */
function machineConfigFindings(source: SourceObject, read: ReadConfig[]): readonly Found[] {
  const { value } = source;
  const metadata = fieldsOf(value['metadata']);
  const spec = fieldsOf(value['spec']);
  const name = textOf(metadata['name']);
  const role = textOf(fieldsOf(metadata['labels'])[roleLabel]);
  // Those that the operator renders are its defaults.
  const isOperators = fieldsOf(metadata['annotations'])[controllerVersionKey] !== undefined;
  const raw = isFields(spec['config']) ? spec['config'] : undefined;
  const { config, findings } =
    raw === undefined ? { findings: [] } : ignitionFindings(raw, 'spec.config');
  if (!isOperators) read.push({ source, name, role, config });
  const label = `the pools of the operator take none without the label ${roleLabel}`;
  return [
    ...where(!isSubdomain(name), error('name', 'metadata.name', nameRule)),
    ...where(role === '' && !isOperators, warning('no-role', 'metadata.labels', label)),
    ...sizeFindings(value),
    ...typeFindings(spec),
    ...settingFindings(spec),
    ...where(!isOperators, ...imageFindings(spec)),
    ...findings,
    ...(config === undefined ? [] : daemonFindings(config)),
    ...(config === undefined || isOperators || isBelowDefaults(name) ? [] : overrides(config)),
  ];
}

const nameRule =
  'the name has lower-case letters, digits, - and ., and begins and ends with a letter or a digit';

const isTexts = (value: Value): boolean =>
  isList(value) && value.every((one) => typeof one === 'string');
const listRule = 'must be a list of texts, each in a line of its own';
const textRule = 'must be a text';

/**
 * Types of the fields of a spec (`0000_80_machine-config_01_machineconfigs.crd.yaml`); what is null
 * is not given.
 */
const fieldTypes: Readonly<Record<string, readonly [is: (value: Value) => boolean, why: string]>> =
  {
    config: [isFields, 'must be an Ignition config'],
    kernelArguments: [isTexts, listRule],
    extensions: [isTexts, listRule],
    fips: [(value) => typeof value === 'boolean', 'must be true or false, without quotes'],
    kernelType: [(value) => typeof value === 'string', textRule],
    osImageURL: [(value) => typeof value === 'string', textRule],
    baseOSExtensionsContainerImage: [(value) => typeof value === 'string', textRule],
  };

const typeFindings = (spec: Fields): readonly Found[] =>
  Object.entries(fieldTypes).flatMap(([member, [is, why]]) => {
    const value = spec[member] ?? null;
    const at = `spec.${member}`;
    return where(value !== null && !is(value), error('wrong-type', at, `${at} ${why}`));
  });

/** MachineConfigs are merged in the order of their names; the operator's begin with 00- and 01-. */
const isBelowDefaults = (name: string): boolean => name < '02';

const atFirstBoot =
  'at the first boot alone: a node that runs refuses a change of it, and its pool is Degraded';

function settingFindings(spec: Fields): readonly Found[] {
  const refused = (rule: string, at: string, check: () => unknown): readonly Found[] => {
    try {
      check();
      return [];
    } catch (thrown) {
      return [thrownFinding(thrown, error(rule, at, ''))];
    }
  };
  return [
    ...refused('kernel-type', 'spec.kernelType', () => kernelOf(textOf(spec['kernelType']))),
    ...where(
      spec['fips'] === true,
      warning('first-boot-only', 'spec.fips', `FIPS is switched on ${atFirstBoot}`),
    ),
    ...listOf(spec['extensions']).flatMap((extension, index) =>
      refused('extension', `spec.extensions[${index}]`, () =>
        packagesOfExtensions([textOf(extension)]),
      ),
    ),
  ];
}

const imageFindings = (spec: Fields): readonly Found[] =>
  ['osImageURL', 'baseOSExtensionsContainerImage']
    .filter((key) => textOf(spec[key]) !== '')
    .map((key) =>
      warning(
        'overrides-default',
        `spec.${key}`,
        `spec.${key} stays unchanged through every update of the cluster: let a MachineOSConfig build on the image of the release`,
      ),
    );

/**
 * The most that a rendered MachineConfig may have (`MaxMachineConfigSize`): etcd takes no larger
 * request.
 */
const mostBytes = 1_572_864;

function sizeFindings(value: Fields): readonly Found[] {
  const size = Buffer.byteLength(JSON.stringify(value));
  const message = `${size} bytes are more than the ${mostBytes} that all MachineConfigs of a pool may have together`;
  return where(size > mostBytes, error('too-large', 'spec.config', message));
}

/** Sections that the daemon takes at the first boot alone (`isConfigReconcilable`, 4.6 to main). */
const firstBootSections = ['disks', 'filesystems', 'raid', 'directories', 'links'] as const;

/**
 * What the Machine Config Daemon does with a config: `file_writers.go`, `reconcile.go`,
 * `validateIgn3FileModes`.
 */
function daemonFindings({ storage = {}, passwd = {}, kernelArguments }: Config): readonly Found[] {
  const firstBoot = (at: string, what: string): Found =>
    warning('first-boot-only', `spec.config.${at}`, `${what} ${atFirstBoot}`);
  const { files = [], luks = [] } = storage;
  const { groups = [], users = [] } = passwd;
  const ignored = 'storage.luks is applied at the first boot alone: a node that runs ignores it';
  return [
    ...files.flatMap((file, index) => fileFindings(file, `spec.config.storage.files[${index}]`)),
    ...belowFiles(storage),
    ...firstBootSections
      .filter((section) => (storage[section] ?? []).length > 0)
      .map((section) => firstBoot(`storage.${section}`, `storage.${section} is applied`)),
    ...where(luks.length > 0, warning('first-boot-only', 'spec.config.storage.luks', ignored)),
    ...where(groups.length > 0, firstBoot('passwd.groups', 'passwd.groups is applied')),
    ...users.flatMap(
      ({ name, sshAuthorizedKeys: _keys, passwordHash: _hash, ...others }, index) => [
        ...where(name !== 'core', firstBoot(`passwd.users[${index}].name`, `user ${name} is made`)),
        ...where(
          name === 'core' && Object.keys(others).length > 0,
          firstBoot(
            `passwd.users[${index}]`,
            `${Object.keys(others).join(', ')} of core is applied`,
          ),
        ),
      ],
    ),
    ...where(
      kernelArguments !== undefined,
      firstBoot(
        'kernelArguments',
        'kernelArguments of Ignition, other than spec.kernelArguments, are applied',
      ),
    ),
  ];
}

/** The daemon would skip its checks where this file is (`constants.go`). */
const forceFile = '/run/machine-config-daemon-force';

function fileFindings(file: File, at: string): readonly Found[] {
  const { path, mode = 0, append = [], contents = {} } = file;
  const { source = '' } = contents;
  const refused = (rule: string, member: string, what: string): Found =>
    error(rule, `${at}.${member}`, `${path}: ${what}`);
  const octal = /^[0-7]{3,4}$/.test(String(mode)) ? Number.parseInt(String(mode), 8) : undefined;
  const bits = `mode ${mode} is 0${mode.toString(8)} in octal and has special bits: 0777, in decimal 511, is the most${octal === undefined ? '' : `; 0${mode} is ${octal} in decimal`}`;
  return [
    ...where(
      append.length > 0,
      refused(
        'append',
        'append',
        'the Machine Config Daemon appends to no file: write a whole one of another name',
      ),
    ),
    ...where(mode > 0o777, refused('file-mode', 'mode', bits)),
    ...where(
      path === forceFile,
      refused('force-file', 'path', 'no MachineConfig may write it: touch it on the node'),
    ),
    ...where(
      source !== '' && !isDataUrl(source),
      refused(
        'remote-content',
        'contents.source',
        'the Machine Config Daemon fetches nothing: embed the content as a data URL',
      ),
    ),
  ];
}

/** The first boot makes a folder of each path above, and cannot where a file has it. */
function belowFiles(storage: NonNullable<Config['storage']>): readonly Found[] {
  const files = new Set((storage.files ?? []).map(({ path }) => path));
  return (['files', 'directories', 'links'] as const).flatMap((section) =>
    (storage[section] ?? []).flatMap(({ path }, index) => {
      const above = [...path.matchAll(/\//g)].map(({ index: end }) => path.slice(0, end));
      const file = above.find((one) => files.has(one));
      const at = `spec.config.storage.${section}[${index}].path`;
      const why = `${path} is below ${file ?? ''}, which is a file`;
      return where(file !== undefined, error('path-below-file', at, why));
    }),
  );
}

const unitFolder = '/etc/systemd/system/';

/**
 * A drop-in that is written as a file has the name that it would have under its unit; any other
 * file its path.
 */
const dropInName = (path: string): string =>
  path.startsWith(unitFolder) && path.split('/')[4]?.endsWith('.d') === true
    ? path.slice(unitFolder.length)
    : path;

/**
 * Names that win over the operator's own files and units from then on, whatever a later release has
 * in them.
 */
function overrides({ storage = {}, systemd = {} }: Config): readonly Found[] {
  const of = (name: string, at: string): readonly Found[] => {
    const own = operatorFile(name);
    if (own === undefined) return [];
    const message = `${name} belongs to the operator (${own.releases}), and stays unchanged here through every update: ${own.advice}`;
    return [warning('overrides-default', `spec.config.${at}`, message)];
  };
  return [
    ...(storage.files ?? []).flatMap(({ path }, index) =>
      of(dropInName(path), `storage.files[${index}].path`),
    ),
    ...(systemd.units ?? []).flatMap(({ name, contents = '', mask, dropins = [] }, index) => [
      ...(contents === '' && mask !== true ? [] : of(name, `systemd.units[${index}].name`)),
      ...dropins.flatMap((dropin, at) =>
        of(`${name}.d/${dropin.name}`, `systemd.units[${index}].dropins[${at}].name`),
      ),
    ]),
  ];
}

/**
 * Files of several MachineConfigs of one role, of which the last name wins; and of one name, of
 * which one remains.
 */
function findingsAmong(read: readonly ReadConfig[]): readonly LintFinding[] {
  const byName = new Map(read.map((one) => [one.name, one]));
  const winners = new Map<string, ReadConfig>();
  for (const one of [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
    for (const { path } of one.config?.storage?.files ?? [])
      winners.set(`${one.role} ${path}`, one);
  return read.flatMap((one) => {
    const last = byName.get(one.name) ?? one;
    if (last !== one && one.name !== '') {
      const place = last.source.place(['metadata', 'name']);
      const message = `${place} has the name ${one.name} too: where both are applied, one replaces the other`;
      return [lintFinding(one.source, warning('name-twice', 'metadata.name', message))];
    }
    return (one.config?.storage?.files ?? []).flatMap(({ path }, index) => {
      const winner = winners.get(`${one.role} ${path}`);
      if (winner === undefined || winner === one) return [];
      const at = `spec.config.storage.files[${index}].path`;
      const message = `${path} is in ${winner.name} too, whose name is later: this one has no effect`;
      return [lintFinding(one.source, warning('no-effect', at, message))];
    });
  });
}

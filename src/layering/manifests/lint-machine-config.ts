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

const WANTED = 'a MachineConfig, a MachineOSConfig or an Ignition config';
const roleLabel = 'machineconfiguration.openshift.io/role';

/**
 * Findings of MachineConfigs, MachineOSConfigs and Ignition configs: what Ignition, the API server
 * or the Machine Config Operator refuses. Places are `FILE:LINE`, in the order of the files.
 */
export const lintMachineConfigs = (files: readonly LintedFile[]): readonly LintFinding[] =>
  files.flatMap(findingsIn);

function findingsIn(file: LintedFile): readonly LintFinding[] {
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
    const line = ({ place }: LintFinding): number =>
      Number(place.slice(place.lastIndexOf(':') + 1));
    return placed(source, findingsOf(source.value, file.isInFolder)).toSorted(
      (one, other) => line(one) - line(other),
    );
  });
}

/**
 * Findings of one MachineConfig, errors for what stops a bootstrap: what the API server, the
 * Machine Config Operator or the first boot refuses.
 */
export const lintMachineConfig = (source: SourceObject): readonly LintFinding[] =>
  placed(source, machineConfigFindings(source.value));

const placed = ({ place }: SourceObject, found: readonly Found[]): readonly LintFinding[] =>
  found.map(({ rule, severity, at, message }) => ({
    rule,
    severity,
    message: `${message} [${rule}]`,
    place: place(segmentsOf(at)),
  }));

function findingsOf(value: Fields, isInFolder: boolean): readonly Found[] {
  if (value['kind'] === 'MachineConfig') return machineConfigFindings(value);
  if (isIgnition(value)) return ignitionFindings(value, '');
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

/**
 * What Ignition refuses and warns of.
 * @param ofConfig finds more in a config that can be read
 */
function ignitionFindings(
  value: Fields,
  before: string,
  ofConfig: (config: Config) => readonly Found[] = () => [],
): readonly Found[] {
  const at = (path: string): string => [before, path].filter((part) => part !== '').join('.');
  try {
    const { config, findings } = lintConfig(JSON.stringify(value));
    const named = findings.map(({ rule, path, message }) => error(rule, at(path), message));
    if (findings.some(({ rule }) => rule === 'wrong-type')) return named;
    return [...named, ...spoilt(config, at), ...ofConfig(config)];
  } catch (thrown) {
    return [failureFinding(thrown, at('ignition.version'))];
  }
}

/**
 * Embedded content that is not what it says, which Ignition finds at the first boot; what is too
 * large for us may be right.
 */
function spoilt(config: Config, at: (path: string) => string): readonly Found[] {
  const found: Found[] = [];
  visitObjects(config, (value, path) => {
    if (typeof value['source'] !== 'string' || !isDataUrl(value['source'])) return;
    try {
      decodeResource(value);
    } catch (thrown) {
      const { code, message, context } = thrown as AgentError;
      const isWrong =
        ['ignition.gzip', 'ignition.data-url'].includes(code) || context['actual'] !== undefined;
      if (isWrong) found.push(error('content-invalid', at(`${path}.source`), message));
    }
  });
  return found;
}

/** A failure of Bootwright as a finding; its code is the rule unless one is given. */
function failureFinding(thrown: unknown, at: string, rule?: string): Found {
  if (!(thrown instanceof AgentError)) throw thrown;
  return error(rule ?? thrown.code, at, `${thrown.message}: ${thrown.hint}`);
}

/**
 * The most that a rendered MachineConfig may have (`MaxMachineConfigSize`): etcd takes no larger
 * request.
 */
const mostBytes = 1_572_864;

/** As the operator validates one (`ValidateMachineConfig`), and bootkube renders one. */
function machineConfigFindings(value: Fields): readonly Found[] {
  const metadata = fieldsOf(value['metadata']);
  const spec = fieldsOf(value['spec']);
  const found: Found[] = [];
  if (!isSubdomain(textOf(metadata['name']))) found.push(error('name', 'metadata.name', nameRule));
  const isRendered = fieldsOf(metadata['annotations'])[controllerVersionKey] !== undefined;
  if (textOf(fieldsOf(metadata['labels'])[roleLabel]) === '' && !isRendered) {
    const message = `the pools of the operator take none without the label ${roleLabel}`;
    found.push({ rule: 'no-role', severity: 'warning', at: 'metadata.labels', message });
  }
  const size = Buffer.byteLength(JSON.stringify(value));
  if (size > mostBytes) {
    const most = `the ${mostBytes} that all MachineConfigs of a pool may have together`;
    found.push(error('too-large', 'spec.config', `${size} bytes are more than ${most}`));
  }
  found.push(...specFindings(spec));
  if (isFields(spec['config']))
    found.push(...ignitionFindings(spec['config'], 'spec.config', daemonFindings));
  return found;
}

const nameRule =
  'the name has lower-case letters, digits, - and ., and begins and ends with a letter or a digit';

const isTexts = (value: Value): boolean =>
  isList(value) && value.every((one) => typeof one === 'string');
const listRule = 'must be a list of texts, each in a line of its own';
const isText = (value: Value): boolean => typeof value === 'string';
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
    kernelType: [isText, textRule],
    osImageURL: [isText, textRule],
    baseOSExtensionsContainerImage: [isText, textRule],
  };

function specFindings(spec: Fields): readonly Found[] {
  const found = Object.entries(fieldTypes).flatMap(([member, [is, why]]) => {
    const value = spec[member] ?? null;
    const at = `spec.${member}`;
    return value === null || is(value) ? [] : [error('wrong-type', at, `${at} ${why}`)];
  });
  const check = (rule: string, at: string, read: () => unknown): void => {
    try {
      read();
    } catch (thrown) {
      found.push(failureFinding(thrown, at, rule));
    }
  };
  check('kernel-type', 'spec.kernelType', () => kernelOf(textOf(spec['kernelType'])));
  for (const [index, extension] of listOf(spec['extensions']).entries())
    check('extension', `spec.extensions[${index}]`, () =>
      packagesOfExtensions([textOf(extension)]),
    );
  return found;
}

/** What the Machine Config Daemon refuses (`file_writers.go`, `validateIgn3FileModes`). */
function daemonFindings({ storage = {} }: Config): readonly Found[] {
  const files = storage.files ?? [];
  return [
    ...files.flatMap((file, index) => fileFindings(file, `spec.config.storage.files[${index}]`)),
    ...belowFiles(storage),
  ];
}

/** The daemon would skip its checks where this file is (`constants.go`). */
const forceFile = '/run/machine-config-daemon-force';

function fileFindings(file: File, at: string): readonly Found[] {
  const { path, mode = 0, append = [], contents = {} } = file;
  const { source = '' } = contents;
  const found: Found[] = [];
  const refuse = (rule: string, member: string, what: string): void =>
    void found.push(error(rule, `${at}.${member}`, `${path}: ${what}`));
  if (append.length > 0) {
    const what = 'the Machine Config Daemon appends to no file: write a whole one of another name';
    refuse('append', 'append', what);
  }
  if (mode > 0o777) {
    const isOctal = /^[0-7]{3,4}$/.test(String(mode));
    const meant = isOctal ? `; 0${mode} is ${Number.parseInt(String(mode), 8)} in decimal` : '';
    const bits = `mode ${mode} is 0${mode.toString(8)} in octal and has special bits`;
    refuse('file-mode', 'mode', `${bits}: 0777, in decimal 511, is the most${meant}`);
  }
  if (path === forceFile)
    refuse('force-file', 'path', 'no MachineConfig may write it: touch it on the node');
  if (source !== '' && !isDataUrl(source)) {
    const what = 'the Machine Config Daemon fetches nothing: embed the content as a data URL';
    refuse('remote-content', 'contents.source', what);
  }
  return found;
}

/** The first boot makes a folder of each path above, and cannot where a file has it. */
function belowFiles(storage: NonNullable<Config['storage']>): readonly Found[] {
  const files = new Set((storage.files ?? []).map(({ path }) => path));
  return (['files', 'directories', 'links'] as const).flatMap((section) =>
    (storage[section] ?? []).flatMap(({ path }, index) => {
      const above = [...path.matchAll(/\//g)].map(({ index: end }) => path.slice(0, end));
      const file = above.find((one) => files.has(one));
      const at = `spec.config.storage.${section}[${index}].path`;
      return file === undefined
        ? []
        : [error('path-below-file', at, `${path} is below ${file}, which is a file`)];
    }),
  );
}

import { Buffer } from 'node:buffer';
import { extname, normalize } from 'node:path/posix';
import * as z from 'zod';
import { lintConfig } from '../../ignition/parse.ts';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import type { Config, File, Storage, Unit } from '../../ignition/types.ts';
import { visitObjects } from '../../ignition/validate.ts';
import { AgentError } from '../../model/failure.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/fields.ts';
import { readImageName } from '../../lib/image-name.ts';
import { nearestName } from '../../lib/nearest.ts';
import { Annotations, isSubdomain, Labels, subdomainRule } from '../api/schema.ts';
import { controllerVersionKey, kernelOf, packagesOfExtensions } from '../api/machine-config.ts';
import { lintOSConfig } from '../api/os-config-findings.ts';
import { segmentsOf } from '../api/os-config.ts';
import {
  readListed,
  type SourceObject,
  decodeSource,
  isSourceFinding,
  type LintFinding,
  wrongObject,
} from '../api/source-object.ts';

/** A file to lint. */
export interface LintedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Whether the file was found in a folder, where objects of other kinds are allowed. */
  readonly isInFolder: boolean;
}

const WANTED = 'a MachineConfig, a MachineOSConfig or an Ignition config';
const roleLabel = 'machineconfiguration.openshift.io/role';

/**
 * Findings about MachineConfigs, MachineOSConfigs and Ignition configs that Ignition, the API
 * server or the Machine Config Operator refuses, or of which it drops a field. Places are
 * `FILE:LINE`, in the order of the files.
 */
export const lintMachineConfigs = (files: readonly LintedFile[]): readonly LintFinding[] =>
  files.flatMap(findingsIn);

function findingsIn(file: LintedFile): readonly LintFinding[] {
  const text = decodeSource(file.path, file.bytes, WANTED);
  if (isSourceFinding(text)) return [text];
  const listed = readListed(text, WANTED);
  if (listed.length === 0 && !file.isInFolder)
    return [wrongObject(`${file.path}:1`, `${WANTED} is expected, and this is empty`)];
  return listed.flatMap((source) => {
    if (!isSourceFinding(source)) return findingsOf(source, file.isInFolder);
    const isOther = file.isInFolder && source.code === 'layering.wrong-object';
    return isOther ? [] : [source];
  });
}

function findingsOf(source: SourceObject, isInFolder: boolean): readonly LintFinding[] {
  const { value } = source;
  if (value['kind'] === 'MachineOSConfig') return lintOSConfig(source);
  if (value['kind'] === 'MachineConfig') return lintMachineConfig(source);
  return reported(source, (report) => {
    if (isIgnition(value)) checkIgnition(value, '', report);
    else if (value['variant'] !== undefined)
      report('other-kind', 'variant', 'this is Butane: lint what butane makes of it');
    else if (!isInFolder)
      report('other-kind', 'kind', `${WANTED} is expected, and this is another object`);
  });
}

const sections = ['ignition', 'kernelArguments', 'passwd', 'storage', 'systemd'];

/** A configuration of Bootwright also has a section of that name, beside other sections. */
const isIgnition = (value: Fields): boolean =>
  fieldsOf(value['ignition'])['version'] !== undefined ||
  (value['ignition'] !== undefined && Object.keys(value).every((key) => sections.includes(key)));

/**
 * Findings about one MachineConfig. An error stops a bootstrap: the API server, the Machine Config
 * Operator or the first boot refuses the object, or drops a field of it.
 */
export const lintMachineConfig = (source: SourceObject): readonly LintFinding[] =>
  reported(source, (report) => checkMachineConfig(source.value, report));

/** @param at path of the field: `spec.config.storage.files[0].path` */
type Report = (
  rule: string,
  at: string,
  message: string,
  severity?: LintFinding['severity'],
) => void;

/** The findings that a check reports, in the order of their lines. */
function reported(
  { place }: SourceObject,
  check: (report: Report) => void,
): readonly LintFinding[] {
  const found: LintFinding[] = [];
  check((rule, at, message, severity = 'error') => {
    found.push({ rule, severity, message: `${message} [${rule}]`, place: place(segmentsOf(at)) });
  });
  return found.toSorted((one, other) =>
    one.place.localeCompare(other.place, 'en', { numeric: true }),
  );
}

/** Reports the refusal of a reader; the rule defaults to the code of the error. */
function checkRead(read: () => unknown, at: string, report: Report, rule?: string): void {
  try {
    read();
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    report(rule ?? thrown.code, at, `${thrown.message}: ${thrown.hint}`);
  }
}

const listRule = 'must be a list of texts, each in a line of its own';
const Texts = z.array(z.string(listRule), listRule).nullish();
const Text = z.string('must be a text').nullish();
const Image = z
  .string('must be a text')
  .refine((name) => name === '' || readImageName(name) !== undefined, {
    message: 'must be HOST/PATH:TAG or HOST/PATH@DIGEST, without a scheme',
  })
  .nullish();

/**
 * Types of the fields of a spec (`0000_80_machine-config_01_machineconfigs.crd.yaml`); null means
 * not set.
 */
const Spec = z.strictObject(
  {
    config: z.looseObject({}, 'must be an Ignition config').nullish(),
    kernelArguments: Texts,
    extensions: Texts,
    fips: z.boolean('must be true or false, without quotes').nullish(),
    kernelType: Text,
    osImageURL: Image,
    baseOSExtensionsContainerImage: Image,
  },
  'must be an object',
);

/** The API server drops unknown fields. */
const MachineConfig = z.strictObject({
  apiVersion: z.literal(
    'machineconfiguration.openshift.io/v1',
    'must be machineconfiguration.openshift.io/v1',
  ),
  kind: z.unknown(),
  metadata: z.looseObject({ labels: Labels, annotations: Annotations }).nullish(),
  spec: Spec.nullish(),
  status: z.unknown().optional(),
});

/**
 * The most bytes of a rendered MachineConfig (`MaxMachineConfigSize`): etcd accepts no larger
 * request.
 */
const mostBytes = 1_572_864;

/** The checks of the operator (`ValidateMachineConfig`), and of bootkube's rendering. */
function checkMachineConfig(value: Fields, report: Report): void {
  const metadata = fieldsOf(value['metadata']);
  const spec = fieldsOf(value['spec']);
  if (!isSubdomain(textOf(metadata['name']))) {
    report('name', 'metadata.name', `the name ${subdomainRule}`);
  }
  const isRendered = fieldsOf(metadata['annotations'])[controllerVersionKey] !== undefined;
  if (textOf(fieldsOf(metadata['labels'])[roleLabel]) === '' && !isRendered) {
    const message = `the pools of the operator take none without the label ${roleLabel}`;
    report('no-role', 'metadata.labels', message, 'warning');
  }
  const size = Buffer.byteLength(JSON.stringify(value));
  if (size > mostBytes) {
    const most = `the ${mostBytes} that all MachineConfigs of a pool may have together`;
    report('too-large', 'spec.config', `${size} bytes are more than ${most}`);
  }
  for (const issue of MachineConfig.safeParse(value).error?.issues ?? []) {
    const at = issue.path.filter((part) => typeof part === 'string');
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) reportUnknown([...at, key].join('.'), report);
    else report('wrong-type', at.join('.'), `${at.join('.')} ${issue.message}`);
  }
  checkKernel(spec, report);
  for (const [index, name] of listOf(spec['extensions']).entries()) {
    const read = () => packagesOfExtensions([textOf(name)]);
    checkRead(read, `spec.extensions[${index}]`, report, 'extension');
  }
  if (isFields(spec['config'])) {
    const config = checkIgnition(spec['config'], 'spec.config.', report);
    if (config !== undefined) checkStorage(config, report);
    if (config !== undefined) checkVersion(config, report);
  }
}

function checkKernel({ kernelType, kernelArguments, extensions }: Fields, report: Report): void {
  checkRead(() => kernelOf(textOf(kernelType)), 'spec.kernelType', report, 'kernel-type');
  for (const [index, argument] of listOf(kernelArguments).entries())
    if (textOf(argument).split('"').length % 2 === 0) {
      const what = 'a quote is not closed: the kernel takes what follows for a part of this value';
      report('open-quote', `spec.kernelArguments[${index}]`, what, 'warning');
    }
  const index = listOf(extensions).indexOf('kernel-devel');
  const kernel = textOf(kernelType) || 'default';
  if (index < 0 || kernel === 'default') return;
  // The operator renders no pool with both (`MergeMachineConfigs`).
  const what = `the operator refuses kernel-devel with kernelType ${kernel}`;
  report('extension', `spec.extensions[${index}]`, what);
}

/** Minor of the newest Ignition spec of the operator (`ParseAndConvertConfig`, 2026-08). */
const newestMinor = 5;

function checkVersion({ ignition: { version } }: Config, report: Report): void {
  if (Number(version.split('.')[1]) <= newestMinor) return;
  const what = `the operator reads specs up to 3.${newestMinor}.0, not ${version}`;
  report('ignition.version-unsupported', 'spec.config.ignition.version', what);
}

function reportUnknown(at: string, report: Report): void {
  const names = Object.keys(Spec.shape).map((name) => `spec.${name}`);
  const near = nearestName(at, names);
  const meant = near === undefined ? '' : `: did you mean ${near}?`;
  report('unknown-field', at, `${at}: unknown field${meant}`);
}

/**
 * Reports content that Ignition refuses, at once or at the first boot.
 * @returns the config, if it is readable
 */
function checkIgnition(value: Fields, before: string, report: Report): Config | undefined {
  let read: ReturnType<typeof lintConfig> | undefined;
  const readIt = (): void => void (read = lintConfig(JSON.stringify(value)));
  checkRead(readIt, `${before}ignition.version`, report);
  if (read === undefined) return undefined;
  const { config, findings } = read;
  for (const { rule, path, message } of findings) report(rule, `${before}${path}`, message);
  if (findings.some(({ rule }) => rule === 'wrong-type')) return undefined;
  visitObjects(config, (resource, path) => {
    if (typeof resource['source'] !== 'string' || !isDataUrl(resource['source'])) return;
    try {
      decodeResource(resource);
    } catch (thrown) {
      // Content beyond our size limit may still be valid.
      const { code, message } = thrown as AgentError;
      if (code !== 'ignition.too-large')
        report('content-invalid', `${before}${path}.source`, message);
    }
  });
  checkRules(config, (rule, at, message) => report(rule, `${before}${at}`, message));
  return config;
}

/**
 * Reports mistakes in nodes and units that Ignition refuses at the first boot, and the operator in
 * a bootstrap (`config/v3_5/types`, `Validate`).
 */
function checkRules({ storage = {}, systemd = {} }: Config, report: Report): void {
  for (const section of ['files', 'directories', 'links'] as const)
    for (const [index, node] of (storage[section] ?? []).entries())
      checkNode(node, `storage.${section}[${index}]`, report);
  checkDevices(storage, report);
  for (const [index, unit] of (systemd.units ?? []).entries())
    checkUnit(unit, `systemd.units[${index}]`, report);
}

function checkDevices(storage: Storage, report: Report): void {
  for (const section of ['disks', 'filesystems'] as const)
    for (const [index, { device }] of (storage[section] ?? []).entries())
      if (!device.startsWith('/'))
        report('path-relative', `storage.${section}[${index}].device`, `${device} is no path`);
  for (const [index, { format = '', path = '' }] of (storage.filesystems ?? []).entries())
    if (!formats.includes(format) && (format !== '' || path !== '')) {
      const what = `the format ${JSON.stringify(format)} is none of ${formats.join(', ')}`;
      report('format', `storage.filesystems[${index}].format`, what);
    }
}

const formats = ['ext4', 'btrfs', 'xfs', 'vfat', 'swap', 'none'];

function checkNode({ path, user, group }: File, at: string, report: Report): void {
  const clean = normalize(path).replace(/(?<=.)\/$/, '');
  if (path.startsWith('/') && path !== clean)
    report('path-not-clean', `${at}.path`, `${path}: write ${clean}`);
  for (const [member, owner] of Object.entries({ user, group }))
    if (owner?.id !== undefined && (owner.name ?? '') !== '')
      report('owner', `${at}.${member}`, `${path}: ${member} has both an id and a name`);
}

const unitExtensions = [
  ...['.service', '.socket', '.device', '.mount', '.automount', '.swap'],
  ...['.target', '.path', '.timer', '.snapshot', '.slice', '.scope'],
];

function checkUnit({ name, contents, dropins = [] }: Unit, at: string, report: Report): void {
  const checkText = (text: string | undefined, where: string, file: string): void => {
    const what = unitProblem(text ?? '');
    if (what !== undefined) report('unit-text', `${where}.contents`, `${file}: ${what}`);
  };
  if (!unitExtensions.includes(extname(name)))
    report('unit-name', `${at}.name`, `${name}: a unit has an extension, .service for example`);
  checkText(contents, at, name);
  for (const [index, dropin] of dropins.entries()) {
    const where = `${at}.dropins[${index}]`;
    if (extname(dropin.name) !== '.conf')
      report('unit-name', `${where}.name`, `${dropin.name}: the name of a drop-in ends with .conf`);
    checkText(dropin.contents, where, `${name}.d/${dropin.name}`);
  }
}

/** Ignition reads no longer line of a unit, in bytes (go-systemd, `SYSTEMD_LINE_MAX`). */
const longestLine = 2047;

/**
 * The first line of a unit that Ignition cannot read, with the reason (go-systemd,
 * `deserialize.go`); it ignores text before the first section. A backslash continues a line.
 */
function unitProblem(text: string): string | undefined {
  const lines = text.split(/\r?\n/);
  const first = lines.findIndex((line) => !/^\s*(?:$|[#;].*(?<!\\)$)/.test(line));
  if (!/^\s*\[/.test(lines[first] ?? '')) return undefined;
  const bad = lines.findIndex((line, at) => {
    const isContinued = at > first && lines[at - 1]?.endsWith('\\') === true;
    return !isContinued && !/^(?:$|[#;]|\[[^\]]*\]$|(?!\[)[^=]*=)/.test(line.trim());
  });
  if (bad >= 0) return `line ${bad + 1} is neither [SECTION] nor KEY=VALUE in one`;
  const long = lines.findIndex((line) => Buffer.byteLength(line) > longestLine);
  return long < 0 ? undefined : `line ${long + 1} has more than ${longestLine} bytes`;
}

/**
 * Reports files that the Machine Config Daemon refuses (`file_writers.go`,
 * `validateIgn3FileModes`), and paths below a file: the first boot creates a folder for each parent
 * path, and fails where a file has that path.
 */
function checkStorage({ storage = {} }: Config, report: Report): void {
  const files = new Set((storage.files ?? []).map(({ path }) => path));
  for (const section of ['files', 'directories', 'links'] as const) {
    for (const [index, { path }] of (storage[section] ?? []).entries()) {
      const above = [...path.matchAll(/\//g)].map(({ index: end }) => path.slice(0, end));
      const file = above.find((one) => files.has(one));
      const at = `spec.config.storage.${section}[${index}].path`;
      if (file !== undefined)
        report('path-below-file', at, `${path} is below ${file}, which is a file`);
    }
  }
  for (const [index, { path, mode = 0 }] of (storage.directories ?? []).entries())
    if (mode < 0 || mode > 0o7777) {
      const at = `spec.config.storage.directories[${index}].mode`;
      report('file-mode', at, `${path}: mode ${mode} is not from 0 to 07777, in decimal 4095`);
    } else if (/^[67]\d\d$/.test(String(mode)))
      reportDecimal(path, mode, `spec.config.storage.directories[${index}].mode`, report);
  for (const [index, file] of (storage.files ?? []).entries())
    checkFile(file, `spec.config.storage.files[${index}]`, report);
}

const octalOf = (mode: number): string =>
  `0${mode} is ${Number.parseInt(String(mode), 8)} in decimal`;

/** Warns of a mode that every program accepts, and that was meant as octal. */
function reportDecimal(path: string, mode: number, at: string, report: Report): void {
  const what = `mode ${mode} is 0${mode.toString(8)} in octal; ${octalOf(mode)}`;
  report('file-mode', at, `${path}: ${what}`, 'warning');
}

/** The daemon skips its checks if this file exists (`constants.go`). */
const forceFile = '/run/machine-config-daemon-force';

function checkFile(file: File, at: string, report: Report): void {
  const { path, mode = 0, append = [], contents: { source } = {} } = file;
  // The operator sets overwrite (`MergeMachineConfigs`).
  if (source === undefined && append.length === 0 && file.overwrite !== false) {
    const what =
      'Ignition overwrites no file without contents.source; of an empty one it is "data:,"';
    report('no-content', at, `${path}: ${what}`);
  }
  if (append.length > 0) {
    const what = 'the Machine Config Daemon appends to no file: write a whole one of another name';
    report('append', `${at}.append`, `${path}: ${what}`);
  }
  checkMode(path, mode, `${at}.mode`, report);
  if (path === forceFile) {
    const what = 'no MachineConfig may write it: touch it on the node';
    report('force-file', `${at}.path`, `${path}: ${what}`);
  }
  if (source !== undefined && source !== '' && !isDataUrl(source)) {
    const what = 'the Machine Config Daemon fetches nothing: embed the content as a data URL';
    report('remote-content', `${at}.contents.source`, `${path}: ${what}`);
  }
}

function checkMode(path: string, mode: number, at: string, report: Report): void {
  if (mode < 0) report('file-mode', at, `${path}: mode ${mode} is below 0`);
  if ([400, 440, 444, 500].includes(mode)) reportDecimal(path, mode, at, report);
  if (mode > 0o777) {
    const isOctal = /^[0-7]{3,4}$/.test(String(mode));
    const meant = isOctal ? `; ${octalOf(mode)}` : '';
    const bits = `mode ${mode} is 0${mode.toString(8)} in octal and has special bits`;
    const what = `${bits}: 0777, in decimal 511, is the most${meant}`;
    report('file-mode', at, `${path}: ${what}`);
  }
}

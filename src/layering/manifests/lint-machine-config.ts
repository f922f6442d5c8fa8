import { Buffer } from 'node:buffer';
import * as z from 'zod';
import { lintConfig } from '../../ignition/parse.ts';
import { decodeResource, isDataUrl } from '../../ignition/resource.ts';
import type { Config, File } from '../../ignition/types.ts';
import { visitObjects } from '../../ignition/validate.ts';
import { AgentError } from '../../model/failure.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/fields.ts';
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
    osImageURL: Text,
    baseOSExtensionsContainerImage: Text,
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
  checkRead(() => kernelOf(textOf(spec['kernelType'])), 'spec.kernelType', report, 'kernel-type');
  for (const [index, name] of listOf(spec['extensions']).entries()) {
    const read = () => packagesOfExtensions([textOf(name)]);
    checkRead(read, `spec.extensions[${index}]`, report, 'extension');
  }
  if (isFields(spec['config'])) {
    const config = checkIgnition(spec['config'], 'spec.config.', report);
    if (config !== undefined) checkStorage(config, report);
  }
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
      const { code, message, context } = thrown as AgentError;
      if (['ignition.gzip', 'ignition.data-url'].includes(code) || context['actual'] !== undefined)
        report('content-invalid', `${before}${path}.source`, message);
    }
  });
  return config;
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
    }
  for (const [index, file] of (storage.files ?? []).entries())
    checkFile(file, `spec.config.storage.files[${index}]`, report);
}

/** The daemon skips its checks if this file exists (`constants.go`). */
const forceFile = '/run/machine-config-daemon-force';

function checkFile(file: File, at: string, report: Report): void {
  const { path, mode = 0, append = [], contents: { source = '' } = {} } = file;
  if (append.length > 0) {
    const what = 'the Machine Config Daemon appends to no file: write a whole one of another name';
    report('append', `${at}.append`, `${path}: ${what}`);
  }
  if (mode < 0) report('file-mode', `${at}.mode`, `${path}: mode ${mode} is below 0`);
  if (mode > 0o777) {
    const isOctal = /^[0-7]{3,4}$/.test(String(mode));
    const meant = isOctal ? `; 0${mode} is ${Number.parseInt(String(mode), 8)} in decimal` : '';
    const bits = `mode ${mode} is 0${mode.toString(8)} in octal and has special bits`;
    const what = `${bits}: 0777, in decimal 511, is the most${meant}`;
    report('file-mode', `${at}.mode`, `${path}: ${what}`);
  }
  if (path === forceFile) {
    const what = 'no MachineConfig may write it: touch it on the node';
    report('force-file', `${at}.path`, `${path}: ${what}`);
  }
  if (source !== '' && !isDataUrl(source)) {
    const what = 'the Machine Config Daemon fetches nothing: embed the content as a data URL';
    report('remote-content', `${at}.contents.source`, `${path}: ${what}`);
  }
}

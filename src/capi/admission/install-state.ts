import { Buffer } from 'node:buffer';
import { parseJson } from '../../ignition/json.ts';
import { type Fields, fieldsOf, textOf } from '../../layering/api/schema.ts';
import { readDocuments, type SourceObject } from '../../layering/api/source-object.ts';
import { decodeSource, isSourceFinding, type SourceFile } from '../../layering/api/source-text.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { findingAt, type InputFinding } from './finding.ts';
import { filesOfSecret } from './manifests.ts';

/** Keys of the Secret with what the installer starts from (openshift/installer, `pkg/asset/store`, `pkg/asset/installconfig`). */
export const installStateKeys = {
  config: 'install-config.yaml',
  state: '.openshift_install_state.json',
} as const;

/** What a control plane says of itself, for what must agree. */
export interface Agreeing {
  /** Name of the Cluster. */
  readonly cluster?: string;
  readonly replicas?: number;
}

/** What is read of an install-config. */
interface InstallConfigRead {
  readonly name: string;
  readonly replicas: number | undefined;
  readonly source: SourceObject;
  readonly file: string;
}

interface InstallStateRead {
  readonly findings: readonly InputFinding[];
  readonly config?: InstallConfigRead;
}

/**
 * What is wrong with a Secret of install-config, state, or both (R18). `Agreeing` is what the control plane says, where it is known
 * (R52).
 */
export function checkInstallState(
  secret: KubeObject,
  agreeing: Agreeing = {},
): readonly InputFinding[] {
  const { findings, config } = readInstallState(secret);
  if (config === undefined) return findings;
  const at = { secret: secret.metadata.name, file: config.file };
  const { place } = config.source;
  const { cluster, replicas } = agreeing;
  const differing: InputFinding[] = [];
  if (cluster !== undefined && config.name !== '' && config.name !== cluster) {
    const why = `metadata.name is ${config.name}, and the Cluster is called ${cluster}`;
    differing.push(findingAt(at, place(['metadata', 'name']), why));
  }
  if (replicas !== undefined && config.replicas !== undefined && config.replicas !== replicas) {
    const why = `controlPlane.replicas is ${config.replicas}, and the control plane has ${replicas}`;
    differing.push(findingAt(at, place(['controlPlane', 'replicas']), why));
  }
  return [...findings, ...differing];
}

function readInstallState(secret: KubeObject): InstallStateRead {
  const name = secret.metadata.name;
  const files = new Map(filesOfSecret(secret));
  const [config, state] = [files.get(installStateKeys.config), files.get(installStateKeys.state)];
  if (config === undefined && state === undefined) {
    const why = `the Secret has neither ${installStateKeys.config} nor ${installStateKeys.state}`;
    return { findings: [{ secret: name, why }] };
  }
  const nothing: InstallStateRead = { findings: [] };
  const ofState = state === undefined ? nothing : readState(name, state);
  const at = { secret: name, file: installStateKeys.config };
  const ofConfig = config === undefined ? nothing : readConfig(at, config);
  return { ...ofState, ...ofConfig, findings: [...ofState.findings, ...ofConfig.findings] };
}

function readConfig(
  at: { readonly secret: string; readonly file: string },
  bytes: Uint8Array,
): InstallStateRead {
  const text = decodeSource(at.file, bytes);
  const [read, second] = isSourceFinding(text)
    ? [text]
    : readDocuments(text, 'an install-config', { columns: true });
  if (read === undefined)
    return {
      findings: [findingAt(at, '', 'an install-config is expected, and the file is empty')],
    };
  if (isSourceFinding(read)) return { findings: [findingAt(at, read.place, read.problem)] };
  const findings = configFindings(read).map(([path, why]) => findingAt(at, read.place(path), why));
  if (second !== undefined) {
    const place = isSourceFinding(second) ? second.place : second.place([]);
    findings.push(findingAt(at, place, 'one document is expected'));
  }
  const replicas = fieldsOf(read.value['controlPlane'])['replicas'];
  return {
    findings,
    config: {
      ...{ name: textOf(fieldsOf(read.value['metadata'])['name']), source: read, file: at.file },
      // The installer takes 3 where it is not given (openshift/installer, `pkg/types/defaults`).
      replicas: replicas === undefined ? 3 : typeof replicas === 'number' ? replicas : undefined,
    },
  };
}

type Problem = readonly [path: readonly string[], why: string];

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function configFindings({ value }: SourceObject): readonly Problem[] {
  const problems: Problem[] = [];
  const { apiVersion, metadata, controlPlane, baseDomain, platform, pullSecret } = value;
  if (apiVersion !== 'v1') problems.push([['apiVersion'], 'apiVersion: v1 is expected']);
  if (!dnsLabel.test(textOf(fieldsOf(metadata)['name'])))
    problems.push([['metadata', 'name'], 'metadata.name is expected, the name of the cluster']);
  if (textOf(baseDomain) === '') problems.push([['baseDomain'], 'baseDomain is expected']);
  const { replicas = 3 } = fieldsOf(controlPlane);
  if (typeof replicas !== 'number' || ![1, 3, 4, 5].includes(replicas))
    problems.push([['controlPlane', 'replicas'], 'controlPlane.replicas must be 1, 3, 4 or 5']);
  if (Object.keys(fieldsOf(platform)).length !== 1)
    problems.push([['platform'], 'platform is expected, with one platform below it']);
  if (!isPullSecret(textOf(pullSecret)))
    problems.push([['pullSecret'], 'pullSecret is expected, JSON with auths']);
  return problems;
}

function isPullSecret(text: string): boolean {
  try {
    return 'auths' in fieldsOf(parseJson(text).value);
  } catch {
    return false;
  }
}

/** Key of the install-config among the assets in the state (openshift/installer, `pkg/asset/installconfig`). */
const configAsset = '*installconfig.InstallConfig';

function readState(secret: string, bytes: Uint8Array): InstallStateRead {
  const file = installStateKeys.state;
  let state: Fields;
  try {
    state = fieldsOf(parseJson(bytes).value);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const { line = 1, column = 1, problem = 'the file is empty' } = error.context;
    const why = `the state of the installer is JSON: ${String(problem)}`;
    return { findings: [{ secret, file, line: Number(line), column: Number(column), why }] };
  }
  if (Object.keys(state).length === 0)
    return {
      findings: [findingAt({ secret, file }, '', 'the state of the installer is an object')],
    };
  const text = configOfState(state);
  if (text === undefined) return { findings: [] };
  const { config } = readConfig({ secret, file }, text);
  // Its places are those of the text within the state.
  const source =
    config === undefined ? undefined : { ...config.source, place: () => `${file}:1:1` };
  return {
    findings: [],
    ...(config === undefined || source === undefined ? {} : { config: { ...config, source } }),
  };
}

const configOfState = (state: Fields): Buffer | undefined => {
  const data = textOf(fieldsOf(fieldsOf(state[configAsset])['file'])['Data']);
  return data === '' ? undefined : Buffer.from(data, 'base64');
};

/** The text of the install-config of a directory of the installer: its own, or that in the state, which remains once it is consumed. */
export function installConfigText(files: {
  readonly config?: string;
  readonly state?: string;
}): SourceFile | undefined {
  const { config, state } = files;
  if (config !== undefined) return { path: installStateKeys.config, text: config };
  if (state === undefined) return undefined;
  const text = configOfState(fieldsOf(parseJson(state).value));
  return text === undefined ? undefined : { path: installStateKeys.state, text: text.toString() };
}

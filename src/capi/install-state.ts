import { Buffer } from 'node:buffer';
import { parseJson } from '../ignition/json.ts';
import { type Fields, fieldsOf, textOf } from '../lib/fields.ts';
import { readDocuments, type SourceObject } from '../layering/api/source-object.ts';
import { decodeSource, isSourceFinding, type SourceFile } from '../layering/api/source-text.ts';
import { AgentError } from '../model/failure.ts';
import type { KubeObject } from '../ports/kube.ts';
import { filesOfSecret, findingAt, type InputFinding } from './manifests.ts';

/** How many masters a cluster may have; two need an arbiter or fencing, which are not offered. */
const masterCounts: readonly number[] = [1, 3, 4, 5];

/**
 * Keys of the Secret with what the installer starts from (openshift/installer, `pkg/asset/store`,
 * `pkg/asset/installconfig`).
 */
export const installStateKeys = {
  config: 'install-config.yaml',
  state: '.openshift_install_state.json',
} as const;

/** What a control plane says of itself, for what must agree. */
export interface Agreeing {
  /** Name of the Cluster. */
  readonly cluster?: string | undefined;
  readonly replicas?: number | undefined;
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
 * What is wrong with a Secret of install-config, state, or both. `Agreeing` is what the
 * control plane says, where it is known.
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
  const findings: InputFinding[] = configFindings(read).map(({ path, why, ...more }) => ({
    ...findingAt(at, read.place(path), why),
    ...more,
  }));
  if (second !== undefined) {
    const place = isSourceFinding(second) ? second.place : second.place([]);
    findings.push(findingAt(at, place, 'one document is expected'));
  }
  const replicas = fieldsOf(read.value['controlPlane'])['replicas'];
  return {
    findings,
    config: {
      name: textOf(fieldsOf(read.value['metadata'])['name']),
      source: read,
      file: at.file,
      // The installer takes 3 where it is not given (openshift/installer, `pkg/types/defaults`).
      replicas: replicas === undefined ? 3 : typeof replicas === 'number' ? replicas : undefined,
    },
  };
}

interface Problem {
  readonly path: readonly string[];
  readonly why: string;
  /** The installer has the last word. */
  readonly isWarning?: true;
}

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function configFindings({ value }: SourceObject): readonly Problem[] {
  const { apiVersion, metadata, controlPlane, baseDomain, platform, pullSecret } = value;
  const { replicas = 3 } = fieldsOf(controlPlane);
  const isCount = typeof replicas === 'number' && masterCounts.includes(replicas);
  const rules: readonly (readonly [isRight: boolean, problem: Problem])[] = [
    [apiVersion === 'v1', { path: ['apiVersion'], why: 'apiVersion: v1 is expected' }],
    [
      dnsLabel.test(textOf(fieldsOf(metadata)['name'])),
      { path: ['metadata', 'name'], why: 'metadata.name is expected, the name of the cluster' },
    ],
    [
      isCount,
      { path: ['controlPlane', 'replicas'], why: 'controlPlane.replicas must be 1, 3, 4 or 5' },
    ],
    [
      textOf(baseDomain) !== '',
      { path: ['baseDomain'], why: 'baseDomain is expected', isWarning: true },
    ],
    [
      Object.keys(fieldsOf(platform)).length === 1,
      {
        path: ['platform'],
        why: 'platform is expected, with one platform below it',
        isWarning: true,
      },
    ],
    [
      isPullSecret(textOf(pullSecret)),
      { path: ['pullSecret'], why: 'pullSecret is expected, JSON with auths', isWarning: true },
    ],
  ];
  return rules.flatMap(([isRight, problem]) => (isRight ? [] : [problem]));
}

function isPullSecret(text: string): boolean {
  try {
    return 'auths' in fieldsOf(parseJson(text));
  } catch {
    return false;
  }
}

/**
 * Key of the install-config among the assets in the state (openshift/installer,
 * `pkg/asset/installconfig`).
 */
const configAsset = '*installconfig.InstallConfig';

function readState(secret: string, bytes: Uint8Array): InstallStateRead {
  const file = installStateKeys.state;
  let state: Fields;
  try {
    state = fieldsOf(parseJson(bytes));
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
  if (config === undefined) return { findings: [] };
  // Its places are those of the text within the state.
  const source = { ...config.source, place: () => `${file}:1:1` };
  return { findings: [], config: { ...config, source } };
}

const configOfState = (state: Fields): Buffer | undefined => {
  const data = textOf(fieldsOf(fieldsOf(state[configAsset])['file'])['Data']);
  return data === '' ? undefined : Buffer.from(data, 'base64');
};

/**
 * The text of the install-config of a directory of the installer: its own, or that in the state,
 * which remains once it is consumed.
 */
export function installConfigText(files: {
  readonly config?: string | undefined;
  readonly state?: string | undefined;
}): SourceFile | undefined {
  const { config, state } = files;
  if (config !== undefined) return { path: installStateKeys.config, text: config };
  if (state === undefined) return undefined;
  const text = configOfState(fieldsOf(parseJson(state)));
  return text === undefined ? undefined : { path: installStateKeys.state, text: text.toString() };
}

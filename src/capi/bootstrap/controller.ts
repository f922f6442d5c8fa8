import { createHash } from 'node:crypto';
import { secrets as secretKind } from '../../kube/kinds.ts';
import { partOf, textAt } from '../../kube/object.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readFileContent } from '../../ignition/resource.ts';
import { AgentError } from '../../model/failure.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isRefused } from '../../ports/kube-failures.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Emit, type Note, notesOf } from '../../engine/events.ts';
import type { Controller } from '../../kube/manager.ts';
import { patchOf } from '../../kube/write.ts';
import {
  type BootstrapConfigStatus,
  capiNames,
  type OwnedMetadata,
  ownNames,
  tokenSecretName,
} from '../api.ts';
import { asConfig, lostAt, patchStatus, statusAfter, type StatusChange } from './status.ts';
import { machineIgnition, tokenPath } from './ignition.ts';
import type { Result } from '../../kube/queue.ts';
import { findCondition, isConditionTrue } from '../conditions.ts';
import {
  type BootstrapStores,
  configNameOf,
  configOwner,
  type ConfigView,
  configView,
  roleOf,
  tokenKeys,
} from './stores.ts';
import {
  isClusterPaused,
  isControlledBy,
  placed,
  refOf,
  refTo,
  secretData,
  secretValue,
} from '../objects.ts';
import { checkSpec, type InventoryAddress, Missing, readMachineInput } from './machine-input.ts';

interface BootstrapScope extends Pick<Ports, 'kube' | 'clock' | 'random'> {
  readonly stores: BootstrapStores;
  readonly address: InventoryAddress;
  readonly note: Note;
}

/** What the bootstrap provider runs with. */
export interface BootstrapOptions extends Pick<Ports, 'kube' | 'clock' | 'random'> {
  /** Followed by the controllers; the inventory reads them too. */
  readonly stores: BootstrapStores;
  readonly emit: Emit;
  /** Where hosts reach the inventory, without /api. */
  readonly inventoryUrl: string;
  /** PEM by which hosts trust it, read for each of them. */
  readonly ca?: InventoryAddress['ca'];
}

/**
 * The controllers of the bootstrap provider: each config gets its token, its data Secret, and its
 * conditions.
 */
export function bootstrapControllers({
  emit,
  inventoryUrl,
  ca,
  ...ports
}: BootstrapOptions): readonly Controller[] {
  const id = 'capi-bootstrap/prepare-hosts';
  const scope = { ...ports, address: { inventoryUrl, ca }, note: notesOf(emit, id) };
  const { stores } = ports;
  return [
    {
      id,
      title: 'Prepare hosts for their installation',
      idle: 'the configs are watched',
      about: (key) => `config ${key}`,
      reads: Object.values(stores),
      keys: () => stores.configs.all().map((config) => placed(config)),
      watch: (add) => {
        const addMachine = (machine: KubeObject | undefined): void => {
          if (machine !== undefined) add(placed(machine, configNameOf(machine)));
        };
        const addCluster = (cluster: KubeObject | undefined): void => {
          if (cluster === undefined) return;
          for (const machine of stores.machines.by('cluster', placed(cluster))) addMachine(machine);
        };
        stores.configs.onChange(({ before, after = before }) => {
          if (after !== undefined) add(placed(after));
        });
        stores.machines.onChange(({ after }) => addMachine(after));
        stores.clusters.onChange(({ after }) => addCluster(after));
        stores.tokens.onChange(({ before, after }) => {
          if (before === undefined || after !== undefined) return;
          const { ownerReferences = [] }: Partial<OwnedMetadata> = before.metadata;
          for (const { name } of ownerReferences) add(placed(before, name));
        });
        stores.controlPlanes.onChange(({ after }) => {
          if (after === undefined) return;
          for (const one of stores.clusters.by('controlPlane', placed(after))) addCluster(one);
        });
      },
      reconcile: (key, signal) => reconcile(scope, refOf(key), signal),
    },
  ];
}

/**
 * One pass over a config, by what the stores show. Each write names what it was decided on: the API
 * server refuses it where that has changed, and the config is decided again.
 */
async function reconcile(
  scope: BootstrapScope,
  { name, namespace }: ReturnType<typeof refOf>,
  signal: AbortSignal,
): Promise<Result> {
  const { kube, stores, clock, note } = scope;
  const object = stores.configs.get(name, namespace);
  const view = object && configView(asConfig(object), stores);
  if (view === undefined || view.config.metadata.deletionTimestamp !== undefined) return {};
  const { config } = view;
  const change = await changeOf(scope, view, signal);
  const status = statusAfter(config, change, clock.now());
  await patchStatus(kube, config, status, signal);
  if (change.dataSecretName !== undefined && config.status?.initialization === undefined)
    note('info', `config ${name}: its host may boot`, { namespace, role: roleOf(view.machine) });
  const after = change.dataSecret === undefined ? timeUntil(lostAt(status), clock) : readAgainAfter;
  return { after, status: waitingFor(name, status) };
}

/** Does what is due for a config, and says what its status is to be given. */
async function changeOf(
  scope: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<StatusChange> {
  const { config, cluster, machine } = view;
  const { name, namespace, uid } = config.metadata;
  if (isClusterPaused(cluster, config)) return { isPaused: true };
  const token = scope.stores.tokens.get(tokenSecretName(name), namespace);
  if (config.status?.progress?.stage === 'Done') {
    if (token !== undefined && isControlledBy(token, uid))
      await scope.kube.remove({ ...refTo(secretKind, token), uid: token.metadata.uid }, signal);
    return {};
  }
  if (token !== undefined && isPrepared(view)) return {};
  const made = await prepare(scope, view, signal);
  return { role: roleOf(machine), hostID: uid ?? '', ...made };
}

/** Secrets of users are not followed: what is missing of them is looked for this often. */
const readAgainAfter = seconds(10);

/** Nothing changes with time alone any more, once a host is lost. */
const timeUntil = (at: number | undefined, clock: Clock): Millis | undefined =>
  at === undefined || at <= clock.now() ? undefined : at - clock.now();

function waitingFor(name: string, { conditions }: BootstrapConfigStatus): string | undefined {
  const condition = findCondition(conditions, 'DataSecretAvailable');
  if (condition === undefined || condition.status === 'True') return undefined;
  return `${name}: ${condition.reason}`;
}

/** Whether what the host boots with says what the config does now. */
function isPrepared({ config: { status = {}, metadata }, machine }: ConfigView): boolean {
  const isMade = status.initialization?.dataSecretCreated === true;
  const isCurrent =
    status.observedGeneration === metadata.generation && status.role === roleOf(machine);
  return isMade && isCurrent && isConditionTrue(status.conditions, 'DataSecretAvailable');
}

/**
 * Makes what a host boots with, or says what is missing. What a host may have read already stays.
 */
async function prepare(
  scope: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<Pick<StatusChange, 'dataSecret' | 'dataSecretName'>> {
  const { config, machine, cluster } = view;
  const { name, namespace = '' } = config.metadata;
  const existing = await scope.kube.get({ kind: secretKind, namespace, name }, signal);
  try {
    if (existing !== undefined && !isControlledBy(existing, config.metadata.uid)) throw taken(name);
    if (existing !== undefined && isProvisioned(machine)) {
      await ensureToken(scope, view, existing, signal);
      return { dataSecretName: name };
    }
    if (!hasInfrastructure(cluster)) throw new Missing('WaitingForClusterInfrastructure', '');
    checkSpec(config.spec);
    const token = await ensureToken(scope, view, existing, signal);
    const value = await valueOf(scope, view, token, signal);
    await ensureData(scope.kube, view, existing, value, signal);
    return { dataSecretName: name };
  } catch (error) {
    if (error instanceof Missing) return { dataSecret: error.verdict };
    if (!isRefused(error)) throw error;
    return { dataSecret: { reason: 'SecretFailed', message: error.message } };
  }
}

/** Whether the infrastructure of a Cluster, or of a Machine, is there. */
const hasInfrastructure = (object: KubeObject): boolean =>
  partOf(object, 'status', 'initialization', 'infrastructureProvisioned') === true;

/**
 * Whether a host may have read its data. A status is not moved with its cluster (clusterctl), a
 * spec is.
 */
const isProvisioned = (machine: KubeObject): boolean =>
  hasInfrastructure(machine) || textAt(machine, 'spec', 'providerID') !== '';

/**
 * The bootstrap data of a host.
 * @throws Missing
 */
async function valueOf(
  { kube, address, stores }: BootstrapScope,
  view: ConfigView,
  token: string,
  signal: AbortSignal,
): Promise<string> {
  const machines = new Set(
    stores.machines.by('cluster', placed(view.cluster)).map(({ metadata }) => metadata.name),
  );
  const input = await readMachineInput({ kube, view, machines, signal }, address, token);
  try {
    const value = machineIgnition(input);
    const size = Buffer.byteLength(value);
    if (size <= largestValue) return value;
    throw new Missing('IgnitionTooLarge', `${size} bytes; a Secret takes ${largestValue}`);
  } catch (error) {
    // Findings name places, and never quote content.
    if (!(error instanceof AgentError) || !error.code.startsWith('ignition.')) throw error;
    throw new Missing('InvalidIgnitionOverride', error.message);
  }
}

/** A Secret holds 1 MiB in all (kubernetes, MaxSecretSize); the rest is for its other key. */
const largestValue = 1024 * 1024 - 1024;

const taken = (name: string): Missing =>
  new Missing('SecretNameTaken', `Secret ${name} belongs to something else`);

/** A Secret that goes with its config. */
function secretFor(
  { config, cluster }: ConfigView,
  {
    name,
    type,
    labels = {},
  }: { readonly name: string; readonly type: string; readonly labels?: object },
  data: Readonly<Record<string, string>>,
): KubeObject {
  const { namespace = '' } = config.metadata;
  const metadata = {
    name,
    namespace,
    ownerReferences: configOwner(config),
    labels: { [capiNames.clusterName]: cluster.metadata.name, ...labels },
  };
  return { apiVersion: 'v1', kind: 'Secret', type, metadata, data: secretData(data) };
}

/** The hash by which a token is known, as it lies in a Secret. */
export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/**
 * Makes the Secret with the token of a host, with that which the host was given where there is one.
 */
async function ensureToken(
  { kube, random }: BootstrapScope,
  view: ConfigView,
  existing: KubeObject | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { namespace = '', uid } = view.config.metadata;
  const name = tokenSecretName(view.config.metadata.name);
  const ref = { kind: secretKind, namespace, name };
  const found = await kube.get(ref, signal);
  if (found !== undefined) {
    const token = secretValue(found, tokenKeys.token);
    if (isControlledBy(found, uid) && token !== undefined) return token;
    throw taken(name);
  }
  const given = givenToken(view, existing);
  // One that nobody has read would let nobody in.
  if (given === undefined && existing !== undefined && isProvisioned(view.machine)) return '';
  const token = given ?? Buffer.from(random.bytes(32)).toString('base64url');
  const labels = { [ownNames.agentToken]: '' };
  const data = { [tokenKeys.token]: token, [tokenKeys.hash]: hashOfToken(token) };
  const secret = secretFor(view, { name, type: 'Opaque', labels }, data);
  await kube.create({ ...ref, denials: 'final' }, secret, signal);
  return token;
}

/**
 * The token in the data of a host; undefined where it is not ours, or of a host whose cluster was
 * moved: it has another id here.
 */
function givenToken({ config }: ConfigView, data: KubeObject | undefined): string | undefined {
  const value = (data && secretValue(data, 'value')) ?? '';
  const isOwn = config.spec.inventory?.mode !== 'External';
  if (!isOwn || !value.includes(config.metadata.uid ?? '')) return undefined;
  try {
    return Buffer.from(readFileContent(parseValidConfig(value), tokenPath)).toString();
  } catch {
    return undefined;
  }
}

async function ensureData(
  kube: Ports['kube'],
  view: ConfigView,
  existing: KubeObject | undefined,
  value: string,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '' } = view.config.metadata;
  const ref = { kind: secretKind, namespace, name };
  // Infrastructure providers read by the second key what kind of data it is (Cluster API, kubeadm's
  // provider).
  const data = { value, format: 'ignition' };
  if (existing === undefined) {
    const secret = secretFor(view, { name, type: capiNames.secretType }, data);
    await kube.create({ ...ref, denials: 'final' }, secret, signal);
  } else if (secretValue(existing, 'value') !== value) {
    await kube.patch(ref, patchOf(existing, { data: secretData(data) }), signal);
  }
}

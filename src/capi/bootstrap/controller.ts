import { createHash } from 'node:crypto';
import { type Emit, type Note, notesOf } from '../../engine/events.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readFileContent } from '../../ignition/resource.ts';
import { secrets as secretKind } from '../../kube/kinds.ts';
import type { Controller } from '../../kube/manager.ts';
import { partOf, patchOf, textAt } from '../../kube/object.ts';
import type { Result } from '../../kube/queue.ts';
import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isRefused } from '../../ports/kube-failures.ts';
import type { Ports } from '../../ports/ports.ts';
import {
  type BootstrapConfig,
  capiNames,
  type OwnedMetadata,
  ownNames,
  tokenSecretName,
} from '../api.ts';
import { failedCheck, findCondition, isConditionTrue } from '../conditions.ts';
import {
  coreOwner,
  isClusterPaused,
  isControlledBy,
  objectKey,
  refOf,
  refTo,
  secretData,
  secretText,
} from '../objects.ts';
import { machineIgnition, tokenPath } from './ignition.ts';
import { Missing, readMachineInput, requireLabels } from './machine-input.ts';
import { asConfig, lostAt, patchStatus, statusAfter, type StatusChange } from './status.ts';
import {
  type BootstrapStores,
  configNameOf,
  configOwner,
  type ConfigView,
  configView,
  tokenKeys,
} from './stores.ts';

interface BootstrapScope extends Pick<Ports, 'kube' | 'clock' | 'random'> {
  /** Stores that the controller follows and the inventory reads. */
  readonly stores: BootstrapStores;
  readonly note: Note;
  /** URL of the inventory for hosts, without /api. */
  readonly inventoryUrl: string;
  /**
   * Reads the PEM by which hosts trust the inventory, again for each host; undefined if the
   * authorities of the host's own system are enough.
   */
  readonly ca?: (() => Promise<string | undefined>) | undefined;
}

/** Options of the bootstrap provider. */
export interface BootstrapOptions extends Omit<BootstrapScope, 'note'> {
  readonly emit: Emit;
}

/**
 * The controller of the bootstrap provider: makes the token, the data Secret and the conditions of
 * each config.
 */
export function bootstrapControllers({
  emit,
  ...options
}: BootstrapOptions): readonly Controller[] {
  const id = 'capi-bootstrap/prepare-hosts';
  const scope = { ...options, note: notesOf(emit, id) };
  const { stores } = options;
  return [
    {
      id,
      title: 'Prepare hosts for their installation',
      idle: 'the configs are watched',
      about: (key) => `config ${key}`,
      reads: Object.values(stores),
      keys: () => stores.configs.all().map((config) => objectKey(config)),
      watch: (add) => {
        const addCluster = (cluster: KubeObject | undefined): void => {
          if (cluster === undefined) return;
          for (const machine of stores.machines.by('cluster', objectKey(cluster)))
            add(objectKey(machine, configNameOf(machine)));
        };
        stores.configs.onChange(({ before, after = before }) => {
          if (after !== undefined) add(objectKey(after));
        });
        stores.machines.onChange(({ after }) => {
          if (after !== undefined) add(objectKey(after, configNameOf(after)));
        });
        stores.clusters.onChange(({ after }) => addCluster(after));
        stores.controlPlanes.onChange(({ after }) => {
          const { name = '' } = (after && coreOwner(after.metadata, 'Cluster')) ?? {};
          addCluster(stores.clusters.get(name, after?.metadata.namespace));
        });
        stores.tokens.onChange(({ before, after }) => {
          if (before === undefined || after !== undefined) return;
          const { ownerReferences = [] }: Partial<OwnedMetadata> = before.metadata;
          for (const { name } of ownerReferences) add(objectKey(before, name));
        });
      },
      reconcile: (key, signal) => reconcile(scope, key, signal),
    },
  ];
}

/**
 * Interval of the search for a missing Secret of a user, as the provider does not watch such
 * Secrets.
 */
const readAgainAfter = seconds(10);

/**
 * One pass over a config, by the informers. Each write names the resourceVersion of its decision:
 * if the object has changed since, the API server refuses the write, and the next pass decides
 * again.
 */
async function reconcile(scope: BootstrapScope, key: string, signal: AbortSignal): Promise<Result> {
  const { kube, stores, clock, note } = scope;
  const { name, namespace } = refOf(key);
  const object = stores.configs.get(name, namespace);
  const view = object && configView(asConfig(object), stores);
  if (view === undefined || view.config.metadata.deletionTimestamp !== undefined) return {};
  const { config, role } = view;
  const change = await changeOf(scope, view, signal);
  const status = statusAfter(config, change, clock.now());
  await patchStatus(kube, config, status, signal);
  if (change.dataSecretName !== undefined && config.status?.initialization === undefined)
    note('info', `config ${name}: its host may boot`, { namespace, role });
  const condition = findCondition(status.conditions, 'DataSecretAvailable');
  // Once a host is lost, time alone changes nothing more.
  const untilLost = (lostAt(status) ?? 0) - clock.now();
  return {
    after: change.dataSecret ? readAgainAfter : untilLost > 0 ? untilLost : undefined,
    status: condition?.status === 'False' ? `${name}: ${condition.reason}` : undefined,
  };
}

/** Does the due work for a config; resolves with the change of its status. */
async function changeOf(
  scope: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<StatusChange> {
  const { config, cluster, role } = view;
  const { metadata, status = {} } = config;
  if (isClusterPaused(cluster, config)) return { isPaused: true };
  const token = scope.stores.tokens.get(tokenSecretName(metadata.name), metadata.namespace);
  if (status.progress?.stage === 'Done') {
    if (token !== undefined && isControlledBy(token, metadata.uid))
      await scope.kube.remove({ ...refTo(secretKind, token), uid: token.metadata.uid }, signal);
    return {};
  }
  if (token !== undefined && isPrepared(view)) return {};
  const change = { role, hostID: metadata.uid ?? '' };
  try {
    await prepare(scope, view, signal);
    return { ...change, dataSecretName: metadata.name };
  } catch (error) {
    if (error instanceof Missing)
      return { ...change, dataSecret: failedCheck(error.reason, error.message) };
    if (!isRefused(error)) throw error;
    return { ...change, dataSecret: failedCheck('SecretFailed', error.message) };
  }
}

/** Whether the data of the host was made from the present config. */
const isPrepared = ({ config: { status = {}, metadata }, role }: ConfigView): boolean =>
  status.initialization?.dataSecretCreated === true &&
  status.observedGeneration === metadata.generation &&
  status.role === role &&
  isConditionTrue(status.conditions, 'DataSecretAvailable');

/**
 * Makes the Secrets of a host. Does not replace data that a host may have read.
 * @throws Missing
 */
async function prepare(
  scope: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<void> {
  const { kube } = scope;
  const { config, machine, cluster } = view;
  const { name, namespace = '', uid } = config.metadata;
  const ref = { kind: secretKind, namespace, name };
  const existing = await kube.get(ref, signal);
  if (existing !== undefined && !isControlledBy(existing, uid)) throw secretNameTaken(name);
  const given = existing && givenToken(config, existing);
  // clusterctl moves the spec of an object with its cluster, but not its status.
  const isProvisioned = hasInfrastructure(machine) || textAt(machine, 'spec', 'providerID') !== '';
  if (existing !== undefined && isProvisioned) {
    if (given !== undefined) await ensureToken(scope, view, given, signal);
    return;
  }
  if (!hasInfrastructure(cluster)) throw new Missing('WaitingForClusterInfrastructure', '');
  requireLabels(config.spec);
  const random = Buffer.from(scope.random.bytes(32)).toString('base64url');
  const token = await ensureToken(scope, view, given ?? random, signal);
  const value = await valueOf(scope, view, token, signal);
  // Infrastructure providers read the format of the data from the second key (Cluster API,
  // kubeadm's provider).
  const data = { value, format: 'ignition' };
  if (existing === undefined) {
    const secret = secretFor(view, name, capiNames.secretType, {}, data);
    await kube.create({ ...ref, denials: 'final' }, secret, signal);
  } else if (secretText(existing, 'value') !== value)
    await kube.patch(ref, patchOf(existing, { data: secretData(data) }), signal);
}

/** Whether the infrastructure of a Cluster, or of a Machine, is provisioned. */
const hasInfrastructure = (object: KubeObject): boolean =>
  partOf(object, 'status', 'initialization', 'infrastructureProvisioned') === true;

const secretNameTaken = (name: string): Missing =>
  new Missing('SecretNameTaken', `Secret ${name} belongs to something else`);

/** The hash of a token; it identifies the token and is stored in a Secret. */
export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/**
 * The token of a host from its Secret. If the Secret is missing, makes it with the given token.
 * @throws Missing
 */
async function ensureToken(
  { kube }: BootstrapScope,
  view: ConfigView,
  given: string,
  signal: AbortSignal,
): Promise<string> {
  const { namespace = '', uid } = view.config.metadata;
  const name = tokenSecretName(view.config.metadata.name);
  const ref = { kind: secretKind, namespace, name };
  const found = await kube.get(ref, signal);
  if (found !== undefined) {
    const token = secretText(found, tokenKeys.token);
    if (isControlledBy(found, uid) && token !== undefined) return token;
    throw secretNameTaken(name);
  }
  const data = { [tokenKeys.token]: given, [tokenKeys.hash]: hashOfToken(given) };
  const secret = secretFor(view, name, 'Opaque', { [ownNames.agentToken]: '' }, data);
  await kube.create({ ...ref, denials: 'final' }, secret, signal);
  return given;
}

/** A Secret that the garbage collector removes with its config. */
function secretFor(
  { config, cluster }: ConfigView,
  name: string,
  type: string,
  labels: Readonly<Record<string, string>>,
  data: Readonly<Record<string, string>>,
): KubeObject {
  const metadata = {
    name,
    namespace: config.metadata.namespace ?? '',
    ownerReferences: configOwner(config),
    labels: { [capiNames.clusterName]: cluster.metadata.name, ...labels },
  };
  return { apiVersion: 'v1', kind: 'Secret', type, metadata, data: secretData(data) };
}

/**
 * The token in the data of a host. Undefined if the data is not from this provider, or if the
 * host's cluster was moved: the host has another id here.
 */
function givenToken({ spec, metadata }: BootstrapConfig, data: KubeObject): string | undefined {
  const value = secretText(data, 'value') ?? '';
  const isOwn = spec.inventory?.mode !== 'External';
  if (!isOwn || !value.includes(metadata.uid ?? '')) return undefined;
  try {
    return Buffer.from(readFileContent(parseValidConfig(value), tokenPath)).toString();
  } catch {
    return undefined;
  }
}

/** A Secret holds 1 MiB in all (kubernetes, MaxSecretSize); its other key needs the rest. */
const largestValue = 1024 * 1024 - 1024;

/**
 * The bootstrap data of a host.
 * @throws Missing
 */
async function valueOf(
  { kube, inventoryUrl, ca, stores }: BootstrapScope,
  view: ConfigView,
  token: string,
  signal: AbortSignal,
): Promise<string> {
  const machines = new Set(
    stores.machines.by('cluster', objectKey(view.cluster)).map(({ metadata }) => metadata.name),
  );
  const own = { inventoryUrl, inventoryCa: await ca?.(), token };
  const input = await readMachineInput({ kube, view, machines, signal }, own);
  let value: string;
  try {
    value = machineIgnition(input);
  } catch (error) {
    // These findings name places and never quote content.
    if (!(error instanceof AgentError) || !error.code.startsWith('ignition.')) throw error;
    throw new Missing('InvalidIgnitionOverride', error.message);
  }
  const size = Buffer.byteLength(value);
  if (size <= largestValue) return value;
  throw new Missing('IgnitionTooLarge', `${size} bytes; a Secret takes ${largestValue}`);
}

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { secrets as secretKind } from '../../cluster/kinds.ts';
import { partOf } from '../../layering/api/cluster-object.ts';
import { AgentError } from '../../model/failure.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Controller, type Emit, notesOf } from '../../reconcile/manager.ts';
import { type Note, patchOf, readAgain } from '../../reconcile/write.ts';
import {
  bootstrapConfigs,
  capiNames,
  clusters,
  controlPlanes,
  machines,
  ownNames,
  tokenSecretName,
} from '../api.ts';
import {
  asConfig,
  type DataSecretVerdict,
  statusAfter,
  type StatusChange,
  writeStatus,
} from './conditions.ts';
import { bytesIn, type InventoryAddress, readInputs, specVerdict, textIn } from './inputs.ts';
import { machineIgnition } from './machine-ignition.ts';
import { lostAt } from './progress.ts';
import {
  type BootstrapStores,
  configNameOf,
  type ConfigView,
  controlPlaneNameOf,
  type Find,
  isControlledBy,
  isPaused,
  machineNameOf,
  ownedBy,
  placed,
  roleOf,
  storedParts,
  tokenKeys,
  viewOf,
} from './stores.ts';

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
  /** PEM by which hosts trust it. */
  readonly ca?: string | undefined;
}

/** The controllers of the bootstrap provider: each config gets its token, its data Secret, and its conditions. */
export function bootstrapControllers({
  emit,
  inventoryUrl,
  ca,
  ...ports
}: BootstrapOptions): readonly Controller[] {
  const id = 'capi-bootstrap/prepare-hosts';
  const scope = { ...ports, address: { inventoryUrl, ca }, note: notesOf(emit, id) };
  const { stores } = ports;
  const keyOf = (config: KubeObject): string => placed(config, config.metadata.name);
  return [
    {
      ...{ id, title: 'Prepare hosts for their installation', idle: 'the configs are watched' },
      about: (key) => `config ${key}`,
      reads: Object.values(stores),
      keys: () => stores.configs.all().map(keyOf),
      watch: (add) => {
        const addMachine = (machine: KubeObject | undefined): void => {
          if (machine !== undefined) add(placed(machine, configNameOf(machine)));
        };
        const addCluster = (cluster: KubeObject | undefined): void => {
          if (cluster === undefined) return;
          const key = placed(cluster, cluster.metadata.name);
          for (const machine of stores.machines.by('cluster', key)) addMachine(machine);
        };
        stores.configs.onChange(({ before, after }) => add(keyOf((after ?? before) as KubeObject)));
        stores.machines.onChange(({ before, after }) => [before, after].forEach(addMachine));
        stores.clusters.onChange(({ after }) => addCluster(after));
        stores.controlPlanes.onChange(({ after }) => {
          if (after === undefined) return;
          const key = placed(after, after.metadata.name);
          for (const cluster of stores.clusters.by('controlPlane', key)) addCluster(cluster);
        });
      },
      reconcile: async (key, signal) => {
        const [namespace = '', name = ''] = key.split('/');
        return reconcile(scope, { kind: bootstrapConfigs, namespace, name }, signal);
      },
    },
  ];
}

async function reconcile(scope: BootstrapScope, ref: KubeRef, signal: AbortSignal) {
  const { stores, clock } = scope;
  const object = stores.configs.get(ref.name, ref.namespace);
  const seen = object && viewOf(asConfig(object), storedParts(stores));
  if (seen === undefined || seen.config.metadata.deletionTimestamp !== undefined) return {};
  const due = workOf(seen, { now: clock.now(), hasToken: tokenOf(stores, seen) !== undefined });
  if (due.work !== 'none') {
    const again = await readView(scope.kube, seen, signal);
    const work = again && workOf(again, { now: clock.now(), hasToken: true }).work;
    if (again !== undefined && work !== undefined)
      await perform(scope, { view: again, work, ref }, signal);
  }
  const at = lostAt(seen.config.status ?? {});
  const status = waitingFor(seen);
  return {
    ...(at === undefined ? {} : { after: Math.max(at - clock.now(), 1000) }),
    ...(status === undefined ? {} : { status }),
  };
}

function waitingFor({ config }: ConfigView): string | undefined {
  const condition = config.status?.conditions?.find(({ type }) => type === 'DataSecretAvailable');
  if (condition === undefined || condition.status === 'True') return undefined;
  return `${config.metadata.name}: ${condition.reason}`;
}

/** What is to be done for a config. */
type Work = 'none' | 'pause' | 'prepare' | 'derive' | 'revoke';

/** Decides what is to be done for a config; nothing as long as its status says what follows from all else. */
export function workOf(
  view: ConfigView,
  { now, hasToken }: { readonly now: number; readonly hasToken: boolean },
): { readonly work: Work } {
  const { config, machine } = view;
  const { status = {}, metadata } = config;
  const isSame = (change: StatusChange): boolean =>
    isDeepStrictEqual(statusAfter(config, change, now), status);
  if (isPaused(view)) return { work: isSame({ isPaused: true }) ? 'none' : 'pause' };
  if (status.progress?.stage === 'Done')
    return { work: hasToken ? 'revoke' : isSame({}) ? 'none' : 'derive' };
  const isMade =
    status.initialization?.dataSecretCreated === true &&
    status.observedGeneration === metadata.generation &&
    status.role === roleOf(machine) &&
    status.conditions?.some(
      ({ type, status: is }) => type === 'DataSecretAvailable' && is === 'True',
    ) === true;
  if (!isMade) return { work: 'prepare' };
  return { work: isSame({}) ? 'none' : 'derive' };
}

const tokenOf = (stores: BootstrapStores, { config }: ConfigView): KubeObject | undefined =>
  stores.tokens.get(tokenSecretName(config.metadata.name), config.metadata.namespace);

/** The same view by requests of its own, right before something is written. */
async function readView(
  kube: Pick<Kube, 'get'>,
  seen: ConfigView,
  signal: AbortSignal,
): Promise<ConfigView | undefined> {
  const { name, namespace = '' } = seen.config.metadata;
  const ref = { kind: bootstrapConfigs, namespace, name };
  const config = await readAgain(kube, { ref, seen: seen.config }, signal);
  if (config === undefined || config.metadata.deletionTimestamp !== undefined) return undefined;
  const get = (kind: KubeRef['kind'], of: string): Promise<KubeObject | undefined> =>
    of === '' ? Promise.resolve(undefined) : kube.get({ kind, namespace, name: of }, signal);
  const [machine, cluster, controlPlane] = await Promise.all([
    get(machines, machineNameOf(asConfig(config)) ?? ''),
    get(clusters, seen.cluster.metadata.name),
    get(controlPlanes, controlPlaneNameOf(seen.cluster)),
  ]);
  const found: Find = {
    machine: () => machine,
    cluster: () => cluster,
    controlPlane: () => controlPlane,
  };
  return viewOf(asConfig(config), found);
}

interface Doing {
  readonly view: ConfigView;
  readonly work: Work;
  readonly ref: KubeRef;
}

async function perform(scope: BootstrapScope, { view, work, ref }: Doing, signal: AbortSignal) {
  const { kube, clock, note } = scope;
  const { config } = view;
  const { name, namespace = '' } = config.metadata;
  const write = (change: StatusChange): Promise<void> =>
    writeStatus(
      kube,
      { ref, seen: config, change: (now) => statusAfter(now, change, clock.now()) },
      signal,
    );
  switch (work) {
    case 'none':
      return;
    case 'pause':
      return write({ isPaused: true });
    case 'revoke': {
      const token = tokenOf(scope.stores, view);
      const at = { kind: secretKind, namespace, name: tokenSecretName(name) };
      if (token !== undefined && isControlledBy(token, config))
        await kube.remove({ ...at, uid: token.metadata.uid }, signal);
      return write({});
    }
    case 'derive':
      return write({});
    case 'prepare': {
      const outcome = await prepare(scope, view, signal);
      const known = { role: roleOf(view.machine), hostID: config.metadata.uid ?? '' };
      if ('reason' in outcome) return write({ ...known, dataSecret: outcome });
      await write({ ...known, dataSecretName: outcome.name });
      if (config.status?.initialization?.dataSecretCreated !== true)
        note('info', `config ${name}: its host may boot`, { namespace, role: known.role });
    }
  }
}

const isTrue = (object: KubeObject, ...path: readonly string[]): boolean =>
  partOf(object, 'status', ...path) === true;

/** Makes what a host boots with, or says what is missing. What a host may have read already stays. */
async function prepare(
  scope: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<DataSecretVerdict | { readonly name: string }> {
  const { kube } = scope;
  const { config, machine, cluster } = view;
  const { name, namespace = '' } = config.metadata;
  const existing = await kube.get({ kind: secretKind, namespace, name }, signal);
  if (existing !== undefined && !isControlledBy(existing, config)) return taken(name);
  const isRead = isTrue(machine, 'initialization', 'infrastructureProvisioned');
  if (isRead && existing !== undefined) return { name };
  if (!isTrue(cluster, 'initialization', 'infrastructureProvisioned'))
    return { reason: 'WaitingForClusterInfrastructure', message: '' };
  const wrong = specVerdict(config.spec);
  if (wrong !== undefined) return wrong;
  const token = await ensureToken(scope, view, signal);
  if (typeof token !== 'string') return token;
  const read = await readInputs({ kube, view, signal }, { address: scope.address, token });
  if ('missing' in read) return read.missing;
  let value: string;
  try {
    value = machineIgnition(read.input);
  } catch (error) {
    // Findings name places, and never quote content.
    if (!(error instanceof AgentError) || !error.code.startsWith('ignition.')) throw error;
    return { reason: 'InvalidIgnitionOverride', message: error.message };
  }
  if (value.length > largestValue)
    return {
      reason: 'IgnitionTooLarge',
      message: `${value.length} bytes; a Secret takes ${largestValue}`,
    };
  return ensureData(scope, { view, existing, value }, signal);
}

/** A Secret holds 1 MiB in all (kubernetes, MaxSecretSize); the rest is for its other key. */
const largestValue = 1024 * 1024 - 1024;

const taken = (name: string): DataSecretVerdict => ({
  reason: 'SecretNameTaken',
  message: `Secret ${name} belongs to something else`,
});

const encoded = (data: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );

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
    ...{ name, namespace, ownerReferences: ownedBy(config) },
    labels: { [capiNames.clusterName]: cluster.metadata.name, ...labels },
  };
  return { apiVersion: 'v1', kind: 'Secret', type, metadata, data: encoded(data) };
}

/** The hash by which a token is known, as it lies in a Secret. */
export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

async function ensureToken(
  { kube, random }: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<string | DataSecretVerdict> {
  const { namespace = '' } = view.config.metadata;
  const name = tokenSecretName(view.config.metadata.name);
  const ref = { kind: secretKind, namespace, name };
  const found = await kube.get(ref, signal);
  if (found !== undefined) {
    const token = textIn(found, tokenKeys.token);
    return isControlledBy(found, view.config) && token !== undefined ? token : taken(name);
  }
  const token = Buffer.from(random.bytes(32)).toString('base64url');
  const labels = { [ownNames.agentToken]: '' };
  const data = { [tokenKeys.token]: token, [tokenKeys.hash]: hashOfToken(token) };
  await kube.create(ref, secretFor(view, { name, type: 'Opaque', labels }, data), signal);
  return token;
}

async function ensureData(
  { kube }: BootstrapScope,
  {
    view,
    existing,
    value,
  }: {
    readonly view: ConfigView;
    readonly existing: KubeObject | undefined;
    readonly value: string;
  },
  signal: AbortSignal,
): Promise<{ readonly name: string }> {
  const { name, namespace = '' } = view.config.metadata;
  const ref = { kind: secretKind, namespace, name };
  // Infrastructure providers read by the second key what kind of data it is (Cluster API, kubeadm's provider).
  const data = { value, format: 'ignition' };
  if (existing === undefined) {
    await kube.create(ref, secretFor(view, { name, type: capiNames.secretType }, data), signal);
  } else if (bytesIn(existing, 'value')?.toString() !== value) {
    await kube.patch(ref, patchOf(existing, { data: encoded(data) }), signal);
  }
  return { name };
}

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { secrets as secretKind } from '../../cluster/kinds.ts';
import { partOf, textAt } from '../../layering/api/cluster-object.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readFileContent } from '../../ignition/resource.ts';
import { AgentError } from '../../model/failure.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube, KubeObject, KubeRef } from '../../ports/kube.ts';
import { isRefused } from '../../ports/kube-failures.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Emit, type Note, notesOf } from '../../engine/events.ts';
import type { Controller } from '../../reconcile/manager.ts';
import { patchOf, readAgain } from '../../reconcile/write.ts';
import {
  assetKeys,
  assetsSecretName,
  type BootstrapConfig,
  bootstrapConfigs,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
  type OwnedMetadata,
  ownNames,
  tokenSecretName,
} from '../api.ts';
import {
  asConfig,
  type DataSecretVerdict,
  lostAt,
  statusAfter,
  type StatusChange,
  writeStatus,
} from './status.ts';
import { machineIgnition, type MachineInput, tokenPath } from './ignition.ts';
import type { Result } from '../../reconcile/queue.ts';
import { findCondition, isConditionTrue } from '../conditions.ts';
import {
  type BootstrapStores,
  configNameOf,
  configOwner,
  type ConfigView,
  configView,
  controlPlaneNameOf,
  machineNameOf,
  roleOf,
  storedParts,
  tokenKeys,
} from './stores.ts';
import {
  isClusterPaused,
  isControlledBy,
  placed,
  refOf,
  secretData,
  secretValue,
} from '../objects.ts';
import { specVerdict } from './spec-verdict.ts';
import { keyfileProblems } from '../../lib/keyfiles.ts';

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
      reconcile: (key, signal) =>
        reconcile(scope, { kind: bootstrapConfigs, ...refOf(key) }, signal),
    },
  ];
}

async function reconcile(
  scope: BootstrapScope,
  ref: KubeRef,
  signal: AbortSignal,
): Promise<Result> {
  const { kube, stores, clock } = scope;
  const object = stores.configs.get(ref.name, ref.namespace);
  const seen = object && configView(asConfig(object), storedParts(stores));
  if (seen === undefined || seen.config.metadata.deletionTimestamp !== undefined) return {};
  const decide = (view: ConfigView): Work =>
    workOf(view, { now: clock.now(), hasToken: tokenOf(stores, view) !== undefined });
  const work = decide(seen);
  if (work !== 'none') {
    const view = await readView(kube, seen, signal);
    const change = (to: StatusChange) => (config: BootstrapConfig) =>
      statusAfter(config, to, clock.now());
    if (view !== undefined) {
      const write = (to: StatusChange): Promise<void> =>
        writeStatus(kube, { ref, seen: view.config, change: change(to) }, signal);
      await performers[decide(view)](scope, { view, write, signal });
    }
  }
  const after =
    work === 'prepare' ? readAgainAfter : timeUntil(lostAt(seen.config.status ?? {}), clock);
  const status = waitingFor(seen);
  return {
    ...(after === undefined ? {} : { after }),
    ...(status === undefined ? {} : { status }),
  };
}

/** Secrets of users are not followed: what is missing of them is looked for this often. */
const readAgainAfter = seconds(10);

/** Nothing changes with time alone any more, once a host is lost. */
const timeUntil = (at: number | undefined, clock: Clock): Millis | undefined =>
  at === undefined || at <= clock.now() ? undefined : at - clock.now();

function waitingFor({ config }: ConfigView): string | undefined {
  const condition = findCondition(config.status?.conditions, 'DataSecretAvailable');
  if (condition === undefined || condition.status === 'True') return undefined;
  return `${config.metadata.name}: ${condition.reason}`;
}

/** What is to be done for a config. */
type Work = 'none' | 'pause' | 'prepare' | 'derive' | 'revoke';

/**
 * Decides what is to be done for a config; nothing as long as its status says what follows from all
 * else.
 */
export function workOf(
  view: ConfigView,
  { now, hasToken }: { readonly now: number; readonly hasToken: boolean },
): Work {
  const { config } = view;
  const says = (change: StatusChange): boolean =>
    isDeepStrictEqual(statusAfter(config, change, now), config.status);
  if (isClusterPaused(view.cluster, config)) return says({ isPaused: true }) ? 'none' : 'pause';
  const isDone = config.status?.progress?.stage === 'Done';
  if (isDone && hasToken) return 'revoke';
  if (!isPrepared(view) || (!isDone && !hasToken)) return 'prepare';
  return says({}) ? 'none' : 'derive';
}

/**
 * Whether what the host boots with says what the config does now. What is installed is not prepared
 * again.
 */
function isPrepared({ config: { status = {}, metadata }, machine }: ConfigView): boolean {
  if (status.progress?.stage === 'Done') return true;
  const isMade = status.initialization?.dataSecretCreated === true;
  const isCurrent =
    status.observedGeneration === metadata.generation && status.role === roleOf(machine);
  return isMade && isCurrent && isConditionTrue(status.conditions, 'DataSecretAvailable');
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
    get(capiMachines, machineNameOf(asConfig(config)) ?? ''),
    get(clusters, seen.cluster.metadata.name),
    get(controlPlanes, controlPlaneNameOf(seen.cluster)),
  ]);
  const found = { machines: machine, clusters: cluster, controlPlanes: controlPlane };
  return configView(asConfig(config), (part) => found[part]);
}

interface Doing {
  readonly view: ConfigView;
  readonly write: (change: StatusChange) => Promise<void>;
  readonly signal: AbortSignal;
}

const performers: Readonly<Record<Work, (scope: BootstrapScope, doing: Doing) => Promise<void>>> = {
  none: () => Promise.resolve(),
  pause: (_, { write }) => write({ isPaused: true }),
  derive: (_, { write }) => write({}),
  revoke: async ({ kube, stores }, { view, write, signal }) => {
    const token = tokenOf(stores, view);
    const { name, namespace = '' } = view.config.metadata;
    const ref = { kind: secretKind, namespace, name: tokenSecretName(name) };
    if (token !== undefined && isControlledBy(token, view.config.metadata.uid))
      await kube.remove({ ...ref, uid: token.metadata.uid }, signal);
    await write({});
  },
  prepare: async (scope, { view, write, signal }) => {
    const { config, machine } = view;
    const outcome = await prepare(scope, view, signal);
    const known = { role: roleOf(machine), hostID: config.metadata.uid ?? '' };
    if ('reason' in outcome) return write({ ...known, dataSecret: outcome });
    await write({ ...known, dataSecretName: outcome.name });
    if (config.status?.initialization?.dataSecretCreated === true) return;
    const { name, namespace = '' } = config.metadata;
    scope.note('info', `config ${name}: its host may boot`, { namespace, role: known.role });
  },
};

type Outcome = DataSecretVerdict | { readonly name: string };

/**
 * Makes what a host boots with, or says what is missing. What a host may have read already stays.
 */
async function prepare(
  scope: BootstrapScope,
  view: ConfigView,
  signal: AbortSignal,
): Promise<Outcome> {
  const { config, machine, cluster } = view;
  const { name, namespace = '' } = config.metadata;
  const existing = await scope.kube.get({ kind: secretKind, namespace, name }, signal);
  const data = { view, existing };
  try {
    if (existing !== undefined && !isControlledBy(existing, config.metadata.uid)) throw taken(name);
    if (existing !== undefined && isProvisioned(machine)) {
      await ensureToken(scope, data, signal);
      return { name };
    }
    if (!hasInfrastructure(cluster)) throw new Missing('WaitingForClusterInfrastructure', '');
    const verdict = specVerdict(config.spec);
    if (verdict !== undefined) return verdict;
    const value = await valueOf(scope, data, signal);
    await ensureData(scope.kube, { ...data, value }, signal);
    return { name };
  } catch (error) {
    if (error instanceof Missing) return error.verdict;
    if (!isRefused(error)) throw error;
    return { reason: 'SecretFailed', message: error.message };
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
async function valueOf(scope: BootstrapScope, data: Data, signal: AbortSignal): Promise<string> {
  const token = await ensureToken(scope, data, signal);
  const { kube, address, stores } = scope;
  const { view } = data;
  const machines = new Set(
    stores.machines.by('cluster', placed(view.cluster)).map(({ metadata }) => metadata.name),
  );
  const input = await inputOf({ kube, view, machines, signal }, address, token);
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
  { view, existing }: Data,
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
    return Buffer.from(readFileContent(parseValidConfig(value).config, tokenPath)).toString();
  } catch {
    return undefined;
  }
}

interface Data {
  readonly view: ConfigView;
  /** The Secret with the data of the host. */
  readonly existing: KubeObject | undefined;
}

async function ensureData(
  kube: Ports['kube'],
  { view, existing, value }: Data & { readonly value: string },
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

/** Where agents find the inventory, and by which certificate. */
export interface InventoryAddress {
  readonly inventoryUrl: string;
  /**
   * PEM, read for each host; undefined where the authorities of the host's own system are enough.
   */
  readonly ca: (() => Promise<string | undefined>) | undefined;
}

interface Reading {
  readonly kube: Pick<Kube, 'get'>;
  readonly view: ConfigView;
  /** Names of the Machines of the Cluster. */
  readonly machines: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** Thrown inside, so that what is missing is named where it is looked for. */
class Missing extends Error {
  readonly verdict: DataSecretVerdict;

  constructor(reason: string, message: string) {
    super(message);
    this.verdict = { reason, message };
  }
}

/** Reads all that the Ignition of a host is made of. */
async function inputOf(
  reading: Reading,
  address: InventoryAddress,
  ownToken: string,
): Promise<MachineInput> {
  const { config, machine, cluster } = reading.view;
  const { spec } = config;
  const role = roleOf(machine);
  const release = await releaseOf(reading);
  const served = {
    inventoryUrl: address.inventoryUrl,
    inventoryCa: await address.ca?.(),
    token: ownToken,
    clusterId: cluster.metadata.uid ?? '',
    infraEnvId: cluster.metadata.uid ?? '',
  };
  return {
    ...(spec.inventory?.mode === 'External' ? await externalInventory(reading) : served),
    role,
    hostId: config.metadata.uid ?? '',
    ...release,
    agentImage: spec.agent.image,
    agentArgs: spec.agent.args,
    installDevice: spec.installDevice,
    rootDeviceHints: spec.rootDeviceHints,
    kernelArguments: spec.kernelArguments,
    proxy: spec.proxy,
    sshAuthorizedKeys: spec.sshAuthorizedKeys,
    trustBundle: spec.additionalTrustBundle,
    registries: spec.registries,
    override: spec.ignitionConfigOverride,
    pullSecret: await pullSecretOf(reading),
    keyfiles: await keyfilesOf(reading),
  };
}

type ReleaseInput = Pick<
  MachineInput,
  'openshiftVersion' | 'controlPlaneCount' | 'mcoImage' | 'existingRoot'
>;

/**
 * What only the control plane knows. A worker waits for nothing of it, unless its own system is to
 * come from it.
 */
async function releaseOf(reading: Reading): Promise<ReleaseInput> {
  const { config, machine, controlPlane } = reading.view;
  const { osImage, writeMode } = config.spec;
  const isWorker = roleOf(machine) === 'worker';
  const given = writeMode === 'ExistingRoot' ? osImage : '';
  const root = (image: string | undefined) => (image === '' ? {} : { existingRoot: image });
  if (isWorker && given !== undefined) return root(given);
  if (controlPlane === undefined)
    throw new Missing('WaitingForControlPlane', 'the Cluster has no control plane yet');
  const name = assetsSecretName(controlPlane.metadata.name);
  const assets = await secretNamed(reading, name);
  if (assets === undefined || !isControlledBy(assets, controlPlane.metadata.uid))
    throw new Missing('WaitingForAssets', `Secret ${name} of its control plane is not there yet`);
  const image = given ?? secretValue(assets, assetKeys.coreOsImage);
  if (image === undefined)
    throw new Missing('OSImageUnknown', `set osImage: Secret ${name} names no image of CoreOS`);
  if (isWorker) return root(image);
  const { distributionVersion, replicas = 3 } = controlPlane.spec;
  const mcoImage = secretValue(assets, assetKeys.mcoImage);
  const release = { openshiftVersion: distributionVersion, controlPlaneCount: replicas, mcoImage };
  return { ...root(image), ...release };
}

async function externalInventory(reading: Reading) {
  const { view } = reading;
  const { inventory = {} } = view.config.spec;
  const { url = '', tokenSecretRef, clusterId, infraEnvId } = inventory;
  const uid = view.cluster.metadata.uid ?? '';
  if (!URL.canParse(url)) throw new Missing('InventoryUnknown', 'inventory.url is no URL');
  const token = await required(reading, tokenSecretRef?.name ?? '', {
    key: 'token',
    reason: 'InventoryTokenNotFound',
  });
  const id = clusterId ?? uid;
  return {
    inventoryUrl: url,
    token,
    clusterId: id,
    infraEnvId: infraEnvId ?? id,
    inventoryCa: undefined,
  };
}

const pullSecretOf = (reading: Reading): Promise<string> | undefined => {
  const name = reading.view.config.spec.pullSecretRef?.name;
  return name === undefined
    ? undefined
    : required(reading, name, { key: '.dockerconfigjson', reason: 'PullSecretNotFound' });
};

async function required(
  reading: Reading,
  name: string,
  { key, reason }: { readonly key: string; readonly reason: string },
): Promise<string> {
  const secret = name === '' ? undefined : await secretNamed(reading, name);
  const text = secret && secretValue(secret, key);
  if (text === undefined) throw new Missing(reason, `Secret ${name} has no ${key}`);
  return text;
}

/**
 * Of a file in `system-connections`: NetworkManager reads what ends so, and no name leads out of
 * the folder.
 */
const keyfileName = /^[\w.-]+\.nmconnection$/;

/**
 * The keyfiles for a Machine: `NAME.nmconnection` is for all hosts, which tell them apart by the
 * address of an interface, `MACHINE_NAME.nmconnection` for that Machine, in place of one for all
 * with this name; the name of a Machine has no underscore. A key that no host takes is refused: the
 * host would boot without the network that it describes.
 */
async function keyfilesOf(reading: Reading): Promise<MachineInput['keyfiles']> {
  const name = reading.view.config.spec.networkSecretRef?.name;
  if (name === undefined) return undefined;
  const secret = await secretNamed(reading, name);
  if (secret === undefined)
    throw new Missing('NetworkSecretNotFound', `there is no Secret ${name}`);
  const own = `${reading.view.machine.metadata.name}_`;
  const keys = Object.keys(dataOf(secret));
  const others = keys.filter((key) => !isTaken(key, reading.machines));
  if (others.length > 0) {
    const message = `Secret ${name}: no host takes ${others.join(', ')}; write NAME.nmconnection without an underscore for all hosts, or MACHINE_NAME.nmconnection for a Machine of the Cluster`;
    throw new Missing('NetworkSecretInvalid', message);
  }
  // Those of the Machine come last: one takes the place of that for all hosts with its name.
  const chosen = [
    ...keys.filter((key) => !key.includes('_')),
    ...keys.filter((key) => key.startsWith(own)),
  ];
  const files = new Map(
    chosen.map((key) => [
      key.startsWith(own) ? key.slice(own.length) : key,
      secretValue(secret, key) ?? '',
    ]),
  );
  const problems = files.size === 0 ? [] : keyfileProblems(files);
  if (problems.length > 0)
    throw new Missing('NetworkSecretInvalid', `Secret ${name}: ${problems.join('; ')}`);
  return Object.fromEntries(files);
}

const isTaken = (key: string, machines: ReadonlySet<string>): boolean => {
  const [machine = '', ...rest] = key.split('_');
  return keyfileName.test(key) && (rest.length === 0 || machines.has(machine));
};

const secretNamed = (
  { kube, view, signal }: Reading,
  name: string,
): Promise<KubeObject | undefined> => {
  const { namespace = '' } = view.config.metadata;
  return kube.get({ kind: secretKind, namespace, name }, signal);
};

const dataOf = (secret: KubeObject): Readonly<Record<string, unknown>> =>
  Object(partOf(secret, 'data')) as Readonly<Record<string, unknown>>;

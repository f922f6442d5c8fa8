import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';
import { secrets } from '../../kube/kinds.ts';
import { endOf, withoutSecretLooks } from '../../layering/registry/log-secrets.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { jsonIn } from '../../lib/json.ts';
import { masker } from '../../lib/masker.ts';
import { plainText } from '../../lib/plain-text.ts';
import { shownText } from '../../lib/shown-url.ts';
import { pacedBody, uploadPlaces } from './uploads.ts';
import { readLast } from '../../lib/read-up-to.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { Secret } from '../../model/secret.ts';
import { stages } from '../../model/stage.ts';
import {
  type HttpAnswer,
  type HttpRoute,
  jsonAnswer,
  type RouteRequest,
} from '../../ports/http-route.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import type { Ports } from '../../ports/ports.ts';
import {
  assetKeys,
  assetsSecretName,
  type BootstrapConfig,
  logKey,
  logSecretName,
  type OpenShiftControlPlane,
  ownNames,
  sharedConditions,
} from '../api.ts';
import {
  decideProgress,
  failedStageOf,
  type ReportedStage,
  statusAfter,
  writeStatus,
} from '../bootstrap/status.ts';
import { hostLogBytes, nodeIgnition } from '../bootstrap/ignition.ts';
import {
  type BootstrapStores,
  configOwner,
  type ConfigView,
  hostLadder,
  roleOf,
} from '../bootstrap/stores.ts';
import {
  type Caller,
  callerOf,
  hostsOf,
  RefusedCall,
  reportedHost,
  requestLimit,
  requireBootstrap,
  requireOwn,
} from './access.ts';
import {
  isClusterPaused,
  isControlledBy,
  secretBytes,
  secretData,
  secretValue,
} from '../objects.ts';
import { textAt } from '../../kube/object.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { readControlPlane } from '../control-plane/view.ts';
import { givenName, hostsCondition, nodeNameProblem, reportedOf } from '../host-checks.ts';
import { isConditionTrue } from '../conditions.ts';

/** What the inventory answers from. */
export interface InventoryScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly stores: BootstrapStores;
  readonly metrics?: Pick<ManagerMetrics, 'reportTaken'> | undefined;
}

interface Call extends InventoryScope {
  readonly inTurn: ReturnType<typeof inTurns>;
  readonly place: ReturnType<typeof uploadPlaces>;
  readonly request: RouteRequest;
  readonly caller: Caller;
}

const base = '/api/assisted-install/v2';
const host = `${base}/infra-envs/{infraEnv}/hosts/{host}`;
const cluster = `${base}/clusters/{cluster}`;

type Reply = (call: Call) => Promise<HttpAnswer> | HttpAnswer;
type Rule = Omit<HttpRoute, 'answer'> & { readonly reply: Reply };

/** The most that a host may send as a report, and as logs. */
const reportLimit = 16 * 1024;
const logLimit = 64 * 1024 * 1024;

/**
 * Each write has a connection to the API server of its own; more of them take longer, and not less,
 * in all.
 */
const writesAtOnce = 32;

/** Refuses who asks for another host, or for another cluster. */
const own =
  (reply: Reply): Reply =>
  (call) => {
    requireOwn(call.caller, call.request.params);
    return reply(call);
  };

const noContent = own(() => ({ status: 204 }));

const downloads = (area: 'files' | 'credentials'): Rule => ({
  method: 'GET',
  path: `${cluster}/downloads/${area}`,
  reply: own(({ kube, caller, request: { signal, query } }) =>
    clusterFile({ kube, caller, signal }, area, query.get('file_name') ?? ''),
  ),
});

/** What an agent asks; the Ignition is under `infra-env`, singular, as in assisted-service. */
const rules: readonly Rule[] = [
  {
    // Hosts that are switched on together report together: whoever is refused comes again seconds
    // later.
    method: 'PUT',
    path: `${host}/progress`,
    bodyLimit: reportLimit,
    atOnce: 1024,
    reply: takeProgress,
  },
  {
    method: 'GET',
    path: `${base}/infra-env/{infraEnv}/hosts/{host}/downloads/ignition`,
    reply: own(({ kube, caller, request: { signal } }) => hostIgnition({ kube, caller, signal })),
  },
  downloads('files'),
  downloads('credentials'),
  { method: 'GET', path: cluster, reply: own(showCluster) },
  { method: 'GET', path: `${cluster}/hosts`, reply: own(listHosts) },
  { method: 'PUT', path: `${host}/logs-progress`, bodyLimit: reportLimit, reply: noContent },
  { method: 'PUT', path: `${cluster}/logs-progress`, bodyLimit: reportLimit, reply: noContent },
  {
    // Each host has one place: who is here is known by its token alone, so the number of all is no
    // limit.
    method: 'POST',
    path: `${cluster}/logs`,
    bodyLimit: logLimit,
    atOnce: 256,
    deadline: minutes(10),
    reply: own((call) => call.place(call.caller.hostId, () => takeLogs(call))),
  },
];

/**
 * The inventory of the bootstrap provider: what assisted-service answers an agent, from the configs
 * themselves. A report becomes the status of its config by one write.
 */
export function inventoryRoutes(options: InventoryScope): readonly HttpRoute[] {
  const limit = requestLimit(options.clock);
  const inTurn = inTurns(writesAtOnce);
  const place = uploadPlaces();
  return rules.map(({ reply, ...route }) => ({
    deadline: seconds(30),
    ...route,
    answer: async (request) => {
      const caller = await callerOf(options, request);
      limit(caller.hostId);
      return reply({ ...options, inTurn, place, request, caller });
    },
  }));
}

function showCluster({ stores, caller, request }: Call): HttpAnswer {
  const isBootstrap = caller.role === 'bootstrap';
  const hosts =
    request.query.get('exclude-hosts') === 'true'
      ? {}
      : { hosts: hostsOf(stores, caller).map((one) => shownHost(one, isBootstrap)) };
  return jsonAnswer(200, shownCluster(caller, { isWorker: caller.role === 'worker', ...hosts }));
}

function listHosts({ stores, caller, request: { query } }: Call): HttpAnswer {
  const role = query.get('role');
  const withInventory = query.get('with-inventory') === 'true';
  if (withInventory) requireBootstrap(caller);
  const listed = hostsOf(stores, caller).filter((one) => role === null || listedRole(one) === role);
  return jsonAnswer(
    200,
    listed.map((one) => shownHost(one, withInventory)),
  );
}

const Progress = z.object({
  current_stage: z.enum(stages),
  progress_info: z.string().default(''),
});

/** @throws RefusedCall 422 */
async function reportIn({ request, caller }: Call): Promise<ReportedStage> {
  const { success, data } = Progress.safeParse(
    jsonIn(Buffer.from(await request.bytes()).toString()),
  );
  if (!success)
    throw new RefusedCall(422, 'a report has current_stage, and may have progress_info');
  const { mask, register } = masker();
  register(new Secret(caller.token));
  return { stage: data.current_stage, info: mask(data.progress_info) };
}

/**
 * A report becomes the status of its host; one of a host that is paused is to come again.
 * @throws RefusedCall 409 for a report that says less than what is known
 */
async function takeProgress(call: Call): Promise<HttpAnswer> {
  const { stores, caller, request, kube, clock, metrics } = call;
  const since = clock.elapsed();
  const view = reportedHost(stores, caller, request.params);
  const report = await reportIn(call);
  if (isClusterPaused(view.cluster, view.config))
    throw new RefusedCall(503, 'the cluster is paused', { 'retry-after': '30' });
  const context = { ladder: hostLadder(view), isOwn: view === caller };
  const change = (config: BootstrapConfig) => {
    const now = clock.now();
    const decision = decideProgress(config.status?.progress, report, { ...context, now });
    if (decision.kind === 'refused') throw new RefusedCall(409, decision.reason);
    if (decision.kind === 'unchanged') return undefined;
    return statusAfter(config, { progress: decision.progress }, now);
  };
  await call.inTurn(() => writeStatus(kube, view.config, change, request.signal));
  metrics?.reportTaken(clock.elapsed() - since);
  return { status: 200 };
}

/**
 * The end of the log of a host that has failed becomes a Secret beside its config. Archives, which
 * other senders make, and the log of the controller are taken, so that the host leaves in time, and
 * not kept.
 */
async function takeLogs(call: Call): Promise<HttpAnswer> {
  const { caller, request, clock } = call;
  const type = request.query.get('logs_type');
  if (type !== 'host' && type !== 'controller')
    throw new RefusedCall(422, 'logs_type in query should be one of [host controller]');
  if (type === 'controller') requireBootstrap(caller);
  const of = request.query.get('host_id') ?? caller.hostId;
  if (type === 'host') requireOwn(caller, { host: of });
  if (isClusterPaused(caller.cluster, caller.config))
    throw new RefusedCall(503, 'the cluster is paused', { 'retry-after': '30' });
  // Twice as much is masked as is kept, so that no secret of several lines is cut in two.
  const upload = await readLast(pacedBody(clock, request), 2 * hostLogBytes);
  if (upload.length === 0) throw new RefusedCall(422, 'upfile in formData is required');
  const text = type === 'host' ? textOfUpload(Buffer.from(upload)) : undefined;
  if (text !== undefined) await keepLog(call, text);
  return { status: 204 };
}

/**
 * Writes the log of the caller, then where it is. It lives as long as the config.
 * @throws RefusedCall 409 where another Secret has its name
 */
async function keepLog({ kube, clock, caller, request }: Call, text: string): Promise<void> {
  const { config } = caller;
  const { name, namespace = '' } = config.metadata;
  const { mask, register } = masker();
  register(new Secret(caller.token));
  const masked = shownText(withoutSecretLooks(mask(text)));
  const shown = endOf(plainText(masked, masked.length), hostLogBytes);
  const own = logSecretName(name);
  const before = await kube.get({ kind: secrets, namespace, name: own }, request.signal);
  if (before !== undefined && !isControlledBy(before, config.metadata.uid))
    throw new RefusedCall(409, `Secret ${own} is of somebody else`);
  const metadata = {
    name: own,
    namespace,
    labels: { [ownNames.hostLog]: '' },
    ownerReferences: configOwner(config),
  };
  const data = secretData({ [logKey]: gzipSync(shown) });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
  await kube.apply(secret, request.signal, { manager: 'bootwright-inventory' });
  const change = (seen: BootstrapConfig) => statusAfter(seen, { logSecretName: own }, clock.now());
  await writeStatus(kube, config, change, request.signal);
}

/** The text of the one file of an upload (RFC 7578), or its end; undefined of what is no text. */
function textOfUpload(upload: Buffer): string | undefined {
  const start = upload.indexOf('\r\n\r\n');
  const isWhole = upload.indexOf('--') === 0 && start >= 0;
  const end = upload.lastIndexOf('\r\n--');
  const file = upload.subarray(isWhole ? start + 4 : 0, end < 0 ? undefined : end);
  return file.includes(0) ? undefined : file.toString();
}

interface DownloadScope {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** How long a host waits before it asks again for what will be there. */
const later = { 'retry-after': '10' } as const;

/**
 * The Ignition that the host puts on its disk. A worker gets it once the cluster runs: the config
 * server of a bootstrap host serves no workers (openshift/installer, pull request 10590). A master
 * gets none while hosts of the control plane contradict each other.
 * @throws RefusedCall 409 with Retry-After until then
 */
export async function hostIgnition(scope: DownloadScope): Promise<HttpAnswer> {
  const { role, controlPlane, config, machine } = scope.caller;
  const isWorker = role === 'worker';
  if (isWorker && !servesWorkers(controlPlane))
    throw new RefusedCall(409, 'the control plane of the cluster is not initialized yet', later);
  const assets = await assetsOf(scope);
  const key = isWorker ? assetKeys.workerIgnition : assetKeys.masterIgnition;
  const pointer = secretValue(assets, key);
  if (pointer === undefined) throw new RefusedCall(409, `${key} is not there yet`, later);
  const text = nodeIgnition({
    pointer,
    configServerCa: secretValue(assets, assetKeys.configServerCa),
    ...(config.spec.nodeRegistration && { nodeRegistration: config.spec.nodeRegistration }),
    providerID: textAt(machine, 'spec', 'providerID'),
  });
  const problem = nodeNameProblem(machine, config);
  if (problem !== undefined && isWorker) throw new RefusedCall(409, problem, later);
  if (!isWorker) await requireValidHosts(scope);
  return download(`${isWorker ? 'worker' : 'master'}.ign`, text);
}

/**
 * The hosts are read again: what a disk is written with cannot be taken back.
 * @throws RefusedCall 409 with Retry-After while those of the control plane contradict each other
 */
async function requireValidHosts({ kube, caller, signal }: DownloadScope): Promise<void> {
  const { controlPlane } = caller;
  const view = controlPlane && (await readControlPlane(kube, controlPlane, signal));
  const { status, message = '' } = view === undefined ? {} : hostsCondition(view);
  if (status === 'False') throw new RefusedCall(409, message, later);
}

/** Files that hosts ask for by name, and where they are among the assets. */
const offered: Readonly<Record<'files' | 'credentials', Readonly<Record<string, string>>>> = {
  files: {
    'bootstrap.ign': assetKeys.bootstrapIgnition,
    'master.ign': assetKeys.masterIgnition,
    'worker.ign': assetKeys.workerIgnition,
  },
  credentials: {
    kubeconfig: assetKeys.kubeconfig,
    'kubeconfig-noingress': assetKeys.kubeconfigNoIngress,
  },
};

/**
 * A file of the cluster: for the bootstrap host alone, as it holds all keys of the cluster.
 * @throws RefusedCall 403 for others, 422 for what is no file, 409 for one that is not there yet,
 * and for bootstrap.ign as `requireValidHosts`
 */
export async function clusterFile(
  scope: DownloadScope,
  area: keyof typeof offered,
  name: string,
): Promise<HttpAnswer> {
  requireBootstrap(scope.caller);
  const keys = offered[area];
  const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
  if (key === undefined)
    throw new RefusedCall(
      422,
      `file_name in query should be one of [${Object.keys(keys).join(' ')}]`,
    );
  const bytes = secretBytes(await assetsOf(scope), key);
  if (bytes === undefined || bytes.length === 0)
    throw new RefusedCall(409, `${name} is not there yet`, later);
  if (key === assetKeys.bootstrapIgnition) await requireValidHosts(scope);
  return download(name, key.endsWith('.gz') ? gunzipSync(bytes, unpacking) : bytes);
}

/** An Ignition is far smaller; a Secret that unpacks to more was not made here. */
const unpacking = { maxOutputLength: 64 * 1024 * 1024 };

async function assetsOf({ kube, caller, signal }: DownloadScope): Promise<KubeObject> {
  const { controlPlane } = caller;
  if (controlPlane === undefined)
    throw new RefusedCall(409, 'the cluster has no control plane yet', later);
  const { name, namespace = '', uid } = controlPlane.metadata;
  const ref = { kind: secrets, namespace, name: assetsSecretName(name) };
  const assets = await kube.get(ref, signal);
  if (assets === undefined || !isControlledBy(assets, uid))
    throw new RefusedCall(409, 'the files of the installer are not there yet', later);
  return assets;
}

const download = (name: string, body: string | Uint8Array): HttpAnswer => ({
  status: 200,
  headers: {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`,
  },
  body,
});

/** A record as the service shows it. */
type Shown = Readonly<Record<string, unknown>>;

/** Whether workers may have their Ignition: then hosts are added to a cluster that runs. */
export const servesWorkers = (controlPlane: OpenShiftControlPlane | undefined): boolean =>
  controlPlane?.status?.initialization?.controlPlaneInitialized === true &&
  isConditionTrue(controlPlane.status.conditions, sharedConditions.configServerAvailable);

/** A cluster as assisted-service shows it, as far as an agent reads it. */
export function shownCluster(
  { cluster, controlPlane }: Pick<ConfigView, 'cluster' | 'controlPlane'>,
  { isWorker, hosts }: { readonly isWorker: boolean; readonly hosts?: readonly Shown[] },
): Shown {
  const { name, uid = '' } = cluster.metadata;
  const isAdded = isWorker && servesWorkers(controlPlane);
  return {
    id: uid,
    kind: isAdded ? 'AddHostsCluster' : 'Cluster',
    name,
    href: `/api/assisted-install/v2/clusters/${uid}`,
    status: 'installing',
    status_info: 'Installation in progress',
    openshift_version: controlPlane?.spec.distributionVersion ?? '',
    control_plane_count: controlPlane?.spec.replicas ?? 3,
    monitored_operators: [],
    hosts: hosts ?? null,
  };
}

/** The role by which the service lists a host: the bootstrap host is a master. */
export const listedRole = ({ machine }: ConfigView): 'master' | 'worker' =>
  roleOf(machine) === 'worker' ? 'worker' : 'master';

/** A host as assisted-service shows it, as far as an agent reads it. */
export function shownHost(view: ConfigView, withInventory: boolean): Shown {
  const { config, machine, cluster } = view;
  const { progress } = config.status ?? {};
  const { uid = '' } = config.metadata;
  const clusterId = cluster.metadata.uid ?? '';
  return {
    id: uid,
    kind: 'Host',
    infra_env_id: clusterId,
    cluster_id: clusterId,
    href: `/api/assisted-install/v2/infra-envs/${clusterId}/hosts/${uid}`,
    requested_hostname: nameOf(view),
    role: listedRole(view),
    ...(roleOf(machine) === 'bootstrap' ? { bootstrap: true } : {}),
    status: statusOf(progress?.stage),
    status_info: progress?.message ?? '',
    ...(progress === undefined ? {} : { progress: shownProgress(progress) }),
    ...(withInventory ? { inventory: inventoryOf(view) } : {}),
  };
}

type Progress = NonNullable<NonNullable<ConfigView['config']['status']>['progress']>;

/** A host that failed stays at the stage where it did. */
function shownProgress(progress: Progress): Shown {
  const { stage, percent, message, stageStartedAt, updatedAt } = progress;
  const current = stage === 'Failed' ? failedStageOf(progress) : stage;
  return {
    ...(current === undefined ? {} : { current_stage: current }),
    progress_info: percent === undefined ? message : `${percent}%`,
    stage_started_at: stageStartedAt,
    stage_updated_at: updatedAt,
  };
}

function statusOf(stage: string | undefined): string {
  if (stage === undefined) return 'installing';
  if (stage === 'Done') return 'installed';
  return stage === 'Failed' ? 'error' : 'installing-in-progress';
}

/**
 * The name of the node of a host: as its config has it, as its infrastructure names it, or that of
 * its Machine.
 */
function nameOf({ config, machine }: ConfigView): string {
  return givenName(config) ?? reportedOf(machine).names[0] ?? machine.metadata.name;
}

/**
 * What the discovery agent of the service would have found: name and addresses, from the
 * infrastructure.
 */
function inventoryOf(view: ConfigView): string {
  const { addresses } = reportedOf(view.machine);
  const of = (isV6: boolean): readonly string[] =>
    addresses.filter((one) => one.includes(':') === isV6).map((one) => `${one}/${isV6 ? 64 : 24}`);
  const eth0 = { name: 'eth0', ipv4_addresses: of(false), ipv6_addresses: of(true) };
  return JSON.stringify({ hostname: nameOf(view), interfaces: [eth0] });
}

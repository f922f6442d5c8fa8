import { gunzipSync, gzipSync } from 'node:zlib';
import type { HonoRequest } from 'hono';
import * as z from 'zod';
import { secrets } from '../../kube/kinds.ts';
import { lastPart, withoutSecretLooks } from '../../layering/registry/log-secrets.ts';
import { jsonIn } from '../../lib/json.ts';
import { masker } from '../../lib/masker.ts';
import { plainText } from '../../lib/plain-text.ts';
import { shownText } from '../../lib/shown-url.ts';
import { readLast } from '../../lib/read-up-to.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { Secret } from '../../model/secret.ts';
import { stages } from '../../model/stage.ts';
import { HttpRefusal, type HttpRoute } from '../../ports/http-route.ts';
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
  serviceStatusOf,
  statusAfter,
  writeStatus,
} from '../bootstrap/status.ts';
import { hostLogBytes, nodeIgnition } from '../bootstrap/ignition.ts';
import {
  type BootstrapStores,
  configOwner,
  type ConfigView,
  hostLadder,
} from '../bootstrap/stores.ts';
import {
  type Caller,
  callerOf,
  hostsOf,
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
  secretText,
} from '../objects.ts';
import { textAt } from '../../kube/object.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { readControlPlane } from '../control-plane/view.ts';
import { givenName, hostsCheck, nodeNameProblem, reportedOf } from '../host-checks.ts';
import { isConditionTrue } from '../conditions.ts';

/** Scope of the inventory. */
interface InventoryScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly stores: BootstrapStores;
  readonly metrics?: Pick<ManagerMetrics, 'reportTaken'> | undefined;
}

interface Call extends InventoryScope {
  readonly inTurn: ReturnType<typeof inTurns>;
  /** Ids of hosts with a log upload under way. */
  readonly uploading: Set<string>;
  readonly request: HonoRequest;
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

/** Maximum bytes of a report, and of logs. */
const reportLimit = 16 * 1024;
const logLimit = 64 * 1024 * 1024;

/**
 * Each write uses its own connection to the API server; with more connections, all writes take
 * longer in total.
 */
const writesAtOnce = 32;

/**
 * The inventory of the bootstrap provider: serves the agent's API of assisted-service from the
 * configs. One write turns a report into the status of its config.
 */
export function inventoryRoutes(scope: InventoryScope): readonly HttpRoute[] {
  const limit = requestLimit(scope.clock);
  const shared = { ...scope, inTurn: inTurns(writesAtOnce), uploading: new Set<string>() };
  const route = (
    method: HttpRoute['method'],
    path: string,
    reply: (call: Call) => Promise<Response> | Response,
    limits: Pick<HttpRoute, 'bodyLimit' | 'atOnce' | 'deadline'> = {},
  ): HttpRoute => ({
    method,
    path: `/api/assisted-install/v2/${path}`,
    deadline: seconds(30),
    ...limits,
    answer: async (request, signal) => {
      const caller = await callerOf(scope, request, signal);
      limit(caller.hostId);
      // The bootstrap host also reports for other hosts.
      if (reply !== takeProgress) requireOwn(caller, request.param());
      return reply({ ...shared, request, signal, caller });
    },
  });
  const host = 'infra-envs/:infraEnv/hosts/:host';
  const cluster = 'clusters/:cluster';
  const noContent = () => new Response(null, { status: 204 });
  const report = { bodyLimit: reportLimit };
  return [
    // Hosts that are switched on together report together; a refused report comes again seconds
    // later.
    route('PUT', `${host}/progress`, takeProgress, { ...report, atOnce: 1024 }),
    // Singular, as in assisted-service.
    route('GET', 'infra-env/:infraEnv/hosts/:host/downloads/ignition', hostIgnition),
    route('GET', `${cluster}/downloads/files`, (call) =>
      assetFile(call, 'bootstrap.ign', assetKeys.bootstrapIgnition),
    ),
    route('GET', `${cluster}/downloads/credentials`, (call) =>
      assetFile(call, 'kubeconfig-noingress', assetKeys.kubeconfig),
    ),
    route('GET', cluster, showCluster),
    route('GET', `${cluster}/hosts`, listHosts),
    route('PUT', `${host}/logs-progress`, noContent, report),
    route('PUT', `${cluster}/logs-progress`, noContent, report),
    // Each host has one place. Its token identifies it, so the total number needs no limit.
    route('POST', `${cluster}/logs`, takeLogs, {
      bodyLimit: logLimit,
      atOnce: 256,
      deadline: minutes(10),
    }),
  ];
}

const Progress = z.object({
  current_stage: z.enum(stages),
  progress_info: z.string().default(''),
});

/**
 * Writes a report to the status of its host. While the host is paused, the agent has to retry.
 * @throws HttpRefusal 409 for a report behind the known progress, 422 for an invalid report
 */
async function takeProgress(call: Call): Promise<Response> {
  const { stores, caller, request, signal, kube, clock, metrics } = call;
  const since = clock.elapsed();
  const view = reportedHost(stores, caller, request.param());
  const { success, data } = Progress.safeParse(jsonIn(await request.text()));
  if (!success)
    throw new HttpRefusal(422, 'a report has current_stage, and may have progress_info');
  const report = { stage: data.current_stage, info: maskOf(caller)(data.progress_info) };
  refuseWhilePaused(view);
  const context = { ladder: hostLadder(view), isOwn: view === caller };
  const change = (config: BootstrapConfig) => {
    const now = clock.now();
    const { progress, refusal } = decideProgress(config.status?.progress, report, {
      ...context,
      now,
    });
    if (refusal !== undefined) throw new HttpRefusal(409, refusal);
    return progress && statusAfter(config, { progress }, now);
  };
  await call.inTurn(() => writeStatus(kube, view.config, change, signal));
  metrics?.reportTaken(clock.elapsed() - since);
  return new Response();
}

/** Masks the token of a host in its texts. */
function maskOf({ token }: Caller): (text: string) => string {
  const { mask, register } = masker();
  register(new Secret(token));
  return mask;
}

/** @throws HttpRefusal 503 with Retry-After */
function refuseWhilePaused({ cluster, config }: ConfigView): void {
  if (isClusterPaused(cluster, config))
    throw new HttpRefusal(503, 'the cluster is paused', { 'retry-after': '30' });
}

/**
 * Stores the end of a failed host's log in a Secret beside its config. Accepts archives of other
 * senders and the log of the controller without storing them, so that the host ends in time.
 * @throws HttpRefusal 429 while the host has another upload, so that a slow upload takes no place
 * of another host
 */
async function takeLogs(call: Call): Promise<Response> {
  const { caller, request, uploading } = call;
  const { hostId } = caller;
  const type = request.query('logs_type');
  if (type !== 'host' && type !== 'controller')
    throw new HttpRefusal(422, 'logs_type in query should be one of [host controller]');
  if (type === 'controller') requireBootstrap(caller);
  else requireOwn(caller, { host: request.query('host_id') ?? hostId });
  refuseWhilePaused(caller);
  if (uploading.has(hostId))
    throw new HttpRefusal(429, 'another log of this host is being sent', { 'retry-after': '10' });
  uploading.add(hostId);
  try {
    // Masks twice the stored length, so that no secret of several lines is cut in two.
    const { body } = request.raw;
    const upload = body && (await readLast(body, 2 * hostLogBytes));
    if (!upload?.length) throw new HttpRefusal(422, 'upfile in formData is required');
    const text = type === 'host' ? textOfUpload(Buffer.from(upload)) : undefined;
    if (text !== undefined) await storeLog(call, text);
  } finally {
    uploading.delete(hostId);
  }
  return new Response(null, { status: 204 });
}

/**
 * Writes the log of the caller, then its place in the status. The Secret lives as long as the
 * config.
 * @throws HttpRefusal 409 if another Secret has its name
 */
async function storeLog({ kube, clock, caller, signal }: Call, text: string): Promise<void> {
  const { config } = caller;
  const { name, namespace = '', uid } = config.metadata;
  const masked = shownText(withoutSecretLooks(maskOf(caller)(text)));
  const shown = lastPart(plainText(masked, masked.length), hostLogBytes);
  const own = logSecretName(name);
  const before = await kube.get({ kind: secrets, namespace, name: own }, signal);
  if (before !== undefined && !isControlledBy(before, uid))
    throw new HttpRefusal(409, `Secret ${own} is of somebody else`);
  const metadata = {
    name: own,
    namespace,
    labels: { [ownNames.hostLog]: '' },
    ownerReferences: configOwner(config),
  };
  const data = secretData({ [logKey]: gzipSync(shown) });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
  await kube.apply(secret, signal, { manager: 'bootwright-inventory' });
  const change = (seen: BootstrapConfig) => statusAfter(seen, { logSecretName: own }, clock.now());
  await writeStatus(kube, config, change, signal);
}

/** The text of the one file in an upload (RFC 7578), or its end; undefined if it is not text. */
function textOfUpload(upload: Buffer): string | undefined {
  const start = upload.indexOf('\r\n\r\n');
  const isWhole = upload.indexOf('--') === 0 && start >= 0;
  const end = upload.lastIndexOf('\r\n--');
  const file = upload.subarray(isWhole ? start + 4 : 0, end < 0 ? undefined : end);
  return file.includes(0) ? undefined : file.toString();
}

/** Time until a host asks again for a missing file. */
const later = { 'retry-after': '10' } as const;

/**
 * The Ignition that the host writes to its disk. A worker gets it once the cluster runs: the
 * bootstrap host's config server does not serve workers (openshift/installer, pull request 10590).
 * A master gets it once the control plane's hosts have no conflicts.
 * @throws HttpRefusal 409 with Retry-After until then
 */
async function hostIgnition(call: Call): Promise<Response> {
  const { role, controlPlane, config, machine } = call.caller;
  const isWorker = role === 'worker';
  if (isWorker && !servesWorkers(controlPlane))
    throw new HttpRefusal(409, 'the control plane of the cluster is not initialized yet', later);
  const assets = await assetsOf(call);
  const key = isWorker ? assetKeys.workerIgnition : assetKeys.masterIgnition;
  const pointer = secretText(assets, key);
  if (pointer === undefined) throw new HttpRefusal(409, `${key} is not there yet`, later);
  const problem = isWorker ? nodeNameProblem(machine, config) : undefined;
  if (problem !== undefined) throw new HttpRefusal(409, problem, later);
  if (!isWorker) await requireValidHosts(call);
  const text = nodeIgnition({
    pointer,
    configServerCa: secretText(assets, assetKeys.configServerCa),
    nodeRegistration: config.spec.nodeRegistration,
    providerID: textAt(machine, 'spec', 'providerID'),
  });
  return download(`${isWorker ? 'worker' : 'master'}.ign`, text);
}

/**
 * Checks the hosts again with fresh reads, as a written disk cannot be restored.
 * @throws HttpRefusal 409 with Retry-After while hosts of the control plane conflict
 */
async function requireValidHosts({ kube, clock, caller, signal }: Call): Promise<void> {
  const { controlPlane } = caller;
  const view = controlPlane && (await readControlPlane(kube, controlPlane, clock.now(), signal));
  const { status, message = '' } = view === undefined ? {} : hostsCheck(view);
  if (status === 'False') throw new HttpRefusal(409, message, later);
}

/** An Ignition is far smaller; a Secret that unpacks to more was not made by the provider. */
const unpacking = { maxOutputLength: 64 * 1024 * 1024 };

/**
 * The one file at a path, only for the bootstrap host, as it holds keys of the cluster.
 * @throws HttpRefusal 403 for others, 422 for another name, 409 for a file that does not exist yet,
 * and for bootstrap.ign as `requireValidHosts`
 */
async function assetFile(call: Call, name: string, key: string): Promise<Response> {
  requireBootstrap(call.caller);
  if (call.request.query('file_name') !== name)
    throw new HttpRefusal(422, `file_name in query should be ${name}`);
  const bytes = secretBytes(await assetsOf(call), key);
  if (bytes === undefined) throw new HttpRefusal(409, `${name} is not there yet`, later);
  if (key !== assetKeys.bootstrapIgnition) return download(name, bytes);
  await requireValidHosts(call);
  return download(name, gunzipSync(bytes, unpacking));
}

async function assetsOf({ kube, caller, signal }: Call): Promise<KubeObject> {
  const { controlPlane } = caller;
  if (controlPlane === undefined)
    throw new HttpRefusal(409, 'the cluster has no control plane yet', later);
  const { name, namespace = '', uid } = controlPlane.metadata;
  const ref = { kind: secrets, namespace, name: assetsSecretName(name) };
  const assets = await kube.get(ref, signal);
  if (assets === undefined || !isControlledBy(assets, uid))
    throw new HttpRefusal(409, 'the files of the installer are not there yet', later);
  return assets;
}

const download = (name: string, body: string | Uint8Array<ArrayBuffer>): Response =>
  new Response(body, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"`,
    },
  });

/** Whether workers may get their Ignition: hosts are then added to a running cluster. */
const servesWorkers = (controlPlane: OpenShiftControlPlane | undefined): boolean =>
  controlPlane?.status?.initialization?.controlPlaneInitialized === true &&
  isConditionTrue(controlPlane.status.conditions, sharedConditions.configServerAvailable);

/** The fields of assisted-service's cluster that our agent reads; undefined ones are not sent. */
function showCluster({ stores, caller, request }: Call): Response {
  const { controlPlane, role, clusterId } = caller;
  const isAdded = role === 'worker' && servesWorkers(controlPlane);
  const areHostsShown = request.query('exclude-hosts') !== 'true';
  return Response.json({
    id: clusterId,
    kind: isAdded ? 'AddHostsCluster' : 'Cluster',
    hosts: areHostsShown
      ? hostsOf(stores, caller).map((one) => shownHost(one, role === 'bootstrap'))
      : undefined,
  });
}

/** The role of a host in the service's list: the bootstrap host is a master. */
const listedRole = ({ role }: ConfigView): 'master' | 'worker' =>
  role === 'worker' ? 'worker' : 'master';

function listHosts({ stores, caller, request }: Call): Response {
  const role = request.query('role');
  const listed = hostsOf(stores, caller).filter(
    (one) => role === undefined || listedRole(one) === role,
  );
  return Response.json(listed.map((one) => shownHost(one, false)));
}

/** The fields of assisted-service's host that our agent reads; undefined ones are not sent. */
function shownHost(view: ConfigView, withInventory: boolean): object {
  const { config, machine, cluster } = view;
  const { progress } = config.status ?? {};
  const { names, addresses } = reportedOf(machine);
  const [ipv6_addresses, ipv4_addresses] = [true, false].map((isV6) =>
    addresses.filter((one) => one.includes(':') === isV6),
  );
  return {
    id: config.metadata.uid,
    infra_env_id: cluster.metadata.uid,
    requested_hostname: givenName(config) ?? names[0] ?? machine.metadata.name,
    role: listedRole(view),
    status: serviceStatusOf(progress?.stage),
    progress: progress && {
      // A failed host stays at the stage of its failure.
      current_stage: progress.stage === 'Failed' ? failedStageOf(progress) : progress.stage,
    },
    inventory: withInventory
      ? JSON.stringify({ interfaces: [{ ipv4_addresses, ipv6_addresses }] })
      : undefined,
  };
}

/** Runs work in the order of arrival, with a maximum number at once. */
function inTurns(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

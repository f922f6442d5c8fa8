import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import { secrets } from '../../cluster/kinds.ts';
import { endOf, withoutSecretLooks } from '../../layering/registry/log-secrets.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { jsonIn } from '../../lib/json.ts';
import { masker } from '../../lib/masker.ts';
import { readLast } from '../../lib/read-up-to.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { Secret } from '../../model/secret.ts';
import { stages } from '../../model/stage.ts';
import {
  type HttpAnswer,
  type RouteRequest,
  type HttpRoute,
  jsonAnswer,
} from '../../ports/http-route.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import type { Ports } from '../../ports/ports.ts';
import { type BootstrapConfig, bootstrapConfigs, logKey, logSecretName, ownNames } from '../api.ts';
import { statusAfter, writeStatus } from '../bootstrap/conditions.ts';
import { decideProgress, type ReportedStage } from '../bootstrap/progress.ts';
import { hostLogBytes } from '../bootstrap/machine-ignition.ts';
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
  RefusedCall,
  reportedHost,
  requestLimit,
  requireBootstrap,
  requireOwn,
} from './access.ts';
import { clusterFile, hostIgnition } from './downloads.ts';
import { listedRole, shownCluster, shownHost } from './records.ts';
import { isClusterPaused, isControlledBy, refTo, secretData } from '../objects.ts';

/** What the inventory answers from. */
export interface InventoryScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly stores: BootstrapStores;
  readonly metrics?: Pick<ManagerMetrics, 'reportTaken'>;
}

interface Call extends InventoryScope {
  readonly inTurn: ReturnType<typeof inTurns>;
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

/** Each write has a connection to the API server of its own; more of them take longer, and not less, in all. */
const writesAtOnce = 32;

/** Refuses who asks for another host, or for another cluster. */
const own =
  (reply: Reply): Reply =>
  (call) => {
    requireOwn(call.caller, call.request.params);
    return reply(call);
  };

const noContent = own(() => ({ status: 204 }));

const download = (area: 'files' | 'credentials'): Rule => ({
  ...{ method: 'GET', path: `${cluster}/downloads/${area}` },
  reply: own(({ kube, caller, request: { signal, query } }) =>
    clusterFile({ kube, caller, signal }, area, query.get('file_name') ?? ''),
  ),
});

/** What an agent asks; the Ignition is under `infra-env`, singular, as in assisted-service. */
const rules: readonly Rule[] = [
  {
    // Hosts that are switched on together report together: whoever is refused comes again seconds later.
    ...{ method: 'PUT', path: `${host}/progress`, bodyLimit: reportLimit, atOnce: 1024 },
    reply: takeProgress,
  },
  {
    ...{ method: 'GET', path: `${base}/infra-env/{infraEnv}/hosts/{host}/downloads/ignition` },
    reply: own(({ kube, caller, request: { signal } }) => hostIgnition({ kube, caller, signal })),
  },
  download('files'),
  download('credentials'),
  { method: 'GET', path: cluster, reply: own(showCluster) },
  { method: 'GET', path: `${cluster}/hosts`, reply: own(listHosts) },
  { method: 'PUT', path: `${host}/logs-progress`, bodyLimit: reportLimit, reply: noContent },
  { method: 'PUT', path: `${cluster}/logs-progress`, bodyLimit: reportLimit, reply: noContent },
  {
    // A few at once: logs take no place of reports, and what is secret in them is looked for in one go.
    ...{ method: 'POST', path: `${cluster}/logs`, bodyLimit: logLimit, atOnce: 4 },
    ...{ deadline: minutes(10), reply: own(takeLogs) },
  },
];

/**
 * The inventory of the bootstrap provider: what assisted-service answers an agent, from the configs themselves. A report becomes
 * the status of its config by one write.
 */
export function inventoryRoutes(options: InventoryScope): readonly HttpRoute[] {
  const limit = requestLimit(options.clock);
  const inTurn = inTurns(writesAtOnce);
  return rules.map(({ reply, ...route }) => ({
    deadline: seconds(30),
    ...route,
    answer: async (request) => {
      const caller = callerOf(options.stores, request);
      limit(caller.hostId);
      return reply({ ...options, inTurn, request, caller });
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

/** A report becomes the status of its host; one of a host that is paused is to come again. */
async function takeProgress(call: Call): Promise<HttpAnswer> {
  const { stores, caller, request, clock, metrics } = call;
  const since = clock.elapsed();
  const view = reportedHost(stores, caller, request.params);
  const report = await reportIn(call);
  if (isClusterPaused(view.cluster, view.config))
    throw new RefusedCall(503, 'the cluster is paused', { 'retry-after': '30' });
  const received = { view, report, isOwn: view === caller };
  await call.inTurn(() => writeReport(call, received, request.signal));
  metrics?.reportTaken(clock.elapsed() - since);
  return { status: 200 };
}

interface Received {
  readonly view: ConfigView;
  readonly report: ReportedStage;
  /** It comes from the host itself. */
  readonly isOwn: boolean;
}

/** @throws RefusedCall 409 for a report that says less than what is known */
async function writeReport(
  { kube, clock }: Pick<Ports, 'kube' | 'clock'>,
  { view, report, isOwn }: Received,
  signal: AbortSignal,
): Promise<void> {
  const ladder = hostLadder(view);
  await writeStatus(
    kube,
    {
      ref: refTo(bootstrapConfigs, view.config),
      seen: view.config,
      change: (config) => {
        const now = clock.now();
        const decision = decideProgress(config.status?.progress, report, { ladder, isOwn, now });
        if (decision.kind === 'refused') throw new RefusedCall(409, decision.reason);
        return decision.kind === 'unchanged'
          ? undefined
          : statusAfter(config, { progress: decision.progress }, now);
      },
    },
    signal,
  );
}

/**
 * The end of the log of a host that has failed becomes a Secret beside its config. Archives, which other senders make, and the log of the controller
 * are taken, so that the host leaves in time, and not kept.
 */
async function takeLogs(call: Call): Promise<HttpAnswer> {
  const { caller, request } = call;
  const type = request.query.get('logs_type');
  if (type !== 'host' && type !== 'controller')
    throw new RefusedCall(422, 'logs_type in query should be one of [host controller]');
  if (type === 'controller') requireBootstrap(caller);
  const of = request.query.get('host_id') ?? caller.hostId;
  if (type === 'host') requireOwn(caller, { host: of });
  if (isClusterPaused(caller.cluster, caller.config))
    throw new RefusedCall(503, 'the cluster is paused', { 'retry-after': '30' });
  // Twice as much is masked as is kept, so that no secret of several lines is cut in two.
  const upload = await readLast(request.body, 2 * hostLogBytes);
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
  const shown = endOf(withoutSecretLooks(mask(text)), hostLogBytes);
  const own = logSecretName(name);
  const before = await kube.get({ kind: secrets, namespace, name: own }, request.signal);
  if (before !== undefined && !isControlledBy(before, config.metadata.uid))
    throw new RefusedCall(409, `Secret ${own} is of somebody else`);
  const metadata = {
    ...{ name: own, namespace, labels: { [ownNames.hostLog]: '' } },
    ownerReferences: configOwner(config),
  };
  const data = secretData({ [logKey]: gzipSync(shown) });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
  await kube.apply(secret, request.signal, { manager: 'bootwright-inventory' });
  const ref = { kind: bootstrapConfigs, namespace, name };
  const change = (seen: BootstrapConfig) => statusAfter(seen, { logSecretName: own }, clock.now());
  await writeStatus(kube, { ref, seen: config, change }, request.signal);
}

/** The text of the one file of an upload (RFC 7578), or its end; undefined of what is no text. */
function textOfUpload(upload: Buffer): string | undefined {
  const start = upload.indexOf('\r\n\r\n');
  const isWhole = upload.indexOf('--') === 0 && start >= 0;
  const end = upload.lastIndexOf('\r\n--');
  const file = upload.subarray(isWhole ? start + 4 : 0, end < 0 ? undefined : end);
  return file.includes(0) ? undefined : file.toString();
}

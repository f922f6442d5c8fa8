import type { Config } from '../../config/schema.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  HostRef,
  InstallationView,
  InstallingCluster,
  Inventory,
  InventoryHost,
  MonitoredOperator,
} from '../../ports/inventory.ts';
import { systemClock, systemRandom } from '../clock.ts';
import { type Follow, sharedFollows } from '../shared-follow.ts';
import { type Connection, connection, type ConnectionOptions } from './connection.ts';
import {
  type Call,
  id,
  type InventoryClient,
  inventoryClient,
  type InventoryOptions,
  type Upload,
} from './inventory-client.ts';

/** Ids at the service; a client that acts for no host has no host id. */
interface InventoryTarget {
  readonly service: Pick<Config['service'], 'api' | 'url' | 'token' | 'insecure'>;
  readonly cluster: Pick<Config['cluster'], 'id'> &
    Partial<Pick<Config['cluster'], 'infraEnvId' | 'hostId'>>;
}

/** Options for reaching the service. */
interface OpenOptions {
  /** Open connections to use. */
  readonly opened?: Connection | undefined;
  readonly network?: ConnectionOptions;
  readonly onRetry?: NonNullable<InventoryOptions['onRetry']>;
  readonly readToken?: InventoryOptions['readToken'];
  /** Limit of one report with its retries, and limit of any other call. */
  readonly reportLimit?: Millis;
  readonly callLimit?: Millis | undefined;
}

/** Opens the inventory service through its API version, for any command. */
export function openInventory(
  { service, cluster: { id, infraEnvId = '', hostId = '' } }: InventoryTarget,
  { opened, network, ...how }: OpenOptions,
): InventoryConnection {
  const options: InventoryOptions = {
    clock: systemClock,
    random: systemRandom,
    clusterId: id,
    infraEnvId,
    hostId,
    ...how,
    url: service.url.reveal(),
    token: service.token,
    opened: opened ?? connection({ ...network, isInsecure: service.insecure }),
  };
  return inventoryOf(service.api, options);
}

/** For calls that a wait repeats: retries below the polls would multiply the requests. */
const polled = { hasRequestId: false, retries: () => 0, limit: minutes(1) } as const;

/** The reporter itself retries a report that did not arrive; a refusal may not be final yet. */
const unlessPassing = (worth: number): number => (Number.isFinite(worth) ? worth : 0);

/** An inventory service with its connections. */
export interface InventoryConnection extends Inventory {
  readonly close: () => Promise<void>;
}

/** Whether a host takes part: a host that a user disabled is not installed, and not waited for. */
export const isEnabled = ({ status }: InventoryHost): boolean => status !== 'disabled';

type Api = Config['service']['api'];

/** Paths of the API versions; version 1 had another path until 2020-05-07. */
const bases: Readonly<Record<Api, string>> = {
  v2: '/api/assisted-install/v2',
  v1: '/api/assisted-install/v1',
  'bm-inventory-v1': '/api/bm-inventory/v1',
};

/**
 * The inventory service through one version of its API. Version 2 is in use since 2021-08. Version
 * 1, 2020 to 2022, has no infra-envs, one Ignition per role, and neither a state of logs nor logs
 * of the cluster.
 */
export function inventoryOf(api: Api, options: InventoryOptions): InventoryConnection {
  const isV2 = api === 'v2';
  const client = inventoryClient(options, bases[api]);
  const cluster = `clusters/${id(options.clusterId)}`;
  const limit = options.reportLimit ?? minutes(2);
  const whole = { method: 'GET', path: cluster } as const;
  const list = { method: 'GET', path: `${cluster}/hosts` } as const;
  const hostPath = ({ infraEnvId, hostId }: HostRef): string =>
    `${isV2 ? `infra-envs/${id(infraEnvId)}` : cluster}/hosts/${id(hostId)}`;
  const download = (path: string, query: Call['query'], signal: AbortSignal) =>
    client.download({ method: 'GET', path, query, hasRequestId: true }, signal);
  const file = (name: string, signal: AbortSignal, area = 'files') =>
    download(`${cluster}/downloads/${area}`, { file_name: name }, signal);
  const ifV2 = async (call: Omit<Call, 'method'>, method: Call['method'], signal: AbortSignal) => {
    signal.throwIfAborted();
    if (isV2) await client.send({ ...call, method }, signal);
  };
  const hostsOfV1 = async (call: Call, signal: AbortSignal): Promise<readonly InventoryHost[]> => {
    const listed = await client.json({ ...call, hasRequestId: true }, 'hosts', signal);
    // The cluster id replaces the infra-env id in version 1.
    const infraEnvId = options.clusterId;
    return listed.map((host) => ({ ...host, infraEnvId, role: roleOnDisk(host.role) }));
  };
  const hosts = async (role: string, more: Call['query'], signal: AbortSignal) => {
    if (isV2) return client.json({ ...polled, ...list, query: { role, ...more } }, 'hosts', signal);
    return (await hostsOfV1({ ...polled, ...list }, signal)).filter((one) => one.role === role);
  };
  return {
    ...installationCalls(client, options),
    close: client.close,
    report: (host, { stage, info }, signal) => {
      const body = { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) };
      const how = { hasRequestId: true, limit, retries: unlessPassing } as const;
      const path = `${hostPath(host)}/progress`;
      return client.send({ ...how, method: 'PUT', path, body }, signal);
    },
    hostIgnition: (role, signal) => {
      if (!isV2) return file(`${roleOnDisk(role)}.ign`, signal);
      // The path has singular "infra-env" only here.
      const host = `infra-env/${id(options.infraEnvId)}/hosts/${id(options.hostId)}`;
      return download(`${host}/downloads/ignition`, undefined, signal);
    },
    clusterFile: (name, signal) => file(name, signal),
    kubeconfig: (signal) => file('kubeconfig-noingress', signal, isV2 ? 'credentials' : 'files'),
    cluster: (signal) => {
      const query = isV2 ? { 'exclude-hosts': 'true' } : undefined;
      return client.json({ ...polled, ...whole, query }, 'cluster', signal);
    },
    hosts: (role, signal) => hosts(role, {}, signal),
    namedHosts: (role, signal) => hosts(role, { 'with-inventory': 'true' }, signal),
    enabledHosts: async (signal) => {
      const call: Call = { ...whole, query: { 'exclude-hosts': 'false' }, hasRequestId: true };
      const all = isV2
        ? await client.json(call, 'clusterHosts', signal)
        : await hostsOfV1({ ...list, hasRequestId: true }, signal);
      return all.filter(isEnabled);
    },
    logsState: (host, state, signal) => {
      const body = { logs_state: state };
      const path = `${hostPath(host)}/logs-progress`;
      return ifV2({ path, body, hasRequestId: false, limit }, 'PUT', signal);
    },
    clusterLogsState: (state, signal) => {
      const body = { logs_state: state };
      return ifV2(
        { path: `${cluster}/logs-progress`, body, hasRequestId: true, limit },
        'PUT',
        signal,
      );
    },
    uploadControllerLogs: (content, signal) => {
      const upload: Upload = {
        field: 'upfile',
        filename: 'controller_logs.tar.gz',
        contentType: 'application/x-gzip',
        content,
      };
      const query = { logs_type: 'controller' };
      return ifV2({ path: `${cluster}/logs`, query, upload, hasRequestId: true }, 'POST', signal);
    },
  };
}

/**
 * The role of the written disk: the bootstrap host becomes a master, and gets a master's Ignition.
 */
const roleOnDisk = (role: string): string => (role === 'bootstrap' ? 'master' : role);

/**
 * Retries for calls of assisted-installer-controller, which the controller repeats itself; an agent
 * has no such limit.
 */
const mostRetries = 15;

/** Limit of a call with its retries. */
const callLimit = minutes(2);

/** Time for which the service's answer about operators is reused. */
const operatorsAge: Millis = seconds(20);

type InstallationCall =
  | ('follow' | 'refresh' | 'operators' | 'overview')
  | ('reportFinalizing' | 'reportOperator' | 'uploadIngressCa' | 'complete');

/** Calls for the end of an installation; version 1 of the service has no stages for it. */
function installationCalls(
  client: InventoryClient,
  { clock, clusterId }: InventoryOptions,
): Pick<Inventory, InstallationCall> {
  const cluster = `clusters/${id(clusterId)}`;
  const usual = {
    hasRequestId: true,
    limit: callLimit,
    retries: (worth: number) => Math.min(worth, mostRetries),
  } as const;
  const send = (
    method: Call['method'],
    path: string,
    body: NonNullable<Call['body']>,
    signal: AbortSignal,
  ) => client.send({ ...usual, method, path: `${cluster}/${path}`, body }, signal);
  const query = { 'exclude-hosts': 'false' };
  // The next request comes anyway, so this one is not retried.
  const whole: Call = { ...polled, hasRequestId: true, method: 'GET', path: cluster, query };
  let known: { readonly operators: readonly MonitoredOperator[]; readonly at: Millis } | undefined;
  let reports = 0;
  return {
    ...clusterFollow(clock, (signal) => client.json(whole, 'installingCluster', signal)),
    overview: (signal) => client.json(whole, 'clusterOverview', signal),
    reportFinalizing: (stage, signal) =>
      send('PUT', 'progress', { finalizing_stage: stage }, signal),
    operators: async (signal) => {
      const path = `${cluster}/monitored-operators`;
      for (;;) {
        signal.throwIfAborted();
        if (known !== undefined && clock.elapsed() - known.at <= operatorsAge)
          return known.operators;
        const before = reports;
        const operators = await client.json({ ...usual, method: 'GET', path }, 'operators', signal);
        // An answer from before a report does not contain the report.
        if (before === reports) known = { operators, at: clock.elapsed() };
      }
    },
    reportOperator: async ({ name, version, status, statusInfo }, signal) => {
      const body = {
        name,
        status,
        ...(version === '' ? {} : { version }),
        ...(statusInfo === '' ? {} : { status_info: statusInfo }),
      };
      try {
        await send('PUT', 'monitored-operators', body, signal);
      } finally {
        known = undefined;
        reports += 1;
      }
    },
    uploadIngressCa: (pem, signal) => send('POST', 'uploads/ingress-cert', pem, signal),
    complete: ({ isSuccess, error, data }, signal) => {
      const body = {
        is_success: isSuccess,
        ...(error === '' ? {} : { error_info: error }),
        ...(data === undefined ? {} : { data }),
      };
      return send('POST', 'actions/complete-installation', body, signal);
    },
  };
}

/** Pause between two requests, and the shortest pause before an early request. */
const usualPause: Millis = seconds(20);
const shortestPause: Millis = seconds(5);

/** One request for all followers, while there are any; a new follower starts with the last view. */
function clusterFollow(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<InstallingCluster>,
): Pick<Inventory, 'follow' | 'refresh'> {
  let view: InstallationView = {};
  let last: Millis | undefined;
  let isUrgent = false;
  let wake = (): void => undefined;
  const pause = async (since: Millis, signal: AbortSignal): Promise<void> => {
    const rest = (of: Millis): Millis => Math.max(0, since + of - clock.elapsed());
    await clock.sleep(rest(shortestPause), signal);
    if (isUrgent) return;
    const woken = new AbortController();
    wake = () => {
      woken.abort();
    };
    await clock.sleep(rest(usualPause), AbortSignal.any([signal, woken.signal])).catch(() => {
      signal.throwIfAborted();
    });
  };
  const run: Follow<undefined, InstallationView> = async (_, show, signal) => {
    if (view.cluster !== undefined || view.lastError !== undefined) show(view);
    for (;;) {
      if (last !== undefined) await pause(last, signal);
      isUrgent = false;
      last = clock.elapsed();
      try {
        view = { cluster: await ask(signal) };
      } catch (error) {
        signal.throwIfAborted();
        view = { ...view, lastError: asAgentError(error) };
      }
      show(view);
    }
  };
  const follow = sharedFollows(run, () => 'cluster');
  return {
    refresh: () => {
      isUrgent = true;
      wake();
    },
    follow: (seen, signal) => follow(undefined, seen, signal),
  };
}

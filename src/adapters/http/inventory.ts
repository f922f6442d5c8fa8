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
import { systemClock } from '../clock.ts';
import { systemRandom } from '../random.ts';
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

/** What is known of the service and its cluster; who works for no host names none. */
interface InventoryTarget {
  readonly service: Pick<Config['service'], 'api' | 'url' | 'token' | 'insecure'>;
  readonly cluster: Pick<Config['cluster'], 'id'> &
    Partial<Pick<Config['cluster'], 'infraEnvId' | 'hostId'>>;
}

/** How the service is reached. */
interface OpenOptions {
  /** Connections that are open already. */
  readonly opened?: Connection | undefined;
  readonly network?: ConnectionOptions;
  readonly onRetry?: NonNullable<InventoryOptions['onRetry']>;
  readonly readToken?: InventoryOptions['readToken'];
  /** Of one report with its retries, and of any other call. */
  readonly reportLimit?: Millis;
  readonly callLimit?: Millis | undefined;
}

/** Opens the inventory service by the version of its interface, for whatever command. */
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
  switch (service.api) {
    case 'v2':
      return inventoryV2(options);
    case 'v1':
      return inventoryV1(options, '/api/assisted-install/v1');
    case 'bm-inventory-v1':
      return inventoryV1(options, '/api/bm-inventory/v1');
  }
}

const get = (path: string, query: Readonly<Record<string, string>>): Call => ({
  method: 'GET',
  path,
  query,
  hasRequestId: false,
});

/**
 * A call that a wait makes again and again: retries under its polls would make many of each. One
 * that hangs is given up after a minute.
 */
const polled = (call: Call): Call => ({ ...call, retries: () => 0, limit: minutes(1) });

/**
 * A report that did not get through is sent again by whoever made it; what may be final is not yet.
 */
const unlessPassing = (worth: number): number => (Number.isFinite(worth) ? worth : 0);

/** An inventory service, and the connections to it. */
export interface InventoryConnection extends Inventory {
  readonly close: () => Promise<void>;
}

const controllerLogs = (archive: Uint8Array): Upload => ({
  field: 'upfile',
  filename: 'controller_logs.tar.gz',
  contentType: 'application/x-gzip',
  content: archive,
});

/** A host that a user took out of the cluster is not installed, and not waited for. */
export const isEnabled = ({ status }: InventoryHost): boolean => status !== 'disabled';

/** Limit of one report with its retries, unless given. */
const usualReportLimit = minutes(2);

/** The inventory service by version 2 of its interface, in use since 2021-08. */
export function inventoryV2(options: InventoryOptions): InventoryConnection {
  const client = inventoryClient(options, '/api/assisted-install/v2');
  const cluster = `clusters/${id(options.clusterId)}`;
  const limit = options.reportLimit ?? usualReportLimit;
  const file = (area: 'files' | 'credentials', name: string): Call => ({
    ...get(`${cluster}/downloads/${area}`, { file_name: name }),
    hasRequestId: true,
  });
  return {
    ...installationCalls(client, options),
    close: client.close,
    report: (host, { stage, info }, signal) => {
      const body = { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) };
      const path = `${hostPath(host)}/progress`;
      const call = { method: 'PUT', path, body, hasRequestId: true, limit } as const;
      return client.send({ ...call, retries: unlessPassing }, signal);
    },
    hostIgnition: (_, signal) => {
      // Singular "infra-env", here alone.
      const host = `infra-env/${id(options.infraEnvId)}/hosts/${id(options.hostId)}`;
      const path = `${host}/downloads/ignition`;
      return client.download({ method: 'GET', path, hasRequestId: true }, signal);
    },
    clusterFile: (name, signal) => client.download(file('files', name), signal),
    kubeconfig: (signal) => client.download(file('credentials', 'kubeconfig-noingress'), signal),
    cluster: (signal) =>
      client.json(polled(get(cluster, { 'exclude-hosts': 'true' })), 'cluster', signal),
    hosts: (role, signal) =>
      client.json(polled(get(`${cluster}/hosts`, { role })), 'hosts', signal),
    namedHosts: (role, signal) => {
      const query = { role, 'with-inventory': 'true' };
      return client.json(polled(get(`${cluster}/hosts`, query)), 'hosts', signal);
    },
    enabledHosts: async (signal) => {
      const call = { ...get(cluster, { 'exclude-hosts': 'false' }), hasRequestId: true };
      return (await client.json(call, 'clusterHosts', signal)).filter(isEnabled);
    },
    logsState: (host, state, signal) => {
      const path = `${hostPath(host)}/logs-progress`;
      const body = { logs_state: state };
      return client.send({ method: 'PUT', path, body, hasRequestId: false, limit }, signal);
    },
    clusterLogsState: (state, signal) => {
      const path = `${cluster}/logs-progress`;
      const body = { logs_state: state };
      return client.send({ method: 'PUT', path, body, hasRequestId: true, limit }, signal);
    },
    uploadControllerLogs: (archive, signal) => {
      const query = { logs_type: 'controller' };
      const upload = controllerLogs(archive);
      const path = `${cluster}/logs`;
      return client.send({ method: 'POST', path, query, upload, hasRequestId: true }, signal);
    },
  };
}

const hostPath = ({ infraEnvId, hostId }: HostRef): string =>
  `infra-envs/${id(infraEnvId)}/hosts/${id(hostId)}`;

/** The two bases of version 1: until 2020-05-07, and from then on. */
type V1Base = '/api/bm-inventory/v1' | '/api/assisted-install/v1';

/**
 * The inventory service by version 1 of its interface, 2020 to 2022: no infra-envs, one Ignition
 * per role, and neither a state of logs nor logs of the cluster.
 */
export function inventoryV1(options: InventoryOptions, base: V1Base): InventoryConnection {
  const client = inventoryClient(options, base);
  const cluster = `clusters/${id(options.clusterId)}`;
  const file = (name: string, signal: AbortSignal) =>
    client.download(
      { ...get(`${cluster}/downloads/files`, { file_name: name }), hasRequestId: true },
      signal,
    );
  const listing: Call = { method: 'GET', path: `${cluster}/hosts`, hasRequestId: true };
  const allHosts = async (call: Call, signal: AbortSignal): Promise<readonly InventoryHost[]> => {
    const listed = await client.json(call, 'hosts', signal);
    // The cluster stands for the infra-env where there are none.
    const infraEnvId = options.clusterId;
    return listed.map((host) => ({ ...host, infraEnvId, role: roleOnDisk(host.role) }));
  };
  const hosts: Inventory['hosts'] = async (role, signal) =>
    (await allHosts(polled(listing), signal)).filter((host) => host.role === role);
  return {
    ...installationCalls(client, options),
    close: client.close,
    report: ({ hostId }, { stage, info }, signal) =>
      client.send(
        {
          method: 'PUT',
          path: `${cluster}/hosts/${id(hostId)}/progress`,
          body: { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) },
          hasRequestId: true,
          limit: options.reportLimit ?? usualReportLimit,
          retries: unlessPassing,
        },
        signal,
      ),
    hostIgnition: (role, signal) => file(`${roleOnDisk(role)}.ign`, signal),
    clusterFile: file,
    cluster: (signal) =>
      client.json(polled({ method: 'GET', path: cluster, hasRequestId: false }), 'cluster', signal),
    hosts,
    namedHosts: hosts,
    enabledHosts: async (signal) => (await allHosts(listing, signal)).filter(isEnabled),
    kubeconfig: (signal) => file('kubeconfig-noingress', signal),
    logsState: (_host, _state, signal) => notServed(signal),
    clusterLogsState: (_state, signal) => notServed(signal),
    uploadControllerLogs: (_archive, signal) => notServed(signal),
  };
}

/** The bootstrap host becomes a master, and gets a master's Ignition on its disk. */
const roleOnDisk = (role: string): string => (role === 'bootstrap' ? 'master' : role);

/** For calls that version 1 has not: it keeps no state of logs, and takes those of hosts alone. */
function notServed(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return Promise.resolve();
}

/**
 * Retries of assisted-installer-controller, which repeats its calls by itself; an agent has no
 * limit.
 */
const mostRetries = 15;
const fewer = (worth: number): number => Math.min(worth, mostRetries);

/** Of a call with its retries. */
const callLimit = minutes(2);

/** How long what the service said of its operators is not asked again. */
const operatorsAge: Millis = seconds(20);

type InstallationCall =
  | ('follow' | 'refresh' | 'operators' | 'overview')
  | ('reportFinalizing' | 'reportOperator' | 'uploadIngressCa' | 'complete');

/**
 * What the service is asked and told of the end of an installation; version 1 of it knows no stages
 * of that.
 */
function installationCalls(
  client: InventoryClient,
  { clock, clusterId }: InventoryOptions,
): Pick<Inventory, InstallationCall> {
  const cluster = `clusters/${id(clusterId)}`;
  const usual = { hasRequestId: true, limit: callLimit, retries: fewer } as const;
  // The next request comes anyway.
  const once = { hasRequestId: true, limit: minutes(1), retries: () => 0 } as const;
  const send = (call: Pick<Call, 'method' | 'path' | 'body'>, signal: AbortSignal) =>
    client.send({ ...usual, ...call }, signal);
  const query = { 'exclude-hosts': 'false' };
  const asked: Call = { ...once, method: 'GET', path: cluster, query };
  const listed: Call = { ...usual, method: 'GET', path: `${cluster}/monitored-operators` };
  const known = kept(clock, (signal) => client.json(listed, 'operators', signal));
  return {
    ...clusterFollow(clock, (signal) => client.json(asked, 'installingCluster', signal)),
    overview: (signal) => client.json(asked, 'clusterOverview', signal),
    reportFinalizing: (stage, signal) => {
      const body = { finalizing_stage: stage };
      return send({ method: 'PUT', path: `${cluster}/progress`, body }, signal);
    },
    operators: known.get,
    reportOperator: async ({ name, version, status, statusInfo }, signal) => {
      const body = {
        name,
        status,
        ...(version === '' ? {} : { version }),
        ...(statusInfo === '' ? {} : { status_info: statusInfo }),
      };
      try {
        await send({ method: 'PUT', path: listed.path, body }, signal);
      } finally {
        known.forget();
      }
    },
    uploadIngressCa: (body, signal) =>
      send({ method: 'POST', path: `${cluster}/uploads/ingress-cert`, body }, signal),
    complete: ({ isSuccess, error, data }, signal) => {
      const body = {
        is_success: isSuccess,
        ...(error === '' ? {} : { error_info: error }),
        ...(data === undefined ? {} : { data }),
      };
      return send(
        { method: 'POST', path: `${cluster}/actions/complete-installation`, body },
        signal,
      );
    },
  };
}

type Operators = readonly MonitoredOperator[];

/** Keeps an answer as long as it may be shown. */
function kept(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<Operators>,
): {
  readonly get: (signal: AbortSignal) => Promise<Operators>;
  readonly forget: () => void;
} {
  let last: { readonly operators: Operators; readonly at: Millis } | undefined;
  let forgotten = 0;
  return {
    get: async (signal) => {
      for (;;) {
        signal.throwIfAborted();
        if (last !== undefined && clock.elapsed() - last.at <= operatorsAge) return last.operators;
        const before = forgotten;
        const operators = await ask(signal);
        // What was asked before a report says nothing of it.
        if (before !== forgotten) continue;
        last = { operators, at: clock.elapsed() };
        return operators;
      }
    },
    forget: () => {
      last = undefined;
      forgotten += 1;
    },
  };
}

const usualPause: Millis = seconds(20);
/** However urgent it is to somebody. */
const shortestPause: Millis = seconds(5);

/**
 * One request for all who follow, while anybody does; a later one starts with what was seen before.
 */
function clusterFollow(
  clock: Clock,
  ask: (signal: AbortSignal) => Promise<InstallingCluster>,
): Pick<Inventory, 'follow' | 'refresh'> {
  const { sleep, refresh } = pacer(clock);
  let view: InstallationView = {};
  const run: Follow<undefined, InstallationView> = async (_, show, signal) => {
    if (view.cluster !== undefined || view.lastError !== undefined) show(view);
    for (;;) {
      await sleep(signal);
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
  return { refresh, follow: (seen, signal) => follow(undefined, seen, signal) };
}

/** Says when the next request may be made: after the usual pause, or sooner where it is urgent. */
function pacer(clock: Clock): {
  readonly sleep: (signal: AbortSignal) => Promise<void>;
  readonly refresh: () => void;
} {
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
  return {
    sleep: async (signal) => {
      if (last !== undefined) await pause(last, signal);
      isUrgent = false;
      last = clock.elapsed();
    },
    refresh: () => {
      isUrgent = true;
      wake();
    },
  };
}

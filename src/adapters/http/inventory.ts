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

/** Of a call that a wait repeats: retries below its polls would make many of each. */
const polled = { hasRequestId: false, retries: () => 0, limit: minutes(1) } as const;

/** The reporter sends a report again that did not get through; a refusal may not be final yet. */
const unlessPassing = (worth: number): number => (Number.isFinite(worth) ? worth : 0);

/** An inventory service, and the connections to it. */
export interface InventoryConnection extends Inventory {
  readonly close: () => Promise<void>;
}

/** A host that a user took out of the cluster is not installed, and not waited for. */
export const isEnabled = ({ status }: InventoryHost): boolean => status !== 'disabled';

/** Limit of one report with its retries, unless given. */
const usualReportLimit = minutes(2);

/** Sends a stage of a host, whose place depends on the version of the interface. */
const reportTo =
  (
    client: InventoryClient,
    limit: Millis,
    pathOf: (host: HostRef) => string,
  ): Inventory['report'] =>
  (host, { stage, info }, signal) =>
    client.send(
      {
        method: 'PUT',
        path: `${pathOf(host)}/progress`,
        body: { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) },
        hasRequestId: true,
        limit,
        retries: unlessPassing,
      },
      signal,
    );

/** The inventory service by version 2 of its interface, in use since 2021-08. */
export function inventoryV2(options: InventoryOptions): InventoryConnection {
  const client = inventoryClient(options, '/api/assisted-install/v2');
  const cluster = `clusters/${id(options.clusterId)}`;
  const limit = options.reportLimit ?? usualReportLimit;
  const hostPath = ({ infraEnvId, hostId }: HostRef): string =>
    `infra-envs/${id(infraEnvId)}/hosts/${id(hostId)}`;
  const file = (area: 'files' | 'credentials', name: string, signal: AbortSignal) => {
    const [path, query] = [`${cluster}/downloads/${area}`, { file_name: name }];
    return client.download({ method: 'GET', path, query, hasRequestId: true }, signal);
  };
  const hosts = (query: Readonly<Record<string, string>>, signal: AbortSignal) =>
    client.json({ ...polled, method: 'GET', path: `${cluster}/hosts`, query }, 'hosts', signal);
  const putState = (of: string, state: string, hasRequestId: boolean, signal: AbortSignal) => {
    const [path, body] = [`${of}/logs-progress`, { logs_state: state }];
    return client.send({ method: 'PUT', path, body, hasRequestId, limit }, signal);
  };
  return {
    ...installationCalls(client, options),
    close: client.close,
    report: reportTo(client, limit, hostPath),
    hostIgnition: (_, signal) => {
      // Singular "infra-env", here alone.
      const host = `infra-env/${id(options.infraEnvId)}/hosts/${id(options.hostId)}`;
      const path = `${host}/downloads/ignition`;
      return client.download({ method: 'GET', path, hasRequestId: true }, signal);
    },
    clusterFile: (name, signal) => file('files', name, signal),
    kubeconfig: (signal) => file('credentials', 'kubeconfig-noingress', signal),
    cluster: (signal) => {
      const query = { 'exclude-hosts': 'true' };
      return client.json({ ...polled, method: 'GET', path: cluster, query }, 'cluster', signal);
    },
    hosts: (role, signal) => hosts({ role }, signal),
    namedHosts: (role, signal) => hosts({ role, 'with-inventory': 'true' }, signal),
    enabledHosts: async (signal) => {
      const query = { 'exclude-hosts': 'false' };
      const call = { method: 'GET', path: cluster, query, hasRequestId: true } as const;
      return (await client.json(call, 'clusterHosts', signal)).filter(isEnabled);
    },
    logsState: (host, state, signal) => putState(hostPath(host), state, false, signal),
    clusterLogsState: (state, signal) => putState(cluster, state, true, signal),
    uploadControllerLogs: (content, signal) => {
      const upload: Upload = {
        field: 'upfile',
        filename: 'controller_logs.tar.gz',
        contentType: 'application/x-gzip',
        content,
      };
      const [path, query] = [`${cluster}/logs`, { logs_type: 'controller' }];
      return client.send({ method: 'POST', path, query, upload, hasRequestId: true }, signal);
    },
  };
}

/** The two bases of version 1: until 2020-05-07, and from then on. */
type V1Base = '/api/bm-inventory/v1' | '/api/assisted-install/v1';

/**
 * The inventory service by version 1 of its interface, 2020 to 2022: no infra-envs, one Ignition
 * per role, and neither a state of logs nor logs of the cluster.
 */
export function inventoryV1(options: InventoryOptions, base: V1Base): InventoryConnection {
  const client = inventoryClient(options, base);
  const cluster = `clusters/${id(options.clusterId)}`;
  const file: Inventory['clusterFile'] = (name, signal) => {
    const [path, query] = [`${cluster}/downloads/files`, { file_name: name }];
    return client.download({ method: 'GET', path, query, hasRequestId: true }, signal);
  };
  const allHosts = async (
    call: Pick<Call, 'hasRequestId' | 'retries' | 'limit'>,
    signal: AbortSignal,
  ): Promise<readonly InventoryHost[]> => {
    const asked: Call = { ...call, method: 'GET', path: `${cluster}/hosts` };
    const listed = await client.json(asked, 'hosts', signal);
    // The cluster stands for the infra-env where there are none.
    const infraEnvId = options.clusterId;
    return listed.map((host) => ({ ...host, infraEnvId, role: roleOnDisk(host.role) }));
  };
  const hosts: Inventory['hosts'] = async (role, signal) =>
    (await allHosts({ ...polled, hasRequestId: true }, signal)).filter((one) => one.role === role);
  const notServed = (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    return Promise.resolve();
  };
  return {
    ...installationCalls(client, options),
    close: client.close,
    report: reportTo(
      client,
      options.reportLimit ?? usualReportLimit,
      ({ hostId }) => `${cluster}/hosts/${id(hostId)}`,
    ),
    hostIgnition: (role, signal) => file(`${roleOnDisk(role)}.ign`, signal),
    clusterFile: file,
    cluster: (signal) =>
      client.json({ ...polled, method: 'GET', path: cluster }, 'cluster', signal),
    hosts,
    namedHosts: hosts,
    enabledHosts: async (signal) =>
      (await allHosts({ hasRequestId: true }, signal)).filter(isEnabled),
    kubeconfig: (signal) => file('kubeconfig-noingress', signal),
    logsState: (_host, _state, signal) => notServed(signal),
    clusterLogsState: (_state, signal) => notServed(signal),
    uploadControllerLogs: (_archive, signal) => notServed(signal),
  };
}

/** The bootstrap host becomes a master, and gets a master's Ignition on its disk. */
const roleOnDisk = (role: string): string => (role === 'bootstrap' ? 'master' : role);

/**
 * Retries of assisted-installer-controller, which repeats its calls by itself; an agent has no
 * limit.
 */
const mostRetries = 15;

/** Of a call with its retries. */
const callLimit = minutes(2);

/** How long the answer of the service of its operators is used again. */
const operatorsAge: Millis = seconds(20);

type InstallationCall =
  | ('follow' | 'refresh' | 'operators' | 'overview')
  | ('reportFinalizing' | 'reportOperator' | 'uploadIngressCa' | 'complete');

/** The calls for the end of an installation; version 1 of the service knows no stages of that. */
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
  // The next request comes anyway.
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
        // An answer from before a report says nothing of it.
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

/** Between two requests; of one that is wanted sooner, the shortest. */
const usualPause: Millis = seconds(20);
const shortestPause: Millis = seconds(5);

/**
 * One request for all who follow, while anybody does; a later one starts with what was seen before.
 */
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

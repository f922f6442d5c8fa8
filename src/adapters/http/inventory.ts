import {
  type Call,
  id,
  inventoryClient,
  type InventoryOptions,
  type Upload,
} from './inventory-client.ts';
import { minutes } from '../../model/duration.ts';
import type { HostRef, Inventory, InventoryHost } from '../../ports/inventory.ts';

const get = (path: string, query: Readonly<Record<string, string>>): Call => ({
  method: 'GET',
  path,
  query,
  hasRequestId: false,
});

/**
 * A call that a wait makes again and again: retries under its polls would make many of each. One that hangs
 * is given up after a minute.
 */
const polled = (call: Call): Call => ({ ...call, retries: () => 0, limit: minutes(1) });

/** A report that did not get through is sent again by whoever made it; what may be final is not yet. */
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
export type V1Base = '/api/bm-inventory/v1' | '/api/assisted-install/v1';

/**
 * The inventory service by version 1 of its interface, 2020 to 2022: no infra-envs, one Ignition per
 * role, and neither a state of logs nor logs of the cluster.
 */
export function inventoryV1(options: InventoryOptions, base: V1Base): InventoryConnection {
  const client = inventoryClient(options, base);
  const cluster = `clusters/${id(options.clusterId)}`;
  const file = (name: string, signal: AbortSignal) =>
    client.download(
      {
        method: 'GET',
        path: `${cluster}/downloads/files`,
        query: { file_name: name },
        hasRequestId: true,
      },
      signal,
    );
  const allHosts = async (signal: AbortSignal): Promise<readonly InventoryHost[]> => {
    const call = { method: 'GET', path: `${cluster}/hosts`, hasRequestId: true } as const;
    const listed = await client.json(call, 'hosts', signal);
    // The cluster stands for the infra-env where there are none.
    const infraEnvId = options.clusterId;
    return listed.map((host) => ({ ...host, infraEnvId, role: roleOnDisk(host.role) }));
  };
  const hosts: Inventory['hosts'] = async (role, signal) =>
    (await allHosts(signal)).filter((host) => host.role === role);
  return {
    close: client.close,
    report: ({ hostId }, { stage, info }, signal) =>
      client.send(
        {
          method: 'PUT',
          path: `${cluster}/hosts/${id(hostId)}/progress`,
          body: { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) },
          hasRequestId: true,
          limit: options.reportLimit ?? usualReportLimit,
        },
        signal,
      ),
    hostIgnition: (role, signal) => file(`${roleOnDisk(role)}.ign`, signal),
    clusterFile: file,
    cluster: (signal) =>
      client.json({ method: 'GET', path: cluster, hasRequestId: false }, 'cluster', signal),
    hosts,
    namedHosts: hosts,
    enabledHosts: async (signal) => (await allHosts(signal)).filter(isEnabled),
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

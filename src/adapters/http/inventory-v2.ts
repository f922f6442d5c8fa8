import { minutes } from '../../model/duration.ts';
import type { HostRef, Inventory, InventoryHost } from '../../ports/inventory.ts';
import { type Call, inventoryClient, type InventoryOptions } from './inventory-client.ts';
import type { Upload } from './multipart.ts';

const id = encodeURIComponent;

const get = (path: string, query: Readonly<Record<string, string>>): Call => ({
  method: 'GET',
  path,
  query,
  hasRequestId: false,
});

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

/** How long one report is tried, unless told otherwise. */
export const usualReportLimit = minutes(2);

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
      return client.tell({ method: 'PUT', path, body, hasRequestId: true, limit }, signal);
    },
    hostIgnition: (_, signal) => {
      // Singular "infra-env", here alone.
      const host = `infra-env/${id(options.infraEnvId)}/hosts/${id(options.hostId)}`;
      const path = `${host}/downloads/ignition`;
      return client.download({ method: 'GET', path, hasRequestId: true }, signal);
    },
    clusterFile: (name, signal) => client.download(file('files', name), signal),
    kubeconfig: (signal) => client.download(file('credentials', 'kubeconfig-noingress'), signal),
    cluster: (signal) => client.json(get(cluster, { 'exclude-hosts': 'true' }), 'cluster', signal),
    hosts: (role, signal) => client.json(get(`${cluster}/hosts`, { role }), 'hosts', signal),
    enabledHosts: async (signal) => {
      const call = { ...get(cluster, { 'exclude-hosts': 'false' }), hasRequestId: true };
      return (await client.json(call, 'clusterHosts', signal)).filter(isEnabled);
    },
    logsState: (host, state, signal) => {
      const path = `${hostPath(host)}/logs-progress`;
      const body = { logs_state: state };
      return client.tell({ method: 'PUT', path, body, hasRequestId: false, limit }, signal);
    },
    clusterLogsState: (state, signal) => {
      const path = `${cluster}/logs-progress`;
      const body = { logs_state: state };
      return client.tell({ method: 'PUT', path, body, hasRequestId: true, limit }, signal);
    },
    uploadControllerLogs: (archive, signal) => {
      const query = { logs_type: 'controller' };
      const upload = controllerLogs(archive);
      const path = `${cluster}/logs`;
      return client.tell({ method: 'POST', path, query, upload, hasRequestId: true }, signal);
    },
  };
}

const hostPath = ({ infraEnvId, hostId }: HostRef): string =>
  `infra-envs/${id(infraEnvId)}/hosts/${id(hostId)}`;

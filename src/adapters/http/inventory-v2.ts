import { minutes } from '../../model/duration.ts';
import type { Inventory } from '../../ports/inventory.ts';
import { type Call, inventoryClient, type InventoryOptions } from './inventory-client.ts';
import { WireCluster, WireHosts } from './inventory-schema.ts';

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

/** How long one report is tried, unless told otherwise. */
export const usualReportLimit = minutes(2);

/** The inventory service by version 2 of its interface, in use since 2021-08. */
export function inventoryV2(options: InventoryOptions): InventoryConnection {
  const client = inventoryClient(options, '/api/assisted-install/v2');
  const cluster = `clusters/${id(options.clusterId)}`;
  const hostPath = (host: { readonly infraEnvId: string; readonly hostId: string }): string =>
    `infra-envs/${id(host.infraEnvId)}/hosts/${id(host.hostId)}`;
  return {
    close: client.close,
    report: (host, { stage, info }, signal) =>
      client.tell(
        {
          method: 'PUT',
          path: `${hostPath(host)}/progress`,
          body: { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) },
          hasRequestId: true,
          limit: options.reportLimit ?? usualReportLimit,
        },
        signal,
      ),
    hostIgnition: (_, signal) =>
      client.download(
        {
          method: 'GET',
          // Singular "infra-env", here alone.
          path: `infra-env/${id(options.infraEnvId)}/hosts/${id(options.hostId)}/downloads/ignition`,
          hasRequestId: true,
        },
        signal,
      ),
    clusterFile: (name, signal) =>
      client.download(
        {
          method: 'GET',
          path: `${cluster}/downloads/files`,
          query: { file_name: name },
          hasRequestId: true,
        },
        signal,
      ),
    cluster: (signal) =>
      client.json(get(cluster, { 'exclude-hosts': 'true' }), WireCluster, signal),
    hosts: (role, signal) => client.json(get(`${cluster}/hosts`, { role }), WireHosts, signal),
    logsState: (host, state, signal) =>
      client.tell(
        {
          method: 'PUT',
          path: `${hostPath(host)}/logs-progress`,
          body: { logs_state: state },
          hasRequestId: false,
          limit: options.reportLimit ?? usualReportLimit,
        },
        signal,
      ),
  };
}

import type { InventoryOptions } from './inventory-client.ts';
import { inventoryClient } from './inventory-client.ts';
import { WireCluster, WireHosts } from './inventory-schema.ts';
import { type InventoryConnection, usualReportLimit } from './inventory-v2.ts';

/** The two bases of version 1: until 2020-05-07, and from then on. */
export type V1Base = '/api/bm-inventory/v1' | '/api/assisted-install/v1';

const id = encodeURIComponent;

/**
 * The inventory service by version 1 of its interface, 2020 to 2022: no infra-envs, one Ignition per
 * role, and no state of logs.
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
  return {
    close: client.close,
    report: ({ hostId }, { stage, info }, signal) =>
      client.tell(
        {
          method: 'PUT',
          path: `${cluster}/hosts/${id(hostId)}/progress`,
          body: { current_stage: stage, ...(info === '' ? {} : { progress_info: info }) },
          hasRequestId: true,
          limit: options.reportLimit ?? usualReportLimit,
        },
        signal,
      ),
    hostIgnition: (role, signal) => file(`${fileRole(role)}.ign`, signal),
    clusterFile: file,
    cluster: (signal) =>
      client.json({ method: 'GET', path: cluster, hasRequestId: false }, WireCluster, signal),
    hosts: async (role, signal) => {
      const all = await client.json(
        { method: 'GET', path: `${cluster}/hosts`, hasRequestId: false },
        WireHosts,
        signal,
      );
      return all.filter((host) => fileRole(host.role) === role);
    },
    // There is no such call in version 1.
    logsState: (_host, _state, signal) => {
      signal.throwIfAborted();
      return Promise.resolve();
    },
  };
}

/** The bootstrap host becomes a master, and gets a master's Ignition on its disk. */
const fileRole = (role: string): string => (role === 'bootstrap' ? 'master' : role);

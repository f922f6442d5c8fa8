import type { InventoryHost } from '../../ports/inventory.ts';
import type { InventoryOptions } from './inventory-client.ts';
import { inventoryClient } from './inventory-client.ts';
import { type InventoryConnection, isEnabled, usualReportLimit } from './inventory-v2.ts';

/** The two bases of version 1: until 2020-05-07, and from then on. */
export type V1Base = '/api/bm-inventory/v1' | '/api/assisted-install/v1';

const id = encodeURIComponent;

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
  const hosts = async (signal: AbortSignal): Promise<readonly InventoryHost[]> => {
    const call = { method: 'GET', path: `${cluster}/hosts`, hasRequestId: true } as const;
    const listed = await client.json(call, 'hosts', signal);
    // The cluster stands for the infra-env where there are none.
    const infraEnvId = options.clusterId;
    return listed.map((host) => ({ ...host, infraEnvId, role: roleOnDisk(host.role) }));
  };
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
    hostIgnition: (role, signal) => file(`${roleOnDisk(role)}.ign`, signal),
    clusterFile: file,
    cluster: (signal) =>
      client.json({ method: 'GET', path: cluster, hasRequestId: false }, 'cluster', signal),
    hosts: async (role, signal) => (await hosts(signal)).filter((host) => host.role === role),
    enabledHosts: async (signal) => (await hosts(signal)).filter(isEnabled),
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

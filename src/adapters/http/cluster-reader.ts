import { minutes } from '../../model/duration.ts';
import type { ClusterOverview } from '../../ports/installation.ts';
import { type Call, id, inventoryClient, type InventoryOptions } from './inventory-client.ts';

/** Reads a cluster for somebody who watches it. */
export interface ClusterReader {
  /**
   * Asks once; whoever watches asks again.
   * @throws AgentError `inventory.*`
   */
  readonly read: (signal: AbortSignal) => Promise<ClusterOverview>;
  readonly close: () => Promise<void>;
}

/** Reads a cluster by version 2 of the service's interface, which has its hosts, operators and times in one answer. */
export function clusterReader(options: InventoryOptions): ClusterReader {
  const client = inventoryClient(options, '/api/assisted-install/v2');
  const call: Call = {
    method: 'GET',
    path: `clusters/${id(options.clusterId)}`,
    query: { 'exclude-hosts': 'false' },
    hasRequestId: true,
    limit: minutes(1),
    retries: () => 0,
  };
  return {
    read: (signal) => client.json(call, 'clusterOverview', signal),
    close: client.close,
  };
}

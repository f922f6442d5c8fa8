/**
 * How a person resets a cluster at its service (assisted-service, `V2ResetCluster`): the button and
 * the call.
 */
export const resetCall = (clusterId = ''): string =>
  `"Reset Cluster" in its UI, or POST /api/assisted-install/v2/clusters/${clusterId || 'CLUSTER_ID'}/actions/reset`;

/**
 * Whether the service of a host has heard of a failure: it refuses the host then until its cluster
 * is reset. A failure to reach the service is not reported to it, nor a second agent on the host.
 */
export const isKnownToService = (code: string): boolean =>
  !code.startsWith('inventory.') && code !== 'cli.already-running';

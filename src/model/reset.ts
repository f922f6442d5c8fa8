/**
 * How a person resets a cluster at its service (assisted-service, `V2ResetCluster`): the button and
 * the call.
 */
export const resetCall = (clusterId = ''): string =>
  `"Reset Cluster" in its UI, or POST /api/assisted-install/v2/clusters/${clusterId || 'CLUSTER_ID'}/actions/reset`;

/**
 * How a person resets a cluster at its service (assisted-service, `V2ResetCluster`): the button and
 * the call.
 */
export const resetCall = (clusterId = ''): string =>
  `"Reset Cluster" in its UI, or POST /api/assisted-install/v2/clusters/${clusterId || 'CLUSTER_ID'}/actions/reset`;

const rerun = String.raw`run the same "podman run"(?: or "[^"]+")? line again`;
const reinstall =
  '(?:boot the live medium (?:again, which installs from the beginning|and install again)|install again)';
const rerunAtEnd = new RegExp(`(?:[,;] )?(?:and |then |so )*(?:${rerun}|${reinstall})$`);
const rerunInside = new RegExp(rerun, 'g');

/**
 * The next action after a failure that the service has heard of. It starts no agent of such a host
 * until its cluster is reset, and asks then for a boot from the discovery image (assisted-service,
 * `resetting-pending-user-action`).
 */
export function hintWithReset(hint: string, clusterId: string): string {
  const before = hint.replace(rerunAtEnd, '').replaceAll(rerunInside, 'install again');
  const reset = `reset the cluster at the service (${resetCall(clusterId)}), boot its hosts from the discovery image again and install it`;
  return before === '' ? reset : `${before}; then ${reset}`;
}

/**
 * Whether the service of a host has heard of a failure: it refuses the host then until its cluster
 * is reset. A failure to reach the service is not reported to it, nor a second agent on the host.
 */
export const isKnownToService = (code: string): boolean =>
  !code.startsWith('inventory.') && code !== 'cli.already-running';

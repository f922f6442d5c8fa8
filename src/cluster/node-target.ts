import type { InstallConfig } from './install-config.ts';
import type { ControlPlaneRole } from './node.ts';

/** Masters that must be there before the bootstrap host may go: two keep etcd able to write. */
const enoughMasters = 2;

/**
 * How many nodes of a role must be Ready before the bootstrap host goes on; 0: none is waited for.
 * One of the masters is the bootstrap host itself (assisted-installer, `waitForNodes`).
 */
export function nodeTarget(role: ControlPlaneRole, config: InstallConfig): number {
  if (role === 'arbiter') return config.arbiterReplicas < 1 ? 0 : 1;
  return Math.max(0, Math.min(config.controlPlaneReplicas - 1, enoughMasters));
}

import type { Config } from '../config/schema.ts';
import type { Role } from '../engine/role.ts';
import type { InstallWorld } from '../steps/step.ts';

/** Loads the role that `chooseRole` takes, and the steps of no other. */
export async function loadRole({ role, cluster }: Config): Promise<Role<InstallWorld>> {
  if (role === 'worker') return (await import('./worker.ts')).worker;
  if (cluster.controlPlaneCount === 1) return (await import('./single-node.ts')).singleNode;
  if (role === 'bootstrap') return (await import('./bootstrap.ts')).bootstrapHost;
  return (await import('./master.ts'))[role];
}

import type { Config } from '../config/schema.ts';
import type { Role } from '../engine/role.ts';
import type { InstallWorld } from '../steps/step.ts';
import { bootstrapHost } from './bootstrap.ts';
import { arbiter, master } from './master.ts';
import { singleNode } from './single-node.ts';
import { worker } from './worker.ts';

/** Every role that installs a host. */
export const allRoles: readonly Role<InstallWorld>[] = [
  bootstrapHost,
  master,
  arbiter,
  worker,
  singleNode,
];

/** The role for a configuration. One control-plane node means the single-node flow. */
export function chooseRole({ role, cluster }: Config): Role<InstallWorld> {
  if (role === 'worker') return worker;
  if (cluster.controlPlaneCount === 1) return singleNode;
  switch (role) {
    case 'master':
      return master;
    case 'arbiter':
      return arbiter;
    case 'bootstrap':
      return bootstrapHost;
  }
}

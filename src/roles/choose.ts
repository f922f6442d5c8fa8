import type { Config } from '../config/schema.ts';
import type { Role } from '../engine/role.ts';
import type { Ports } from '../ports/ports.ts';
import { roleFailure } from './failures.ts';
import { arbiter, master } from './master.ts';
import { worker } from './worker.ts';

/** Every role of this build. */
export const allRoles: readonly Role<Config, Ports>[] = [master, arbiter, worker];

/**
 * The role that a configuration asks for. One control-plane node means the single-node flow.
 * @throws AgentError `role.not-built` for the bootstrap host and single-node clusters
 */
export function chooseRole({ role, cluster }: Config): Role<Config, Ports> {
  if (role === 'worker') return worker;
  if (cluster.controlPlaneCount === 1) throw notBuilt('single-node clusters');
  switch (role) {
    case 'master':
      return master;
    case 'arbiter':
      return arbiter;
    case 'bootstrap':
      throw notBuilt('the role bootstrap');
  }
}

const notBuilt = (what: string): Error =>
  roleFailure('role.not-built', `${what}: not part of this build`);

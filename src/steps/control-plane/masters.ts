import type { InventoryHost } from '../../ports/inventory.ts';

/** A worker may start when so many control-plane hosts are done (assisted-installer, same rule). */
const enough = 2;

/** What a look at the control plane showed. */
export interface ControlPlaneLook {
  readonly isReady: boolean;
  /** What is missing, for people: `1 of 2 masters are done: m2 is Joined`. */
  readonly status: string;
}

/**
 * Decides whether a worker may go on. Arbiters count as masters: of two masters and an arbiter the
 * bootstrap host is one, and it cannot be done before the others.
 */
export function lookAtControlPlane(hosts: readonly InventoryHost[]): ControlPlaneLook {
  const done = hosts.filter(({ stage }) => stage === 'Done').length;
  const others = hosts
    .filter(({ stage }) => stage !== 'Done')
    .map(({ name, id, stage, status }) => `${name === '' ? id : name} is ${stage ?? status}`)
    .sort();
  const missing = others.length === 0 ? 'no other master is known' : others.join(', ');
  return {
    isReady: done >= enough,
    status: `${done} of ${enough} masters are done: ${missing}`,
  };
}

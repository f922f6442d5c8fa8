import type { RollOutSnapshot } from '../../src/layering/roll-out/progress.ts';
import { layeredCluster, type LayeredPool } from './layered-pool.ts';

/** The time of all readings. */
export const rollOutNow = Date.parse('2026-11-23T12:00:00Z');

/** A layered cluster whose operator runs the pools, with the objects that explain its roll-outs. */
export const rollOutCluster = (
  change: LayeredPool = {},
  more: Partial<RollOutSnapshot> = {},
): RollOutSnapshot => ({
  ...layeredCluster(change),
  operator: {
    deployments: [{ metadata: { name: 'machine-config-controller' } }],
    pods: [],
    leases: [],
    now: rollOutNow,
  },
  lease: undefined,
  pods: [],
  budgets: [],
  now: rollOutNow,
  ...more,
});

import { type Emit, notesOf } from '../../engine/events.ts';
import { leaseObserver } from '../../layering/roll-out/ownership.ts';
import { seconds } from '../../model/duration.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Controllers } from '../../kube/manager.ts';
import { drainController, watchDrains } from './drain.ts';
import { rollOutController } from './roll-out.ts';
import { type PoolScope, poolStores, watchPools } from './stores.ts';

/** Time in which the events of a pool are gathered for one decision. */
const gathered = seconds(1);

/** Interval of decisions for changes by time alone, such as a lease that is not renewed. */
const decideAgain = seconds(30);

/**
 * The controller of node pools: rolls out configurations and images to the nodes of pools that the
 * cluster's own operator does not run. It chooses neither: both are in the pool and its
 * MachineOSConfig.
 */
export function poolControllers({
  emit,
  ...scope
}: Pick<Ports, 'kube' | 'clock'> & { readonly namespace: string; readonly emit: Emit }): Omit<
  Controllers,
  'lease'
> {
  const stores = poolStores(scope);
  const observed = leaseObserver(scope.clock);
  const scopeOf = (id: string): PoolScope => ({ ...scope, observed, note: notesOf(emit, id) });
  const rollOut = 'node-controller/roll-out';
  const drains = 'node-controller/drain-nodes';
  const reads = Object.values(stores).flat();
  const { reconcile, ...rolling } = rollOutController(scopeOf(rollOut), stores);
  return {
    name: 'node-controller',
    controllers: [
      {
        id: rollOut,
        title: 'Roll out configurations and images to the nodes of pools',
        idle: 'the pools have nothing to roll out',
        about: (pool) => `roll-out of pool ${pool}`,
        ...rolling,
        settle: gathered,
        reads,
        keys: () => stores.pools.all().map(({ metadata }) => metadata.name),
        watch: (add) => watchPools(stores, add),
        reconcile: async (pool, signal) => {
          const result = await reconcile(pool, signal);
          const isThere = stores.pools.get(pool) !== undefined;
          return isThere ? { after: decideAgain, ...result } : result;
        },
      },
      {
        id: drains,
        title: 'Drain and uncordon nodes that ask for it',
        idle: 'no node asks for a drain',
        about: (node) => `drain of node ${node}`,
        reads,
        keys: () => stores.nodes.all().map(({ metadata }) => metadata.name),
        watch: (add) => watchDrains(stores, add),
        ...drainController(scopeOf(drains), stores),
      },
    ],
  };
}

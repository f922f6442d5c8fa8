import { leaseObserver } from '../../layering/roll-out/ownership.ts';
import { seconds } from '../../model/duration.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Emit, notesOf } from '../../engine/events.ts';
import type { Controller, Controllers } from '../../reconcile/manager.ts';
import { buildController } from './build.ts';
import { askingNodes, drainController, watchDrains } from './drain.ts';
import { ownerController } from './owners.ts';
import { rememberedRendering, renderController, type RenderNow } from './render.ts';
import { rollOutController } from './roll-out.ts';
import { statusController } from './status.ts';
import {
  type PoolScope,
  type PoolStores,
  poolStores,
  releaseReader,
  watchPools,
} from './stores.ts';

type Body = Pick<Controller, 'atOnce' | 'reconcile'>;

/** What is made for a controller: its own notes, and what it shares with the others. */
interface Shared {
  readonly stores: PoolStores;
  readonly render: RenderNow;
}

interface Subject {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly idle: string;
  readonly of: (scope: PoolScope, shared: Shared) => Body;
}

/** The subjects whose keys are pools. */
const subjects: readonly Subject[] = [
  {
    ...{ id: 'find-owners', title: 'Find out who runs each pool', about: 'owner' },
    ...{ idle: 'the pools are watched', of: ownerController },
  },
  {
    ...{ id: 'render-configs', title: 'Render the MachineConfigs of pools' },
    ...{ about: 'configuration', idle: 'the MachineConfigs are watched', of: renderController },
  },
  {
    ...{ id: 'build-images', title: 'Build the images of layered pools', about: 'image' },
    ...{ idle: 'every layered pool has its image', of: buildController },
  },
  {
    ...{ id: 'roll-out', title: 'Roll out configurations and images to the nodes of pools' },
    ...{ about: 'roll-out', idle: 'the pools have nothing to roll out', of: rollOutController },
  },
  {
    ...{ id: 'write-status', title: 'Write the status of pools', about: 'status' },
    ...{ idle: 'pools and nodes are watched', of: statusController },
  },
];

/** What has happened to a pool within this time is decided on together. */
const gathered = seconds(1);

/** What changes with time alone is decided on again this often: a lease that is not renewed, for example. */
const decideAgain = seconds(30);

/**
 * The controller of node pools: rolls out configurations and images to the nodes of pools that the cluster's own operator
 * does not run.
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
  const rendering = rememberedRendering();
  const release = releaseReader(scope);
  const render: RenderNow = async (pool, signal) =>
    rendering(pool, stores.machineConfigs.all(), await release(signal));
  const { machineConfigs, jobs, deployments, leases, ...rest } = stores;
  const common = [...Object.values(rest), ...deployments, ...leases];
  const scopeOf = (id: string): PoolScope => ({ ...scope, observed, note: notesOf(emit, id) });
  const ofPools = subjects.map(({ id: name, about, of, ...more }): Controller => {
    const id = `node-controller/${name}`;
    const { reconcile, ...body } = of(scopeOf(id), { stores, render });
    return {
      ...{ ...more, ...body, id, settle: gathered },
      reads: [...common, machineConfigs, ...(name === 'build-images' ? [jobs] : [])],
      about: (pool) => `${about} of pool ${pool}`,
      keys: () => stores.pools.all().map(({ metadata }) => metadata.name),
      watch: (add) => watchPools(stores, add),
      reconcile: async (pool, signal) => {
        const result = await reconcile(pool, signal);
        const isThere = stores.pools.get(pool) !== undefined;
        return isThere ? { after: decideAgain, ...result } : result;
      },
    };
  });
  const drains: Controller = {
    ...{ id: 'node-controller/drain-nodes', title: 'Drain and uncordon nodes that ask for it' },
    ...{ idle: 'no node asks for a drain', reads: common },
    about: (node) => `drain of node ${node}`,
    keys: () => askingNodes(stores),
    watch: (add) => watchDrains(stores, add),
    ...drainController(scopeOf('node-controller/drain-nodes'), { stores }),
  };
  return { name: 'node-controller', controllers: [...ofPools, drains] };
}

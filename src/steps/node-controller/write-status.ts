import { machineConfigPools, machineConfigs } from '../../cluster/kinds.ts';
import type { Fields } from '../../layering/api/schema.ts';
import { poolSnapshot } from '../../layering/hand-over/pool-status.ts';
import { writtenStatus } from '../../layering/roll-out/written-status.ts';
import type { Millis } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, together } from '../cluster/kube-watch.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { followedPools, operatorNow, operatorOfPool, type PoolsView } from './pools-view.ts';
import { releaseReader, type Render, rememberedRendering } from './render-configs.ts';
import { nodeControllerStep } from './world.ts';
import { gapIn } from '../../ports/kube-failures.ts';

/** Keeps the status of each pool that the operator does not run at what its nodes and builds show. */
export const writeStatus = nodeControllerStep({
  id: 'node-controller/write-status',
  title: 'Write the status of pools',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: it goes on as long as the controller runs',
  run: async (scope) => {
    const { kube, clock } = scope;
    const pools = followedPools(scope);
    const configs = followed(kube, { kind: machineConfigs });
    const render = rememberedRendering();
    const release = releaseReader(scope);
    await reconcile<StatusSeen, StatusAction>(scope, 'nothing: pools and nodes are watched', {
      watch: together(pools.watch, configs.watch),
      observe: async (signal) => {
        const gap = gapIn(configs.view());
        return {
          view: gap === undefined ? pools.view() : { gap },
          machineConfigs: configs.view().objects,
          release: await release(signal),
          now: clock.now(),
          render,
        };
      },
      decide: statusesDue,
      apply: async ({ pool, status }, signal) => {
        if ((await operatorNow(scope, [], signal)) !== undefined) return;
        const { name, resourceVersion } = pool.metadata;
        const body = { metadata: { resourceVersion }, status };
        const ref = { kind: machineConfigPools, name };
        await kube.patch(ref, { type: 'merge', body, subresource: 'status' }, signal);
      },
    });
  },
});

interface StatusSeen {
  readonly view: PoolsView | { readonly gap: string };
  readonly machineConfigs: readonly KubeObject[];
  readonly release?: KubeObject | undefined;
  readonly now: Millis;
  readonly render: Render;
}

interface StatusAction extends Action {
  /** As it was seen: one that has changed since is not changed. */
  readonly pool: KubeObject;
  readonly status: Fields;
}

/** The statuses that are other than they should be. */
export function statusesDue({
  view,
  machineConfigs,
  release,
  now,
  render,
}: StatusSeen): Decision<StatusAction> {
  if ('gap' in view) return { actions: [], missing: view.gap };
  const actions = view.pools.flatMap((pool) => {
    const { name } = pool.metadata;
    if (operatorOfPool(name, view) !== undefined) return [];
    const rendering = render(pool, machineConfigs, release);
    const isFailure = 'reason' in rendering && rendering.isIncomplete !== true;
    const renderFailure = isFailure ? rendering.reason : '';
    const snapshot = poolSnapshot(name, { ...view, jobs: [] });
    const status = writtenStatus({ snapshot, renderFailure, now });
    return status === undefined ? [] : [{ key: `status of pool ${name}`, pool, status }];
  });
  return { actions, missing: 'pools and nodes are watched' };
}

import { machineConfigPools } from '../../cluster/kinds.ts';
import { writtenStatus } from '../../layering/roll-out/written-status.ts';
import { type Action, performActions } from '../../reconcile/actions.ts';
import type { Controller } from '../../reconcile/manager.ts';
import { patchOf } from '../../reconcile/write.ts';
import type { RenderNow } from './render.ts';
import {
  isOperatedNow,
  operatorOf,
  type PoolScope,
  type PoolStores,
  type PoolView,
  storedView,
} from './stores.ts';

interface StatusWrite extends Action {
  readonly type: 'write-status';
}

/** Keeps the status of a pool that the operator does not run at what its nodes and builds show. */
export function statusController(
  scope: PoolScope,
  { stores, render }: { readonly stores: PoolStores; readonly render: RenderNow },
): Pick<Controller, 'reconcile'> {
  return {
    reconcile: async (name, signal) => {
      const pool = stores.pools.get(name);
      const seen = storedView(name, stores);
      const now = scope.clock.now();
      if (pool === undefined || operatorOf(seen.snapshot.nodes, stores, scope) !== undefined)
        return {};
      const rendering = await render(pool, signal);
      const isFailure = 'reason' in rendering && rendering.isIncomplete !== true;
      const renderFailure = isFailure ? rendering.reason : '';
      const status = writtenStatus({ snapshot: seen.snapshot, renderFailure, now });
      if (status === undefined) return {};
      const write = async (): Promise<void> => {
        // As it was seen: the status of one that has changed since is computed again.
        const patch = patchOf(pool, { status }, 'status');
        await scope.kube.patch({ kind: machineConfigPools, name }, patch, signal);
      };
      const readAgain = async (view: PoolView): Promise<PoolView | undefined> =>
        (await isOperatedNow(scope, [], signal)) ? undefined : view;
      const decide = (): readonly StatusWrite[] => [{ type: 'write-status', target: name }];
      await performActions({ seen, decide, readAgain, table: { 'write-status': write } }, signal);
      return {};
    },
  };
}

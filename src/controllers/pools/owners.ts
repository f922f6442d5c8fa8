import type { Controller } from '../../kube/manager.ts';
import { nodesOf, operatorOf, poolEvent, type PoolScope, type PoolStores } from './stores.ts';

const runsIt = 'bootwright node controller runs this pool';

/**
 * Says in the log and by an event of each pool who runs it, whenever that changes. Changes no pool
 * and no node.
 */
export function ownerController(
  scope: PoolScope,
  stores: PoolStores,
): Pick<Controller, 'reconcile'> {
  /**
   * What was reported last of each pool: why the operator runs it; empty where this controller
   * does.
   */
  const reported = new Map<string, string>();
  return {
    reconcile: async (pool, signal) => {
      if (stores.pools.get(pool) === undefined) {
        reported.delete(pool);
        return {};
      }
      const owner = operatorOf(nodesOf(pool, stores), stores, scope) ?? '';
      // A pod of the operator is replaced now and then: who runs the pool stays the same.
      const before = reported.get(pool);
      if (before !== undefined && (before === '') === (owner === '')) return {};
      // It counts as reported although its event may be refused.
      reported.set(pool, owner);
      const message = owner === '' ? runsIt : `hands off: ${owner}`;
      scope.note('info', `pool ${pool}: ${message}`);
      await poolEvent(scope, pool, { type: 'Normal', reason: 'PoolOwner', message })(signal);
      return {};
    },
  };
}

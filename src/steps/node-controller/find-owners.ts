import { together } from '../cluster/kube-watch.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { poolEvent } from './pool-event.ts';
import { followedPools, operatorOfPool, type PoolsView } from './pools-view.ts';
import { nodeControllerStep } from './world.ts';

/** Says in the log and by an event of each pool who runs it, whenever that changes. Changes no pool and no node. */
export const findOwners = nodeControllerStep({
  id: 'node-controller/find-owners',
  title: 'Find out who runs each pool',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: it goes on as long as the controller runs',
  run: async (scope) => {
    const pools = followedPools(scope);
    const said = new Map<string, string>();
    await reconcile<OwnersSeen, OwnerNotice>(scope, 'nothing: pools are watched', {
      watch: together(pools.watch),
      observe: () => ({ view: pools.view(), said }),
      decide: ownerNotices,
      apply: async ({ pool, owner }, signal) => {
        const reason = 'PoolOwner';
        const message = owner === '' ? runsIt : `hands off: ${owner}`;
        // What was said stays so although its event may be refused.
        said.set(pool, owner);
        scope.note('info', `pool ${pool}: ${message}`);
        await poolEvent(scope, { pool, type: 'Normal', reason, message }, signal);
      },
    });
  },
});

const runsIt = 'bootwright node controller runs this pool';

interface OwnersSeen {
  readonly view: PoolsView | { readonly gap: string };
  /** What was said last of each pool. */
  readonly said: ReadonlyMap<string, string>;
}

interface OwnerNotice extends Action {
  readonly pool: string;
  /** Why the operator runs it; empty where this controller does. */
  readonly owner: string;
}

/** The pools of which something else is true than was said. */
export function ownerNotices({ view, said }: OwnersSeen): Decision<OwnerNotice> {
  if ('gap' in view) return { actions: [], missing: view.gap };
  const actions = view.pools.flatMap(({ metadata: { name: pool } }) => {
    const owner = operatorOfPool(pool, view) ?? '';
    // A pod of the operator is replaced now and then: who runs the pool stays the same.
    const before = said.get(pool);
    const isSame = before !== undefined && (before === '') === (owner === '');
    return isSame ? [] : [{ key: `owner of pool ${pool}`, pool, owner }];
  });
  return { actions, missing: 'the pools are watched' };
}

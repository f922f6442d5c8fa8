import { step } from '../step.ts';
import { HandOverBy } from './facts.ts';
import { handingOver, handOverNeeds } from './hand-over.ts';
import { unlessOrdered, unlessServed } from './skips.ts';

/**
 * Tells the cluster of the images that were built for its pools, in the objects that its own controllers keep, before
 * these take the images on the nodes for a mistake: they begin to take them away five seconds after a pool is
 * rendered that nobody layered. So masters, who are there first, come first, and what nodes are served is handed
 * over before the first of them joins.
 */
export const handOverServed = step({
  ...handingOver,
  needs: handOverNeeds,
  skipIf: unlessServed,
});

/**
 * Hands over what the cluster is to roll out, or to build, as late as this host can, where no job does it later: it
 * drains and starts masters anew, and there are two as long as this host is none.
 */
export const handOverToRollOut = step({
  ...handingOver,
  id: 'layering/hand-over-to-roll-out',
  title: 'Let the cluster roll out what its nodes do not run yet',
  needs: { ...handOverNeeds, by: HandOverBy },
  skipIf: (needs) => {
    if (needs.by.kind === 'job') return 'a job in the cluster does it, once etcd has three members';
    if (unlessServed(needs) === undefined) return 'nodes are served their image';
    return unlessOrdered(needs);
  },
});

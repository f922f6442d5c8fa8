import { step } from '../step.ts';
import { handOver } from './hand-over.ts';
import { unlessOrdered, unlessPinned, unlessServed } from './skips.ts';

/** Hands over what nodes are served, before the first of them joins. */
export const handOverServed = step({ ...handOver, skipIf: unlessServed });

/**
 * Hands over what the cluster is to roll out, or to build, as late as this host can: it drains and starts masters
 * anew, and there are two as long as this host is none.
 */
export const handOverToRollOut = step({
  ...handOver,
  id: 'layering/hand-over-to-roll-out',
  title: 'Let the cluster roll out what its nodes do not run yet',
  skipIf: (needs) => {
    if (unlessServed(needs) === undefined) return 'nodes are served their image';
    if (unlessPinned(needs) === undefined) return 'a MachineConfig names the image of the nodes';
    return unlessOrdered(needs);
  },
});

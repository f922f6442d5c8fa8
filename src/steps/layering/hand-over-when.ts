import { step } from '../step.ts';
import type { OsImageOrder, PublishedImage } from './facts.ts';
import { handOver } from './hand-over.ts';
import { unlessAtFirstBoot, unlessOrdered } from './skips.ts';

interface HandOverNeeds {
  readonly order: OsImageOrder;
  readonly published:
    | { readonly kind: 'stock'; readonly why: string }
    | { readonly kind: 'published'; readonly images: readonly PublishedImage[] };
}

/** Why nothing is handed over while the masters join. */
const unlessServed = (needs: HandOverNeeds): string | undefined =>
  unlessAtFirstBoot(needs) ?? (needs.published.kind === 'stock' ? needs.published.why : undefined);

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
  skipIf: (needs) =>
    unlessOrdered(needs) ??
    (unlessServed(needs) === undefined ? 'nodes are served their image' : undefined),
});

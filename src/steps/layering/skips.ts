import type { OsImageOrder, PublishedImage } from './facts.ts';

/** What became of the images, as the fact about them says it. */
export type Published =
  | { readonly kind: 'stock'; readonly why: string }
  | { readonly kind: 'published'; readonly images: readonly PublishedImage[] };

/** Why a step of the lane has nothing to do, where nothing is to be built. */
export const unlessOrdered = ({ order }: { readonly order: OsImageOrder }): string | undefined =>
  order.kind === 'off' ? order.why : undefined;

/** Why a step has nothing to do that masters are held back for. */
export const unlessHeld = (needs: { readonly order: OsImageOrder }): string | undefined => {
  if (needs.order.kind === 'on' && needs.order.delivery === 'after-join') return needs.order.why;
  return unlessOrdered(needs);
};

interface HandedOut {
  readonly order: OsImageOrder;
  readonly published: Published;
}

/** Why a step has nothing to do that belongs to one way in which nodes come to their image. */
const unlessBy =
  (delivery: 'first-boot' | 'pinned') =>
  ({ order, published }: HandedOut): string | undefined => {
    if (order.kind === 'off' || order.delivery !== delivery) return order.why;
    return published.kind === 'stock' ? published.why : undefined;
  };

/** Why nothing is changed in what masters are served. */
export const unlessServed = unlessBy('first-boot');

/** Why no MachineConfig names a built image. */
export const unlessPinned = unlessBy('pinned');

import type { OsImageOrder, PublishedImages } from './facts.ts';
import type { Stock } from './or-stock.ts';

/** Why a step of the lane has nothing to do, where nothing is to be built. */
export const unlessOrdered = ({ order }: { readonly order: OsImageOrder }): string | undefined =>
  order.kind === 'off' ? order.why : undefined;

/** Why nothing is copied, where nothing is to be built or there is no registry for it on this host. */
export const unlessStaged = (needs: {
  readonly order: OsImageOrder;
  readonly registry: { readonly kind: 'running' } | Stock;
}): string | undefined =>
  unlessOrdered(needs) ?? (needs.registry.kind === 'stock' ? needs.registry.why : undefined);

/** Whether nodes join with the system of the release, and come to their image afterwards. */
export const joinsWithStock = (order: OsImageOrder): boolean =>
  order.kind === 'on' && (order.delivery === 'after-join' || order.delivery === 'switched');

/** Why a step has nothing to do that masters are held back for. */
export const unlessHeld = (needs: { readonly order: OsImageOrder }): string | undefined =>
  joinsWithStock(needs.order) ? needs.order.why : unlessOrdered(needs);

interface HandedOut {
  readonly order: OsImageOrder;
  readonly published: PublishedImages;
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

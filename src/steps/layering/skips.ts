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
  order.kind === 'on' && order.delivery === 'after-join';

/** Why a step has nothing to do that masters are held back for. */
export const unlessHeld = (needs: { readonly order: OsImageOrder }): string | undefined =>
  joinsWithStock(needs.order) ? needs.order.why : unlessOrdered(needs);

/** Why nothing is changed in what masters are served. */
export function unlessServed({
  order,
  published,
}: {
  readonly order: OsImageOrder;
  readonly published: PublishedImages;
}): string | undefined {
  if (order.kind === 'off' || order.delivery !== 'first-boot') return order.why;
  return published.kind === 'stock' ? published.why : undefined;
}

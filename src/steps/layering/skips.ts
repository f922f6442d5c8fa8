import type { OsImageOrder } from './facts.ts';

/** Why a step of the lane has nothing to do, where nothing is to be built. */
export const unlessOrdered = ({ order }: { readonly order: OsImageOrder }): string | undefined =>
  order.kind === 'off' ? order.why : undefined;

/** Why a step has nothing to do that changes what nodes boot into. */
export const unlessAtFirstBoot = (needs: { readonly order: OsImageOrder }): string | undefined => {
  if (needs.order.kind === 'on' && needs.order.delivery === 'after-join') return needs.order.why;
  return unlessOrdered(needs);
};

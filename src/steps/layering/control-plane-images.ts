import type { OsImageOrder, PublishedImage, PublishedImages } from './facts.ts';
import { unlessHeld } from './skips.ts';

/** The pool that this host, too, will belong to. */
export const mastersPool = 'master';

/** Pools of nodes that join before this host leaves. */
const earlyPools: readonly string[] = [mastersPool, 'arbiter'];

/** Why no node boots straight into an image before this host leaves, or undefined when some do. */
export function whyNotServed(order: OsImageOrder, published: PublishedImages): string | undefined {
  const why = unlessHeld({ order });
  if (why !== undefined) return why;
  if (published.kind === 'stock') return published.why;
  return controlPlaneImages(published).length === 0
    ? 'no image was built for the control plane'
    : undefined;
}

/** The images of the pools that join before this host leaves. */
export const controlPlaneImages = (published: PublishedImages): readonly PublishedImage[] =>
  published.kind === 'stock'
    ? []
    : published.images.filter(({ pool }) => earlyPools.includes(pool));

/** The image of the masters, where there is one. */
export const mastersImage = (published: PublishedImages): PublishedImage | undefined =>
  controlPlaneImages(published).find(({ pool }) => pool === mastersPool);

import { stockImage } from '../layering/plan.ts';

/** What a host is said to run that runs the system of the release. */
export const STOCK = 'stock';

/** An image as it fits into a line: its name and the beginning of its digest. */
export const shortImage = (image: string): string =>
  image.replace(/^.*\/([^/@]+)@sha256:([0-9a-f]{8}).*$/, '$1@sha256:$2…');

/** A booted image for people. */
export const systemName = (image: string): string =>
  image === stockImage ? STOCK : shortImage(image);

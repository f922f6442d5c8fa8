import type { Layer } from '../../src/config/settings.ts';

/** Returns the values of a layer by their settings. */
export const valuesIn = (layer: Layer): Record<string, unknown> =>
  Object.fromEntries([...layer].map(([key, { value }]) => [key, value]));

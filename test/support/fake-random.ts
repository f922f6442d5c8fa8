import type { Random } from '../../src/ports/random.ts';

/** Deterministic randomness: UUIDs are counted, numbers follow from the seed. */
export function fakeRandom(seed = 1): Random {
  let counted = 0;
  let state = seed >>> 0;
  return {
    uuid: () => {
      counted += 1;
      return `00000000-0000-4000-8000-${counted.toString(16).padStart(12, '0')}`;
    },
    between: (low, high) => {
      // The linear congruential generator of Numerical Recipes, which is enough for tests.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return low + (state / 2 ** 32) * (high - low);
    },
    bytes: (count) => {
      counted += 1;
      return Uint8Array.from({ length: count }, (_, at) => (counted * 31 + at) % 256);
    },
  };
}

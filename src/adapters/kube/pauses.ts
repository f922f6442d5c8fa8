import { type Millis, seconds } from '../../model/duration.ts';
import type { Random } from '../../ports/random.ts';

/** A server that is back is seen within this time, however long it was away. */
const longest: Millis = seconds(1);

/** Pauses between attempts: 50 to 100 ms, then twice as long each time, a second at most. */
export interface Pauses {
  readonly next: () => Millis;
  /** It worked: the next pause is a short one. */
  readonly reset: () => void;
}

/** Pauses by chance, so that what was cut off together does not come back together. */
export function pauses(random: Random): Pauses {
  let count = 0;
  return {
    next: () => {
      const pause = Math.min(longest, random.between(50, 100) * 2 ** count);
      count += 1;
      return pause;
    },
    reset: () => {
      count = 0;
    },
  };
}

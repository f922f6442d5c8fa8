import type { Millis } from '../model/duration.ts';

/** Time. Nothing else in the product knows what time it is, or sleeps. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Resolves after a time; rejects with the signal's reason as soon as it aborts. */
  readonly sleep: (duration: Millis, signal: AbortSignal) => Promise<void>;
}

import type { Millis } from '../model/duration.ts';

/** Time. Nothing else in the product knows what time it is, or sleeps. */
export interface Clock {
  /** Milliseconds since the epoch, for records; the machine's time may be set during a run. */
  readonly now: () => number;
  /**
   * Milliseconds since an unknown moment, by a clock that nobody sets: what durations are taken of.
   */
  readonly elapsed: () => number;
  /** Resolves after a time; rejects with the signal's reason as soon as it aborts. */
  readonly sleep: (duration: Millis, signal: AbortSignal) => Promise<void>;
}

import type { Millis } from '../model/duration.ts';

/** Time. The rest of the product reads no clock and does not sleep by itself. */
export interface Clock {
  /** Milliseconds since the epoch, for records; the machine's time may be set during a run. */
  readonly now: () => number;
  /** Milliseconds since an unknown moment, by a clock that cannot be set; for durations. */
  readonly elapsed: () => number;
  /** Resolves after a time; rejects with the signal's reason as soon as the signal aborts. */
  readonly sleep: (duration: Millis, signal: AbortSignal) => Promise<void>;
}

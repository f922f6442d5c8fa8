import type { Clock } from '../../src/ports/clock.ts';
import { seconds } from '../../src/model/duration.ts';

/** Pauses up to this are between attempts; what is longer is a limit. */
const longestPause = seconds(20);

/**
 * A clock for steps that run against a model with real files: pauses are over at once, and no limit
 * ever passes.
 */
export const briskClock = (): Clock => ({
  now: () => 0,
  elapsed: () => 0,
  sleep: (duration, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      if (duration <= longestPause) setImmediate(resolve);
    }),
});

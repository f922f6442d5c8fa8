import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../ports/clock.ts';

/** A timer of Node takes 31 bits of milliseconds, not quite 25 days; more would fire at once. */
const longestTimer = 2 ** 31 - 1;

/** The time of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: async (duration, signal) => {
    const until = performance.now() + duration;
    do {
      signal.throwIfAborted();
      const left = Math.min(Math.max(0, until - performance.now()), longestTimer);
      try {
        await pause(left, undefined, { signal });
      } catch (error) {
        // The timer wraps the reason into an error of its own.
        signal.throwIfAborted();
        throw error;
      }
    } while (performance.now() < until);
  },
};

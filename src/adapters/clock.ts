import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';

/**
 * A timer of Node takes 31 bits of milliseconds, not quite 25 days; a longer one would fire at
 * once.
 */
const longestTimer = 2 ** 31 - 1;

/** The time of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => Math.floor(performance.now()),
  sleep: async (duration, signal) => {
    const until = performance.now() + duration;
    do {
      signal.throwIfAborted();
      const left = Math.min(Math.max(0, until - performance.now()), longestTimer);
      try {
        await pause(left, undefined, { signal });
      } catch (error) {
        // The timer wraps the reason into its own error.
        signal.throwIfAborted();
        throw error;
      }
    } while (performance.now() < until);
  },
};

/** Waits until work ends or fails, but not longer than a limit. */
export async function within(limit: Millis, work: Promise<unknown> | undefined): Promise<void> {
  const done = new AbortController();
  const late = pause(limit, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([work?.catch(() => undefined), late]);
  // A running timer would keep the process from ending.
  done.abort();
}

/** Randomness from the system's generator, so that many hosts that start together spread well. */
export const systemRandom: Random = {
  uuid: () => randomUUID(),
  between: (low, high) => low + (randomInt(2 ** 32) / 2 ** 32) * (high - low),
  bytes: (count) => randomBytes(count),
};

/** Time and randomness of this machine, for adapters. */
export const systemPorts = { clock: systemClock, random: systemRandom };

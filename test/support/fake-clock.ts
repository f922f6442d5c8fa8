import type { Clock } from '../../src/ports/clock.ts';
import type { Millis } from '../../src/model/duration.ts';

/** A clock whose time moves only when a test or idleness moves it. */
export interface FakeClock extends Clock {
  /** Advances time, wakes sleepers in order, and lets them run in between. */
  readonly advance: (duration: Millis) => Promise<void>;
  /** Number of present sleepers. */
  readonly sleeping: () => number;
  /** Durations of all sleeps, in the order of their start. */
  readonly slept: readonly Millis[];
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Turns of the event loop after which all pending work should be done. */
const idleTurns = 12;

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Lets all ready work run. */
export async function settle(turns = idleTurns): Promise<void> {
  for (let count = 0; count < turns; count += 1) await turn();
}

/**
 * A virtual clock. With `auto` (the default) time jumps to the next sleeper as soon as no other
 * work is ready; without it only `advance` moves time. Time stops while `isBusy` is true: real
 * work is under way.
 */
export function fakeClock({
  start = 0,
  auto = true,
  isBusy = (): boolean => false,
  turns = idleTurns,
} = {}): FakeClock {
  let now = start;
  let isWatching = false;
  const sleepers = new Set<Sleeper>();
  const slept: Millis[] = [];

  const first = (): Sleeper | undefined =>
    [...sleepers].reduce<Sleeper | undefined>(
      (best, one) => (best === undefined || one.at < best.at ? one : best),
      undefined,
    );

  const wakeFirst = (until: number): boolean => {
    const sleeper = first();
    if (sleeper === undefined || sleeper.at > until) return false;
    now = Math.max(now, sleeper.at);
    sleepers.delete(sleeper);
    sleeper.wake();
    return true;
  };

  const watch = async (): Promise<void> => {
    isWatching = true;
    do await settle(turns);
    while (isBusy() || wakeFirst(Number.POSITIVE_INFINITY));
    isWatching = false;
  };

  return {
    slept,
    sleeping: () => sleepers.size,
    now: () => now,
    elapsed: () => now - start,
    sleep: (duration, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason as Error);
          return;
        }
        slept.push(duration);
        const abort = (): void => {
          sleepers.delete(sleeper);
          reject(signal.reason as Error);
        };
        const sleeper: Sleeper = {
          at: now + Math.max(0, duration),
          wake: () => {
            signal.removeEventListener('abort', abort);
            resolve();
          },
        };
        signal.addEventListener('abort', abort, { once: true });
        sleepers.add(sleeper);
        if (auto && !isWatching) void watch();
      }),
    advance: async (duration) => {
      const until = now + duration;
      await settle();
      while (wakeFirst(until)) await settle();
      now = until;
    },
  };
}

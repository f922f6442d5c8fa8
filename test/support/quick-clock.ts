import { systemClock } from '../../src/adapters/clock.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** Interval at which a sleeper reads the time, in real milliseconds. */
const turn = 2;

/**
 * Maximum time that counts as passed between two reads, in real milliseconds. A process that was
 * stopped for longer, or waited for a processor, did no work meanwhile, and neither did the servers
 * for which it waits.
 */
const longestTurn = 5;

/**
 * Real time at a higher speed: a minute passes in a fraction of a second. For tests with real
 * sockets, where a virtual clock could not know that the network is still at work. Time passes only
 * during sleeps, and no faster on a busy machine.
 */
export function quickClock(factor = 200): Clock {
  const since = performance.now();
  let seen = since;
  let passed = 0;
  const elapsed = (): number => {
    const now = performance.now();
    passed += Math.min(now - seen, longestTurn) * factor;
    seen = now;
    return passed;
  };
  return {
    now: () => since + elapsed(),
    elapsed,
    sleep: async (duration, signal) => {
      const until = elapsed() + duration;
      do {
        await systemClock.sleep(Math.min((until - passed) / factor, turn), signal);
      } while (elapsed() < until);
    },
  };
}

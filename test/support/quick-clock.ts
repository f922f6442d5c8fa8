import { systemClock } from '../../src/adapters/clock.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** A sleeper looks at the time this often, in real milliseconds. */
const turn = 2;

/**
 * What one look can find to have passed, in real milliseconds. A process that was stopped for
 * longer, or waited for a processor, has done nothing meanwhile, and neither has whatever it waits
 * for.
 */
const longestTurn = 5;

/**
 * Real time, run faster: a minute of it is over in a fraction of a second. For tests with real
 * sockets, where a virtual clock could not know that the network is still at work. It passes while
 * somebody sleeps, and no faster on a machine that is busy with something else.
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

import { systemClock } from '../../src/adapters/clock.ts';
import type { Clock } from '../../src/ports/clock.ts';

/**
 * Real time, run faster: a minute of it is over in a fraction of a second. For tests with real
 * sockets, where a virtual clock could not know that the network is still at work.
 */
export function quickClock(factor = 200): Clock {
  const since = performance.now();
  return {
    now: () => since + (performance.now() - since) * factor,
    elapsed: () => (performance.now() - since) * factor,
    sleep: (duration, signal) => systemClock.sleep(duration / factor, signal),
  };
}

import { type Millis, minutes } from '../model/duration.ts';
import type { StepScope } from './step.ts';

/**
 * How often work says that it continues. What the service hears of it follows the limit of the
 * stage.
 */
const heartbeatEvery: Millis = minutes(1);

type HeartbeatScope = Pick<StepScope<'clock'>, 'clock' | 'alive'>;

/**
 * The heartbeat of a wait whose end somebody else's clock decides: called at each poll that has
 * seen that they are still at it.
 */
export function heartbeatOf({ clock, alive }: HeartbeatScope): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (clock.elapsed() - last < heartbeatEvery) return;
    last = clock.elapsed();
    alive();
  };
}

/** The heartbeat of work that has a limit of its own, and nothing or little to say meanwhile. */
export async function withHeartbeat<T>(
  what: string | undefined,
  { clock, alive }: HeartbeatScope,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const beating = (async () => {
    for (;;) {
      await clock.sleep(heartbeatEvery, over.signal);
      alive(what);
    }
  })().catch(() => undefined);
  try {
    return await work();
  } finally {
    over.abort(new Error('the work is over'));
    await beating;
  }
}

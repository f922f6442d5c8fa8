import { type Millis, minutes } from '../model/duration.ts';
import type { StepScope } from './step.ts';

/**
 * Interval of the heartbeats of work that continues. The limit of the stage decides which of them
 * the service receives.
 */
const heartbeatEvery: Millis = minutes(1);

type HeartbeatScope = Pick<StepScope<'clock'>, 'clock' | 'alive'>;

/**
 * The heartbeat of a wait on other hosts, whose clock decides its end: call it at each poll that
 * sees them at work.
 */
export function heartbeatOf({ clock, alive }: HeartbeatScope): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (clock.elapsed() - last < heartbeatEvery) return;
    last = clock.elapsed();
    alive();
  };
}

/** The heartbeat of work that has a limit of its own and reports little or nothing itself. */
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

import type { Progress } from '../../engine/events.ts';
import { type Millis, minutes, renderDuration } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';

/**
 * The service gives a host up whose text beside the stage has not changed for 30 minutes
 * (assisted-service, `HOST_STAGE_*_TIMEOUT`).
 */
const every: Millis = minutes(10);

/** Tells from time to time that work which has no progress of its own still runs. */
export async function keepTelling<T>(
  what: string,
  { clock, tell }: { readonly clock: Clock; readonly tell: (progress: Progress) => void },
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const since = clock.elapsed();
  const telling = (async () => {
    for (;;) {
      await clock.sleep(every, over.signal);
      tell({ info: `${what} for ${renderDuration(clock.elapsed() - since)}` });
    }
  })().catch(() => undefined);
  try {
    return await work();
  } finally {
    over.abort(new Error('the work is over'));
    await telling;
  }
}

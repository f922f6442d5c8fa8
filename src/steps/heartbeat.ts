import { type Millis, minutes, renderDuration } from '../model/duration.ts';
import type { StepScope } from './step.ts';

/**
 * After how long the service fails a host whose text beside its stage has not changed: while an image is
 * written, and in any other wait (assisted-service, `HOST_STAGE_*_TIMEOUT`).
 */
export const stageLimits = { write: minutes(30), wait: minutes(60) } as const;

/** How often the text is changed so that the limit is never met, even when one report is lost. */
export const heartbeatEvery: Readonly<Record<keyof typeof stageLimits, Millis>> = {
  write: stageLimits.write / 3,
  wait: stageLimits.wait / 2,
};

type HeartbeatScope = Pick<StepScope<'clock'>, 'clock' | 'progress'>;

/** Changes the text beside the stage of a long wait; the returned function says whether it did. */
export function heartbeatOf({ clock, progress }: HeartbeatScope): (status: string) => boolean {
  const since = clock.elapsed();
  let sentAt = since;
  return (status) => {
    const now = clock.elapsed();
    if (now - sentAt < heartbeatEvery.wait) return false;
    progress({ info: `${status} (${renderDuration(now - since)})` });
    sentAt = now;
    return true;
  };
}

/** Changes the text beside the stage while work runs that writes an image and has no progress of its own. */
export async function withHeartbeat<T>(
  what: string,
  { clock, progress }: HeartbeatScope,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const since = clock.elapsed();
  const beating = (async () => {
    for (;;) {
      await clock.sleep(heartbeatEvery.write, over.signal);
      progress({ info: `${what} for ${renderDuration(clock.elapsed() - since)}` });
    }
  })().catch(() => undefined);
  try {
    return await work();
  } finally {
    over.abort(new Error('the work is over'));
    await beating;
  }
}

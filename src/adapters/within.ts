import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '../model/duration.ts';

/** Waits for work that ends, or fails, but not longer than a limit. */
export async function within(limit: Millis, work: Promise<unknown> | undefined): Promise<void> {
  const done = new AbortController();
  const late = pause(limit, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([work?.catch(() => undefined), late]);
  // A timer that still runs would keep our process from ending.
  done.abort();
}

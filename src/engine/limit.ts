import type { Millis } from '../model/duration.ts';
import { seconds } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * How long work that was told to stop may take before it is abandoned: podman gives 5 s in all, and
 * the log has to be written out too.
 */
const stopGrace: Millis = seconds(2.5);

/** Bounds of one piece of work. */
export interface WorkLimit {
  readonly limit: Millis;
  /** Aborts the work from outside; its reason becomes the error. */
  readonly signal: AbortSignal;
  /** What the work fails with when it takes longer. */
  readonly late: () => Error;
}

/**
 * Runs work under a limit. When the limit passes or the signal aborts, the work is told to stop, is
 * given a moment, and the reason is thrown, whatever the work itself then throws.
 */
export async function limited<T>(
  clock: Clock,
  { limit, signal, late }: WorkLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  const settled = new AbortController();
  const forward = (): void => {
    inner.abort(signal.reason);
  };
  if (signal.aborted) forward();
  signal.addEventListener('abort', forward, { once: true });
  const after = (duration: Millis, action: () => void): void => {
    clock.sleep(duration, settled.signal).then(action, () => undefined);
  };
  after(limit, () => {
    inner.abort(late());
  });
  const leftBehind = new Promise<never>((_, reject) => {
    const give = (): void => {
      after(stopGrace, () => {
        reject(inner.signal.reason as Error);
      });
    };
    if (inner.signal.aborted) give();
    else inner.signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([work(inner.signal), leftBehind]);
  } catch (error) {
    if (inner.signal.aborted) throw inner.signal.reason;
    throw error;
  } finally {
    settled.abort(new Error('settled'));
    signal.removeEventListener('abort', forward);
  }
}

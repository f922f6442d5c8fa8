import type { Millis } from '../model/duration.ts';
import { seconds } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * Time for work to end after its signal has aborted; then it is abandoned. Podman gives 5 s in all,
 * and the log must be written in them too.
 */
const stopGrace: Millis = seconds(2.5);

/** Limits of one piece of work. */
export interface WorkLimit {
  readonly limit: Millis;
  /** Aborts the work from outside; its reason becomes the error. */
  readonly signal: AbortSignal;
  /** Makes the error for work that takes too long. */
  readonly late: () => Error;
}

/**
 * Runs work under a limit. When the limit passes or the signal aborts, aborts the work, waits a
 * moment for it, and throws the reason, even if the work itself throws another error.
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

import type { Millis } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';
import { engineFailure } from './failures.ts';
import { renderDuration } from '../model/duration.ts';

/** One look at what is waited for. */
export type Look<T> = { readonly done: T } | { readonly status: string };

/** How long and how often to look. */
export interface WaitLimits {
  /** Pause between two looks where nothing can be watched. */
  readonly every: Millis;
  /** The wait fails after this time with the last status; there is no wait without it. */
  readonly within: Millis;
}

/**
 * Waits for a sentence to become true. `look` says done, or what is missing; each new status is
 * told to whoever watches.
 * @throws AgentError `wait.timed-out` with the last status
 */
export type Until = <T>(
  sentence: string,
  look: (signal: AbortSignal) => Promise<Look<T>>,
  limits: WaitLimits,
) => Promise<T>;

/** What a wait tells. */
export interface WaitUpdate {
  readonly sentence: string;
  readonly status: string;
  readonly waited: Millis;
  readonly limit: Millis;
}

/** Makes the `until` of one step. */
export function untilOf(
  clock: Clock,
  signal: AbortSignal,
  tell: (update: WaitUpdate) => void,
): Until {
  return async (sentence, look, { every, within }) => {
    const since = clock.now();
    let told: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      const seen = await look(signal);
      if ('done' in seen) return seen.done;
      const waited = clock.now() - since;
      if (waited >= within) {
        throw engineFailure(
          'wait.timed-out',
          `${sentence}: not within ${renderDuration(within)}; last seen: ${seen.status}`,
          { context: { sentence, status: seen.status, waited } },
        );
      }
      if (seen.status !== told) tell({ sentence, status: seen.status, waited, limit: within });
      told = seen.status;
      await clock.sleep(Math.min(every, within - waited), signal);
    }
  };
}

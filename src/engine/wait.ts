import { AsyncLocalStorage } from 'node:async_hooks';
import type { Millis } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';
import { engineFailure } from './failures.ts';
import { renderDuration } from '../model/duration.ts';

/** The result of one poll: done, or the missing condition. */
export type PollResult<T> = { readonly done: T } | { readonly status: string };

/**
 * Calls `changed` whenever another poll is worthwhile, until the signal aborts; then resolves. If
 * it rejects, the wait fails with the same error.
 */
export type Watch = (changed: () => void, signal: AbortSignal) => Promise<void>;

/** Resolves when the signal aborts. For a watch whose notifications come from elsewhere. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Limit of a wait, and the interval or watch for the next poll. */
export type WaitLimits = {
  /** The wait fails after this time with the last status. Every wait has a limit. */
  readonly within: Millis;
  /** Makes the error of the timeout; default: `wait.timed-out`. */
  readonly timeoutError?: (status: string) => Error;
} & (
  | {
      /** Pause between two polls if there is no watch. */
      readonly every: Millis;
      readonly watch?: Watch;
    }
  | { readonly watch: Watch; readonly every?: Millis }
);

/**
 * Waits for a sentence to become true. `poll` returns done, or the missing condition; the listener
 * gets each new status.
 * @throws AgentError `wait.timed-out` with the last status
 */
export type Until = <T>(
  sentence: string,
  poll: (signal: AbortSignal) => PollResult<T> | Promise<PollResult<T>>,
  limits: WaitLimits,
) => Promise<T>;

/** The present state of a wait. */
export interface WaitUpdate {
  /** The condition of the wait; for a retried request, the server that is asked. */
  readonly sentence: string;
  /** Number of attempts of a request; undefined for a wait that polls. */
  readonly attempt?: number;
  readonly status: string;
  readonly waited: Millis;
  readonly limit: Millis;
}

/** The end of a wait. */
export interface WaitEnd {
  readonly sentence: string;
  /** False if the wait timed out. */
  readonly isReached: boolean;
  readonly attempt?: number;
  readonly waited: Millis;
}

/** Receives the reports of waits. */
export interface WaitListener {
  readonly updated: (update: WaitUpdate) => void;
  /** Called when a wait is over, unless it has reported no status. */
  readonly finished: (end: WaitEnd) => void;
}

/** A listener for waits that are reported in another way. */
export const silently: WaitListener = { updated: () => undefined, finished: () => undefined };

const requestWaits = new AsyncLocalStorage<WaitListener>();

/** Runs work, and reports each retried request in it as a wait. */
export const reportRetries = <T>(listener: WaitListener, work: () => T): T =>
  requestWaits.run(listener, work);

/** The listener for the retries of a request that is made now. */
export const retryListener = (): WaitListener => requestWaits.getStore() ?? silently;

/** Makes the `until` of one step. */
export function untilOf(
  clock: Clock,
  signal: AbortSignal,
  { updated, finished }: WaitListener,
): Until {
  return async (sentence, poll, { every, within, watch, timeoutError }) => {
    const since = clock.elapsed();
    const changes = subscribe(watch, signal);
    let reported: string | undefined;
    const finish = (isReached: boolean, waited: Millis): void => {
      if (reported !== undefined) finished({ sentence, isReached, waited });
    };
    try {
      for (;;) {
        signal.throwIfAborted();
        changes.reset();
        const seen = await poll(signal);
        const waited = clock.elapsed() - since;
        if ('done' in seen) {
          finish(true, waited);
          return seen.done;
        }
        if (waited >= within) {
          finish(false, waited);
          throw (
            timeoutError?.(seen.status) ?? late(sentence, { status: seen.status, waited, within })
          );
        }
        if (seen.status !== reported)
          updated({ sentence, status: seen.status, waited, limit: within });
        reported = seen.status;
        const rest = within - waited;
        await changes.orAfter((quiet) => clock.sleep(Math.min(every ?? rest, rest), quiet));
      }
    } finally {
      await changes.close();
    }
  };
}

const late = (
  sentence: string,
  { status, waited, within }: { status: string; waited: Millis; within: Millis },
): Error =>
  engineFailure(
    'wait.timed-out',
    `${sentence}: not within ${renderDuration(within)}; last seen: ${status}`,
    { context: { sentence, status, waited } },
  );

interface Subscription {
  /** Forgets a notification from before the next poll. */
  readonly reset: () => void;
  /**
   * Resolves at the next notification, or after the sleep; rejects with the error that ended the
   * watch.
   */
  readonly orAfter: (sleep: (signal: AbortSignal) => Promise<void>) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Turns a watch into a subscription, so that a wait can combine it with a sleep. */
function subscribe(watch: Watch | undefined, signal: AbortSignal): Subscription {
  const closing = new AbortController();
  let isNotified = false;
  let failure: { readonly reason: unknown } | undefined;
  let wake: (() => void) | undefined;
  const notify = (): void => {
    isNotified = true;
    wake?.();
  };
  const ended = watch?.(notify, AbortSignal.any([signal, closing.signal])).catch(
    (reason: unknown) => {
      failure = { reason };
      wake?.();
    },
  );
  return {
    reset: () => {
      isNotified = false;
    },
    orAfter: async (sleep) => {
      const awake = new AbortController();
      wake = () => awake.abort();
      if (!isNotified && failure === undefined) {
        await sleep(AbortSignal.any([signal, awake.signal])).catch((error: unknown) => {
          if (!awake.signal.aborted) throw error;
        });
      }
      wake = undefined;
      signal.throwIfAborted();
      if (failure !== undefined) throw failure.reason;
    },
    close: async () => {
      closing.abort(new Error('the wait is over'));
      await ended;
    },
  };
}

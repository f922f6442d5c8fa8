// Rules of trying again, from the client of the agent being replaced: 404, 423 and 425 ten times,
// 408, 429, 5xx and passing errors of the network for as long as the call may take. That agent went
// on for half an hour and more, in silence; here every call has a limit, and each retry is logged.
import pRetry from 'p-retry';
import { limited } from '../../engine/limit.ts';
import { retryListener } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { NetworkErrorKind } from './network-error.ts';

/** How often a call was tried, and for how long. */
export interface Tries {
  readonly attempts: number;
  readonly elapsed: Millis;
}

/**
 * One attempt that failed: what it becomes if it was the last, and whether there may be another.
 */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super('an attempt failed');
    this.verdict = verdict;
  }
}

/** What a failed attempt means. */
export interface Verdict {
  readonly failure: (tries: Tries) => AgentError;
  /** How many retries this kind of failure is worth. */
  readonly retries: number;
  /** The other side asked to be left alone for so long. */
  readonly notBefore?: Millis | undefined;
}

/** A retry that is about to be slept for. */
export interface RetryNotice {
  readonly failure: AgentError;
  readonly attempt: number;
  readonly delay: Millis;
}

/** How a call is retried. */
export interface RetryPolicy {
  /** Who is asked, for people: `the service`. */
  readonly peer: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Of the whole call, 10 minutes unless given. */
  readonly limit?: Millis | undefined;
  /** How many retries a kind of failure gets of those that it is worth; all unless given. */
  readonly retries?: ((worth: number) => number) | undefined;
  readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
  /** What a call fails with when its limit passes before any attempt has failed. */
  readonly silence: (tries: Tries) => AgentError;
}

/** How long a call may take in all, unless it has a limit of its own. */
const usualLimit: Millis = minutes(10);

/** What a Retry-After header can ask for at most. */
const longestAskedFor: Millis = seconds(60);

/** Retries for answers that may become another one soon, but mostly do not. */
export const fewRetries = 10;

const retriesOfNetwork = { untrusted: 0, lasting: 0, unresolved: fewRetries, passing: Infinity };

/** How many retries a status, or a network that gave none, is worth; none for most. */
export function retriesFor(status: number | NetworkErrorKind): number {
  if (typeof status === 'string') return retriesOfNetwork[status];
  if ([404, 423, 425].includes(status)) return fewRetries;
  if (status === 408 || status === 429 || status >= 500) return Number.POSITIVE_INFINITY;
  return 0;
}

/** The pause before retry `index` (from 0): random up to 2 s, 4 s, 8 s, then up to 10 s. */
export const pauseBefore = (index: number, random: Random): Millis =>
  random.between(0, Math.min(seconds(10), seconds(2) * 2 ** index));

/**
 * Tries until it works, it is hopeless, or the limit is over.
 * @throws AgentError the failure of the last attempt; the signal's reason when it aborts
 */
export async function withRetry<T>(
  policy: RetryPolicy,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, peer, limit = usualLimit, retries = (worth: number) => worth } = policy;
  const since = clock.elapsed();
  const waits = retryListener();
  let attempts = 0;
  let isWaiting = false;
  let last: Verdict | undefined;
  const tries = (): Tries => ({ attempts, elapsed: clock.elapsed() - since });
  const late = (): Error => (last?.failure ?? policy.silence)(tries());
  const endWait = (isReached: boolean): void => {
    if (!isWaiting) return;
    waits.finished({ sentence: peer, isReached, attempt: attempts, waited: tries().elapsed });
  };

  const work = (inner: AbortSignal): Promise<T> =>
    pRetry(
      () => {
        attempts += 1;
        return attempt(inner);
      },
      {
        retries: Number.POSITIVE_INFINITY,
        // The clock sleeps below, so that tests can move time.
        minTimeout: 0,
        maxTimeout: 0,
        onFailedAttempt: async ({ error }) => {
          if (!(error instanceof AttemptFailure)) throw error;
          last = error.verdict;
          const failure = last.failure(tries());
          const delay = delayFor(last, attempts - 1, policy.random);
          const { elapsed } = tries();
          if (attempts > retries(last.retries) || elapsed + delay >= limit) throw failure;
          policy.onRetry?.({ failure, attempt: attempts, delay });
          const { status = failure.message } = failure.context;
          waits.updated({
            sentence: peer,
            status: `${String(status)}, attempt ${attempts}`,
            attempt: attempts,
            waited: elapsed,
            limit,
          });
          isWaiting = true;
          await clock.sleep(delay, inner);
        },
        shouldRetry: () => true,
      },
    );
  try {
    const result = await limited(clock, { limit, signal, late }, work);
    endWait(true);
    return result;
  } catch (error) {
    endWait(false);
    throw error;
  }
}

const delayFor = (verdict: Verdict, index: number, random: Random): Millis =>
  Math.max(pauseBefore(index, random), Math.min(verdict.notBefore ?? 0, longestAskedFor));

/** A Retry-After header as a time; it has seconds or a date. */
export function retryAfter(header: string | undefined, now: number): Millis | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return seconds(Number(header));
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

// Rules for retries, from the client of the replaced agent: 404, 423 and 425 ten times; 408, 429,
// 5xx and transient network errors for the whole limit of the call. That agent silently retried for
// half an hour and more; here every call has a limit, and each retry is logged.
import pRetry from 'p-retry';
import { changedFailure } from '../../engine/failures.ts';
import { limited } from '../../engine/limit.ts';
import { retryListener } from '../../engine/wait.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { ConnectionOptions } from './connection.ts';
import type { NetworkErrorKind } from './network-error.ts';

/** Options of every client. */
export interface CallerOptions {
  /** Proxies, trust and timeouts of every request. */
  readonly connection?: ConnectionOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Called before each retry, with the request. */
  readonly onRetry?: (notice: RetryNotice) => void;
}

/** A retry, before its pause. */
export interface RetryNotice {
  /** The request, for people. */
  readonly what: string;
  readonly failure: AgentError;
  readonly attempt: number;
  readonly delay: Millis;
}

/** The classification of a failed attempt. */
interface Verdict {
  /** The failure of the call, if this attempt was the last. */
  readonly failure: AgentError;
  /** Number of retries for this kind of failure. */
  readonly retries: number;
  /** Minimum pause that the server asked for. */
  readonly notBefore?: Millis | undefined;
}

/** One failed attempt. */
export class AttemptFailure extends Error {
  override readonly name = 'AttemptFailure';
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super('an attempt failed');
    this.verdict = verdict;
  }
}

/** The retry policy of a call. */
interface RetryPolicy {
  /** The server, for people: `the service`. */
  readonly peer: string;
  /** The request, for people. */
  readonly what: string;
  /** Limit of the whole call; default: 10 minutes. */
  readonly limit?: Millis | undefined;
  /** Reduces the number of retries for a kind of failure; default: all of them. */
  readonly retries?: ((worth: number) => number) | undefined;
  /** Makes the error of a call whose limit passes before an attempt has failed. */
  readonly silence: () => AgentError;
}

/** Default limit of a call. */
const usualLimit: Millis = minutes(10);

/** Maximum effect of a Retry-After header. */
const longestAskedFor: Millis = seconds(60);

/** Number of retries for answers that may soon change, but mostly do not. */
export const fewRetries = 10;

const retriesOfNetwork = { untrusted: 0, lasting: 0, unresolved: fewRetries, passing: Infinity };

/** Number of retries for a status or a network error; none for most. */
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
 * Tries until an attempt succeeds, a failure is final, or the limit ends.
 * @throws AgentError the failure of the last attempt; the signal's reason if the signal aborts
 */
export async function withRetry<T>(
  { clock, random, onRetry }: CallerOptions,
  { peer, what, limit = usualLimit, retries = (worth) => worth, silence }: RetryPolicy,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const since = clock.elapsed();
  const waits = retryListener();
  let attempts = 0;
  let isWaiting = false;
  let last: AgentError | undefined;
  const elapsed = (): Millis => clock.elapsed() - since;
  const counted = (failure: AgentError): AgentError =>
    changedFailure(failure, { context: { ...failure.context, attempts, elapsed: elapsed() } });
  const late = (): Error => counted(last ?? silence());
  const endWait = (isReached: boolean): void => {
    if (isWaiting)
      waits.finished({ sentence: peer, isReached, attempt: attempts, waited: elapsed() });
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
          const { verdict } = error;
          last = verdict.failure;
          const failure = counted(last);
          const delay = Math.max(
            pauseBefore(attempts - 1, random),
            Math.min(verdict.notBefore ?? 0, longestAskedFor),
          );
          const waited = elapsed();
          if (attempts > retries(verdict.retries) || waited + delay >= limit) throw failure;
          onRetry?.({ what, failure, attempt: attempts, delay });
          const status = `${String(failure.context['status'] ?? failure.message)}, attempt ${attempts}`;
          waits.updated({ sentence: peer, status, attempt: attempts, waited, limit });
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

/** The time in a Retry-After header, which has seconds or a date. */
export function retryAfter(header: string | undefined, now: number): Millis | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return seconds(Number(header));
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

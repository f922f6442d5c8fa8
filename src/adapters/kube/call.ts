import { type ApiServer, isApiError } from './api-server.ts';
import type { Session } from './session.ts';
import { type Emit, notesOf } from '../../engine/events.ts';
import { limited } from '../../engine/limit.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import { isForbidden, kubeFailure } from '../../ports/kube-failures.ts';
import type { CallOptions } from '../../ports/kube.ts';
import type { Random } from '../../ports/random.ts';

/** Ports and session of calls and followers. */
export interface Cluster {
  readonly session: Session;
  readonly clock: Clock;
  readonly random: Random;
  readonly health: Health;
  /** As in `CallOptions`. */
  readonly denials?: CallOptions['denials'] | undefined;
}

/** Limit of a call. */
const callLimit: Millis = minutes(1);

/**
 * Tries until an attempt succeeds, a failure is final, or a minute is over. Shows each attempt
 * whether an earlier one may have taken effect without an answer.
 * @throws AgentError `kube.*`; the signal's reason
 */
export async function call<T>(
  cluster: Cluster,
  signal: AbortSignal,
  attempt: (server: ApiServer, state: Attempt) => Promise<T>,
): Promise<T> {
  const { clock, random, session, health, denials } = cluster;
  const pace = pauses(random);
  let last: AgentError | undefined;
  let isUncertain = false;
  const late = (): Error =>
    last ?? kubeFailure('kube.unreachable', 'the API server has not answered');
  return limited(clock, { limit: callLimit, signal, late }, async (inner) => {
    for (;;) {
      try {
        const server = await session.server(inner);
        const result = await attempt(server, { signal: inner, isUncertain });
        health.answered();
        return result;
      } catch (error) {
        if (!isApiError(error)) throw error;
        last = error.failure;
        isUncertain ||= error.isUncertain;
        if (error.worth === 'none') throw error.failure;
        if (denials === 'final' && isForbidden(error.failure)) throw error.failure;
        health.failed(error.failure);
        if (error.isAboutCredentials) session.doubt();
        await clock.sleep(Math.max(pace.next(), error.notBefore), inner);
      }
    }
  });
}

/** Inputs of an attempt of a call. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** An earlier attempt may have taken effect. */
  readonly isUncertain: boolean;
}

/**
 * Reports once when the API server goes away, and once when it is back, for all callers together.
 */
interface Health {
  readonly failed: (failure: AgentError) => void;
  readonly answered: () => void;
}

/** The health of an API server before the first answer. */
export function healthOf(emit: Emit): Health {
  let isAway = false;
  const note = notesOf(emit, 'cluster/retry');
  return {
    failed: ({ code, message: reason }) => {
      if (isAway) return;
      isAway = true;
      note('warn', 'a request to the API server failed and is retried', { code, reason });
    },
    answered: () => {
      if (!isAway) return;
      isAway = false;
      note('info', 'the API server answers again');
    },
  };
}

/** Maximum pause, so that a server is found again within this time after any absence. */
const longest: Millis = seconds(1);

/**
 * Pauses between attempts: 50 to 100 ms, then doubled each time, up to a second unless another
 * maximum is given.
 */
export interface Pauses {
  readonly next: () => Millis;
  /** After a success, the next pause is short again. */
  readonly reset: () => void;
}

/** Random pauses, so that clients that were cut off together do not return together. */
export function pauses(random: Random, most = longest): Pauses {
  let count = 0;
  return {
    next: () => {
      const pause = Math.min(most, random.between(50, 100) * 2 ** count);
      count += 1;
      return pause;
    },
    reset: () => {
      count = 0;
    },
  };
}

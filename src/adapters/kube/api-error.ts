import { jsonIn } from '../../lib/json.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { networkErrorOf } from '../http/network-error.ts';

/**
 * What another attempt of one call is worth: none, one soon, or (the history that was asked for is
 * gone) one that begins with a list. Whoever follows a selection tries again whatever it was.
 */
export type Worth = 'none' | 'soon' | 'list';

/**
 * One attempt that failed. Whoever retries looks for this class and lets every other error pass.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly failure: AgentError;
  readonly worth: Worth;
  /** The server asked to be left alone for so long. */
  readonly notBefore: Millis;
  /** The request may have taken effect although no word of that came. */
  readonly isUncertain: boolean;
  /** The credentials, or the trust that came with them, did not do: look for newer ones. */
  readonly isAboutCredentials: boolean;

  constructor(
    failure: AgentError,
    traits: Partial<
      Pick<ApiError, 'worth' | 'notBefore' | 'isUncertain' | 'isAboutCredentials'>
    > = {},
  ) {
    super(failure.message);
    this.failure = failure;
    this.worth = traits.worth ?? 'soon';
    this.notBefore = traits.notBefore ?? 0;
    this.isUncertain = traits.isUncertain ?? false;
    this.isAboutCredentials = traits.isAboutCredentials ?? false;
  }
}

/** What a server can ask for at most with Retry-After. */
const longestAskedFor = seconds(30);

/**
 * What an answer other than 2xx means.
 * @param what was asked, for people: `GET /api/v1/nodes`
 */
export function errorOfAnswer(
  what: string,
  status: number,
  text: string,
  retryAfter?: Millis,
): ApiError {
  const said = statusIn(text);
  const code = said.isByBudget ? 'kube.disruption-budget' : codeFor(status);
  const failure = kubeFailure(code, `${what} answered ${status}: ${said.message}`, {
    context: { status, ...(said.reason === '' ? {} : { reason: said.reason }) },
  });
  const asked = said.retryAfter ?? retryAfter ?? 0;
  return new ApiError(failure, {
    worth: worthOf(status),
    notBefore: Math.min(asked, longestAskedFor),
    isUncertain: status >= 500,
    isAboutCredentials: status === 401,
  });
}

/** What it means that no answer came, or none to its end. */
export function errorOfSilence(what: string, server: string, error: unknown): ApiError {
  const { kind, words, code: fault } = networkErrorOf(error);
  const isUntrusted = kind === 'untrusted';
  const failure = kubeFailure(
    isUntrusted ? 'kube.untrusted' : 'kube.unreachable',
    `${server} cannot be reached: ${words === '' ? 'no answer' : words}`,
    { context: { what, fault, ...(isUntrusted ? { untrusted: words } : {}) }, cause: error },
  );
  return new ApiError(failure, { isUncertain: true, isAboutCredentials: isUntrusted });
}

/**
 * What an ERROR event inside a watch means; the history is gone with 410, and a list mends most.
 */
export function errorOfEvent(what: string, status: unknown): ApiError {
  const { code = 500, message = '' } = asStatus(status);
  const failure = kubeFailure('kube.failed', `${what} ended with ${code}: ${message}`, {
    context: { status: code },
  });
  return new ApiError(failure, { worth: 'list' });
}

/** Whether an ERROR event says that the history is gone (410), so that a list helps at once. */
export const isExpired = (status: unknown): boolean => asStatus(status).code === 410;

function codeFor(status: number): Parameters<typeof kubeFailure>[0] {
  if (status === 401 || status === 403) return 'kube.denied';
  if (status === 404) return 'kube.not-found';
  if (status === 409) return 'kube.conflict';
  if (status === 400 || status === 422) return 'kube.invalid';
  if (status === 429) return 'kube.busy';
  return 'kube.failed';
}

function worthOf(status: number): Worth {
  if (status === 410) return 'list';
  // A control plane that is being made refuses its own credentials for a while.
  const isPassing = [401, 403, 408, 429].includes(status) || status >= 500;
  return isPassing ? 'soon' : 'none';
}

/** The parts of a `Status` object (k8s.io/apimachinery) that matter here. */
interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: unknown;
  };
}

const asStatus = (value: unknown): Status =>
  typeof value === 'object' && value !== null ? value : {};

/** Of what a Status says; it may quote the object that was sent. */
const longestMessage = 4000;

/** As much of an answer that is no Status as a message can bear. */
const mostWords = 200;

function statusIn(text: string): {
  readonly message: string;
  readonly reason: string;
  /** A disruption budget refuses an eviction (`pkg/registry/core/pod/storage/eviction.go`). */
  readonly isByBudget: boolean;
  readonly retryAfter: Millis | undefined;
} {
  const status = asStatus(jsonIn(text));
  const wait = status.details?.retryAfterSeconds;
  const causes: unknown = status.details?.causes;
  const budget = (Array.isArray(causes) ? causes : [])
    .map((cause) => asStatus(cause))
    .find(({ reason }) => reason === 'DisruptionBudget');
  const more = budget?.message === undefined ? '' : ` ${budget.message}`;
  const said =
    typeof status.message === 'string' ? status.message : text.trim().slice(0, mostWords);
  const message = `${said}${more}`;
  return {
    message: message.slice(0, longestMessage),
    isByBudget: budget !== undefined,
    reason: typeof status.reason === 'string' ? status.reason : '',
    retryAfter: typeof wait === 'number' ? seconds(wait) : undefined,
  };
}

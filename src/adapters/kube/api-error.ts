import { jsonIn } from '../../lib/json.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { networkErrorOf } from '../http/network-error.ts';

/**
 * Effect of an error on the next attempt of a call: no attempt, an attempt soon, or (the requested
 * history is gone) an attempt that begins with a list. A follower tries again after any error.
 */
export type Worth = 'none' | 'soon' | 'list';

/** One failed attempt. Retries handle only this class and pass every other error on. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly failure: AgentError;
  readonly worth: Worth;
  /** Minimum pause that the server asked for. */
  readonly notBefore: Millis;
  /** The request may have taken effect without an answer. */
  readonly isUncertain: boolean;
  /** The server rejected the credentials, or their trust is wrong: look for newer ones. */
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

/** Maximum effect of a Retry-After header. */
const longestAskedFor = seconds(30);

/**
 * The error of an answer other than 2xx.
 * @param what the request, for people: `GET /api/v1/nodes`
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

/** The error of a missing or incomplete answer. */
export function errorOfSilence(what: string, server: string, error: unknown): ApiError {
  const { kind, words, code } = networkErrorOf(error);
  const isUntrusted = kind === 'untrusted';
  const failure = kubeFailure(
    isUntrusted ? 'kube.untrusted' : 'kube.unreachable',
    `${server} cannot be reached: ${words === '' ? 'no answer' : words}`,
    { context: { what, error: code, ...(isUntrusted ? { untrusted: words } : {}) }, cause: error },
  );
  return new ApiError(failure, { isUncertain: true, isAboutCredentials: isUntrusted });
}

/**
 * The error of an ERROR event in a watch; with 410 the history is gone, and a list helps in most
 * cases.
 */
export function errorOfEvent(what: string, status: unknown): ApiError {
  const { code = 500, message = '' } = asStatus(status);
  const failure = kubeFailure('kube.failed', `${what} ended with ${code}: ${message}`, {
    context: { status: code },
  });
  return new ApiError(failure, { worth: 'list' });
}

/** Whether an ERROR event means that the history is gone (410), so that a list helps at once. */
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
  // A control plane under construction refuses its own credentials for a while.
  const isPassing = [401, 403, 408, 429].includes(status) || status >= 500;
  return isPassing ? 'soon' : 'none';
}

/** The used fields of a `Status` object (k8s.io/apimachinery). */
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

/** Maximum length of a Status's message, which may quote the sent object. */
const longestMessage = 4000;

/** Maximum length of an excerpt from an answer that is not a Status. */
const mostWords = 200;

function statusIn(text: string): {
  readonly message: string;
  readonly reason: string;
  /**
   * Whether a disruption budget refuses an eviction (`pkg/registry/core/pod/storage/eviction.go`).
   */
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

import { renderDuration, seconds } from '../model/duration.ts';
import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';
import { resetCall } from '../model/reset.ts';
import type { FailureReport } from './events.ts';

/** Failures of the engine itself. */
export const engineFailures = {
  'run.stopped': {
    kind: 'bug',
    title: 'The run was stopped by a signal',
    hint: `a service stops a host that it has cancelled, failed or reset: then reset the cluster there (${resetCall()}). Otherwise run the same "podman run" line again; it resumes where it stopped. Where the service shows the host in error, add --service.stopIfCancelled=false`,
  },
  'run.unexpected': {
    kind: 'bug',
    title: 'Unexpected error',
    hint: 'report this as a bug, with the log',
  },
  'step.timed-out': {
    kind: 'limit',
    title: 'A step timed out',
    hint: 'read the last lines of the step in the log, then run the same "podman run" line again',
  },
  'wait.timed-out': {
    kind: 'limit',
    title: 'A wait timed out',
    hint: 'the message says what was missing last; fix that, then run the same "podman run" line again',
  },
} as const satisfies FailureTable;

/** Builds an error of the engine. */
export const engineFailure = failuresOf(engineFailures);

/** Converts a thrown value to an AgentError; any other error becomes a bug. */
export function asAgentError(thrown: unknown): AgentError {
  if (thrown instanceof AgentError) return thrown;
  return engineFailure('run.unexpected', messageOf(thrown), { cause: thrown });
}

/**
 * The failure of the last attempt, with the failure of the first attempt if it differs: the first
 * is often the cause.
 */
export function withFirst(last: AgentError, first: AgentError | undefined): AgentError {
  if (first === undefined || first.code === last.code) return last;
  const message = `${last.message} (the first attempt failed with ${first.code}: ${first.message})`;
  return changedFailure(last, { message, cause: last.cause ?? first });
}

/** A failure with another message, hint, context or cause. */
export function changedFailure(
  failure: AgentError,
  change: Partial<Pick<AgentError, 'message' | 'hint' | 'context' | 'cause'>>,
): AgentError {
  const { code, kind, isFinal } = failure;
  const { message = failure.message, hint = failure.hint } = change;
  const { context = failure.context, cause = failure.cause } = change;
  const row = { code, kind, hint, title: '', ...(isFinal ? { isFinal } : {}) };
  return new AgentError(row, message, { context, cause });
}

/** A failure in the form of events. */
export function reportOf(error: AgentError): FailureReport {
  const { code, kind, message, hint, context } = error;
  const why = reasonOf(error);
  return { code, kind, message, hint, context, ...(why === undefined ? {} : { why }) };
}

/** A failure in one sentence: its code, message and reason. */
export const renderFailure = ({
  code,
  message,
  why,
}: Pick<FailureReport, 'code' | 'message' | 'why'>): string =>
  `${code}: ${message}${why === undefined ? '' : ` (${why})`}`;

/**
 * The reason of a failure: its chain of causes, or else its context, without text that the message
 * repeats. Undefined if there is nothing to add to the message.
 */
export function reasonOf(thrown: unknown): string | undefined {
  const message = messageOf(thrown);
  const causes: string[] = [];
  let cause = thrown instanceof Error ? thrown.cause : undefined;
  while (cause !== undefined && causes.length < 8) {
    causes.push(messageOf(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  // An error that wraps another one often begins or ends with its words.
  const reasons = causes.filter(
    (text, at) => ![message, ...causes.slice(0, at)].some((earlier) => earlier.includes(text)),
  );
  if (reasons.length > 0) return reasons.join(', because ');
  if (!(thrown instanceof AgentError)) return causes.at(-1);
  const { stderr } = thrown.context;
  if (causes.length > 0 && typeof stderr === 'string') {
    const isNew = stderr.split('\n').some((line) => !message.includes(line.trim()));
    return isNew ? lastLines(stderr) : undefined;
  }
  const known = Object.entries(thrown.context).flatMap(([name, value]) => {
    const isSpan = spans.has(name) && typeof value === 'number';
    const explainsNothing =
      (isSpan && value < seconds(1)) || (name === 'attempts' && value === 1) || value === '';
    const isRepeated = typeof value === 'string' && message.includes(value);
    if (explainsNothing || isRepeated) return [];
    return [`${name} ${isSpan ? renderDuration(value) : String(value)}`];
  });
  return known.length > 0 ? known.join(', ') : undefined;
}

/** Numbers of a context that are durations in milliseconds. */
const spans: ReadonlySet<string> = new Set(['delay', 'duration', 'elapsed', 'limit', 'waited']);

/** The message of any thrown value. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);

const longestExcerpt = 600;

/** The end of a command's output, in whole lines if they are short enough. */
function lastLines(output: string): string {
  const text = output.trim();
  if (text.length <= longestExcerpt) return text;
  return text.slice(-longestExcerpt).replace(/^[^\n]*\n/, '… ');
}

/** The parts of a step's or a controller's scope that a note needs. */
interface NotingScope {
  readonly signal: AbortSignal;
  readonly note: (level: 'warn', message: string, fields: Readonly<Record<string, string>>) => void;
}

/**
 * Notes a failure that the step survives, with its code and reason.
 * @throws the reason of the signal if the step was stopped, which is not a failure
 */
export function noteFailed({ signal, note }: NotingScope, message: string, error: unknown): void {
  signal.throwIfAborted();
  const { code, message: reason } = asAgentError(error);
  note('warn', message, { code, reason });
}

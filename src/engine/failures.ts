import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';
import type { FailureReport } from './events.ts';

/** Failures of the engine itself. */
export const engineFailures = {
  'run.stopped': {
    kind: 'bug',
    title: 'The run was stopped by a signal',
    hint: 'a service stops a host that it has cancelled, failed or reset: then reset the host there. Otherwise run the same command again; it resumes where it stopped. Where the service shows the host in error, add --service.stopIfCancelled=false',
  },
  'run.unexpected': {
    kind: 'bug',
    title: 'Unexpected error',
    hint: 'report this as a bug, with the log',
  },
  'step.timed-out': {
    kind: 'limit',
    title: 'A step timed out',
    hint: 'read the last lines of the step in the log, then run the same command again',
  },
  'wait.timed-out': {
    kind: 'limit',
    title: 'A wait timed out',
    hint: 'the message says what was missing last; fix that, then run the same command again',
  },
} as const satisfies FailureTable;

/** Builds an error of the engine. */
export const engineFailure = failuresOf(engineFailures);

/** Any thrown value as an AgentError; anything else is a bug. */
export function asAgentError(thrown: unknown): AgentError {
  if (thrown instanceof AgentError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return engineFailure('run.unexpected', message, { cause: thrown });
}

/**
 * The failure of a last attempt, with what the first one failed with where that was another thing:
 * often the cause.
 */
export function withFirst(last: AgentError, first: AgentError | undefined): AgentError {
  if (first === undefined || first.code === last.code) return last;
  const { code, kind, hint, isFinal, context } = last;
  const row = { code, kind, hint, title: '', ...(isFinal ? { isFinal } : {}) };
  const message = `${last.message} (the first attempt failed with ${first.code}: ${first.message})`;
  return new AgentError(row, message, { context, cause: last.cause ?? first });
}

/** A failure as events carry it. */
export function reportOf(error: AgentError): FailureReport {
  return {
    code: error.code,
    kind: error.kind,
    message: error.message,
    hint: error.hint,
    context: error.context,
  };
}

/** What a step or a controller notes with. */
interface NotingScope {
  readonly signal: AbortSignal;
  readonly note: (level: 'warn', message: string, fields: Readonly<Record<string, string>>) => void;
}

/**
 * Notes a failure that the step survives, with its code and reason.
 * @throws the reason of the signal where the step was stopped: that is no failure
 */
export function noteFailed({ signal, note }: NotingScope, message: string, error: unknown): void {
  signal.throwIfAborted();
  const { code, message: reason } = asAgentError(error);
  note('warn', message, { code, reason });
}

/** Why an agent ended. */
export interface AgentFailure {
  readonly code: string;
  readonly message: string;
}

/** How much of a log stands for a failure that it does not name. */
const TAIL_CHARACTERS = 2000;

/** Finds the three lines with which an agent ends; without them the end of the log has to do. */
export function failureIn(
  log: string,
  end: { readonly exitCode: number | undefined; readonly signal: string | undefined },
): AgentFailure {
  const [, code, message] = /^failed: ([\w.-]+): (.*)$/m.exec(log) ?? [];
  return code === undefined || message === undefined
    ? {
        code: `exit ${end.exitCode ?? end.signal ?? ''}`,
        message: log.trim().slice(-TAIL_CHARACTERS),
      }
    : { code, message };
}

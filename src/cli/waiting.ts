import { flagFailure } from '../config/failures.ts';
import { plainLine } from '../lib/plain-text.ts';
import { type Millis, renderDuration, seconds, readGoDuration } from '../model/duration.ts';
import { printError } from './messages.ts';

/** The user gets a first message after this time. */
const firstAfter = seconds(1);
const againAfter = seconds(10);

/**
 * Does work, and prints on standard error the reason of the wait: after a second, then every ten
 * seconds.
 * @param what called for each line, as the reason may change
 */
export async function printWaiting<Result>(
  what: () => string,
  work: () => Promise<Result>,
): Promise<Result> {
  const since = performance.now();
  const printLine = (): void => {
    const duration = renderDuration(performance.now() - since);
    printError(`${plainLine(`waiting for ${what()}, ${duration} so far`)}\n`);
    timer = setTimeout(printLine, againAfter);
  };
  let timer = setTimeout(printLine, firstAfter);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** The longest timer of Node, not quite 25 days; a longer one would end at once. */
const longestTimer: Millis = 2 ** 31 - 1;

/** Aborts with a signal, or after a limit; without a limit only with the signal. */
export const limitedBy = (stop: AbortSignal, limit: Millis | undefined): AbortSignal =>
  limit === undefined
    ? stop
    : AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(Math.min(limit, longestTimer)))]);

/**
 * The value of `--timeout`.
 * @throws AgentError `cli.bad-flag`
 */
export function limitIn(text: string | undefined): Millis | undefined {
  if (text === undefined) return undefined;
  const limit = readGoDuration(text);
  if (limit !== undefined && limit > 0) return limit;
  throw flagFailure('cli.bad-flag', `--timeout: ${JSON.stringify(text)} is not a duration`, {
    hint: 'write 90m, 2h or 1h30m',
  });
}

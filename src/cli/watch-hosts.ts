import { systemClock } from '../adapters/clock.ts';
import { web } from '../adapters/http/web.ts';
import { systemPorts } from '../adapters/random.ts';
import type { Environment } from '../config/environment.ts';
import { proxiesIn } from '../config/load.ts';
import { asAgentError } from '../engine/failures.ts';
import { limited } from '../engine/limit.ts';
import { jsonIn } from '../lib/json.ts';
import { plainLine } from '../lib/plain-text.ts';
import { readUpTo } from '../lib/read-up-to.ts';
import { shownUrl } from '../lib/shown-url.ts';
import { type Millis, minutes, renderDuration, seconds } from '../model/duration.ts';
import { AgentError } from '../model/failure.ts';
import type { Clock } from '../ports/clock.ts';
import type { Web } from '../ports/web.ts';
import { RunStatus } from '../reporting/run-status.ts';
import { cliFailure } from './failures.ts';
import { printAt } from './messages.ts';
import { isHostInstalled, statusChanges } from './status-changes.ts';
import { stopSignal } from './stop-signal.ts';
import { limitedBy } from './waiting.ts';

/** Words of a command line that name what agents serve of their runs. */
export const statusUrlsIn = (argv: readonly string[]): readonly string[] =>
  argv.filter((word) => /^https?:\/\/[^/]+\/status$/i.test(word));

/** How often a host is asked. */
const pause = seconds(1);

/** A host that answers does so at once. */
const answersWithin = seconds(5);

/** A unit that starts a failed agent again has done so by then. */
const restartsWithin = minutes(2);

const mostBytes = 1024 ** 2;

/** Hosts whose agents are watched. */
export interface HostsCall {
  readonly urls: readonly string[];
  /** From now; none unless given. */
  readonly limit: Millis | undefined;
  readonly environment: Environment;
}

/**
 * Prints each change of the runs on hosts, a line each, until all have ended. Resolves with 0 once
 * all are installed, or with the code of a signal.
 * @throws AgentError `cli.not-installed`, `cli.not-installed-in-time`
 */
export async function watchHosts({ urls, limit, environment }: HostsCall): Promise<number> {
  using stop = stopSignal();
  using limited = limitedBy(stop.signal, limit);
  const { signal } = limited;
  const reader = web({
    ...systemPorts,
    openLimit: answersWithin,
    connection: { proxies: proxiesIn(environment) },
  });
  try {
    const outcomes = await Promise.all(
      urls.map((url) =>
        watchHost({
          name: new URL(url).host,
          signal,
          clock: systemClock,
          print: printAt,
          read: () => readHostStatus({ reader, clock: systemClock }, url, signal),
        }),
      ),
    );
    if (stop.signal.aborted) return stop.endCode();
    requireAllInstalled(outcomes, limit);
    return 0;
  } finally {
    await reader.close();
  }
}

interface StatusReader {
  readonly reader: Pick<Web, 'open'>;
  readonly clock: Clock;
}

/**
 * Reads the status that a host serves. A host that stops in the middle of its answer has not
 * answered.
 * @throws AgentError `cli.status-not-found`, `web.*`
 */
export function readHostStatus(
  { reader, clock }: StatusReader,
  url: string,
  signal: AbortSignal,
): Promise<RunStatus> {
  const notFound = (what: string): AgentError =>
    cliFailure('cli.status-not-found', `${shownUrl(url)} ${what}`);
  const late = (): AgentError => notFound('does not answer to its end');
  return limited(clock, { limit: 2 * answersWithin, signal, late }, async (within) => {
    const { body } = await reader.open(url, { signal: within });
    const text = (await readUpTo(body, mostBytes))?.toString() ?? '';
    const { data } = RunStatus.safeParse(jsonIn(text));
    if (data === undefined) throw notFound('serves no status of a run');
    return data;
  });
}

/** How a watched host came out. */
export type HostOutcome =
  | { readonly kind: 'installed' }
  | { readonly kind: 'failed'; readonly failure: AgentError }
  /** The watch ended before its run. */
  | { readonly kind: 'unknown'; readonly text: string };

/** What a host is watched by. */
export interface HostWatch {
  readonly name: string;
  readonly read: () => Promise<RunStatus>;
  readonly print: (lines: readonly string[]) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Follows one host until it is installed, its run failed and no other one began in two minutes, or
 * the signal aborts. A host that does not answer is asked again: nothing counts as installed but
 * what the host says, or that it was about to reboot and no agent has been started on it again in
 * two minutes.
 */
export async function watchHost(watch: HostWatch): Promise<HostOutcome> {
  const { name, read, clock, signal } = watch;
  let status: RunStatus | undefined;
  let lastError: string | undefined;
  let failed: { readonly at: Millis; readonly failure: AgentError } | undefined;
  // When it stopped answering in the step that reboots it: everything else is done by then.
  let leftAt = Infinity;
  const print = (lines: readonly string[]): void =>
    watch.print(lines.map((line) => `${name}: ${line}`));
  const onError = (error: string): void => {
    const isLeft = status?.running.some(({ step }) => step === 'finish/leave-host') === true;
    const away = isLeft ? 'no answer, and it was about to reboot' : 'no answer';
    if (error !== lastError)
      print([`${status === undefined ? 'not reached yet' : away}: ${error}`]);
    lastError = error;
    if (isLeft) leftAt = Math.min(leftAt, clock.elapsed());
  };
  /** Whether the host says that it is installed. */
  const onAnswer = (answer: RunStatus): boolean => {
    const isBack = lastError !== undefined && status !== undefined;
    print([...(isBack ? ['answers again'] : []), ...statusChanges(status, answer)]);
    const earlier = status?.run === answer.run ? failed : undefined;
    [status, lastError, leftAt, failed] = [answer, undefined, Infinity, undefined];
    try {
      return isHostInstalled(name, answer);
    } catch (thrown) {
      failed = earlier ?? { at: clock.elapsed(), failure: asAgentError(thrown) };
      return false;
    }
  };
  const isPast = (at = Infinity): boolean => clock.elapsed() - at >= restartsWithin;
  const isOver = (): boolean => signal.aborted;
  while (!isOver() && !isPast(failed?.at)) {
    const answer = await read().catch(asAgentError);
    // A read that was aborted says nothing of the host.
    if (isOver()) break;
    if (answer instanceof AgentError) onError(plainLine(answer.message));
    else if (onAnswer(answer)) return { kind: 'installed' };
    if (isPast(leftAt)) return { kind: 'installed' };
    if (!isPast(failed?.at)) await clock.sleep(pause, signal).catch(() => undefined);
  }
  return failed === undefined
    ? { kind: 'unknown', text: `${name}: ${lastKnown(status, lastError)}` }
    : { kind: 'failed', failure: failed.failure };
}

function lastKnown(status: RunStatus | undefined, lastError: string | undefined): string {
  const steps = status?.running.map(({ step, wait }) =>
    plainLine(wait === undefined ? step : `${step}, waits until ${wait.sentence}: ${wait.status}`),
  );
  const error = lastError === undefined ? [] : [lastError];
  return [...(steps ?? ['never reached']), ...error].join('; ') || 'between two steps';
}

/** @throws AgentError `cli.not-installed`, `cli.not-installed-in-time` */
function requireAllInstalled(outcomes: readonly HostOutcome[], limit: Millis = 0): void {
  const failed = outcomes.flatMap((one) => (one.kind === 'failed' ? [one.failure.message] : []));
  if (failed.length > 0) throw cliFailure('cli.not-installed', failed.join('; '));
  const unknown = outcomes.flatMap((one) => (one.kind === 'unknown' ? [one.text] : []));
  if (unknown.length === 0) return;
  const said = `${unknown.length} of ${outcomes.length} hosts are not installed within ${renderDuration(limit)}: ${unknown.join('; ')}`;
  throw cliFailure('cli.not-installed-in-time', said);
}

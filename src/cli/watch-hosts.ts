import { systemClock, systemPorts } from '../adapters/clock.ts';
import { web } from '../adapters/http/web.ts';
import type { Environment } from '../config/environment.ts';
import { proxiesIn } from '../config/load.ts';
import { asAgentError } from '../engine/failures.ts';
import { limited } from '../engine/limit.ts';
import { waitText } from '../engine/run-steps.ts';
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

/** Words of a command line that are status URLs of agents. */
export const statusUrlsIn = (argv: readonly string[]): readonly string[] =>
  argv.filter((word) => /^https?:\/\/[^/]+\/status$/i.test(word));

/** Interval between requests to a host. */
const pause = seconds(1);

/** A reachable host answers at once. */
const answersWithin = seconds(5);

/** systemd has restarted a failed agent's unit by then. */
const restartsWithin = minutes(2);

/** A status has some KiB; a parser's mistakes in a longer text take a thousand times its length. */
const mostBytes = 128 * 1024;

/** Inputs of a watch of agents on hosts. */
export interface HostsCall {
  readonly urls: readonly string[];
  /** Time from now; no limit unless given. */
  readonly limit: Millis | undefined;
  readonly environment: Environment;
}

/**
 * Prints a line for each change of the runs on hosts until all runs have ended. Resolves with 0
 * once all hosts are installed, or with the exit code of a signal.
 * @throws AgentError `cli.not-installed`, `cli.not-installed-in-time`
 */
export async function watchHosts({ urls, limit, environment }: HostsCall): Promise<number> {
  using stop = stopSignal();
  const signal = limitedBy(stop.signal, limit);
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

/**
 * Reads the status that a host serves. A truncated answer counts as no answer.
 * @throws AgentError `cli.status-not-found`, `web.*`
 */
export function readHostStatus(
  { reader, clock }: { readonly reader: Pick<Web, 'open'>; readonly clock: Clock },
  url: string,
  signal: AbortSignal,
): Promise<RunStatus> {
  const notFound = (what: string): AgentError =>
    cliFailure('cli.status-not-found', `${shownUrl(url)} ${what}`);
  const late = (): AgentError => notFound('does not answer to its end');
  return limited(clock, { limit: 2 * answersWithin, signal, late }, async (within) => {
    const { body } = await reader.open(url, { peer: 'the host', signal: within });
    const text = (await readUpTo(body, mostBytes))?.toString() ?? '';
    const { data } = RunStatus.safeParse(jsonIn(text));
    if (data === undefined) throw notFound('serves no status of a run');
    return data;
  });
}

/** Outcome of a watched host. */
export type HostOutcome =
  | { readonly kind: 'installed' }
  | { readonly kind: 'failed'; readonly failure: AgentError }
  /** The watch ended before the run of the host. */
  | { readonly kind: 'unknown'; readonly text: string }
  /** The host never served a status. */
  | { readonly kind: 'unreached'; readonly failure: AgentError };

/** Inputs of the watch of one host. */
export interface HostWatch {
  readonly name: string;
  readonly read: () => Promise<RunStatus>;
  readonly print: (lines: readonly string[]) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Follows one host until it is installed, until its run failed and no other run began within two
 * minutes, or until the signal aborts. Retries a host that does not answer. A host counts as
 * installed only if it says so, or if it said that it was about to reboot and no agent started on
 * it again within two minutes.
 */
export async function watchHost(watch: HostWatch): Promise<HostOutcome> {
  const { name, read, clock, signal } = watch;
  let status: RunStatus | undefined;
  let lastError: string | undefined;
  let lastFailure: AgentError | undefined;
  let failed: { readonly at: Millis; readonly failure: AgentError } | undefined;
  // Time of the last answer during the step that reboots the host: all other steps are done by
  // then.
  let leftAt = Infinity;
  const print = (lines: readonly string[]): void =>
    watch.print(lines.map((line) => `${name}: ${line}`));
  const onError = (error: string): void => {
    const isLeft = status?.running.some(({ step }) => step === 'finish/leave-host') === true;
    const away = isLeft ? 'no answer, and it was about to reboot' : 'no answer';
    if (error !== lastError) print([`${status === undefined ? 'no status yet' : away}: ${error}`]);
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
    // An aborted read says nothing about the host.
    if (isOver()) break;
    if (answer instanceof AgentError) {
      lastFailure = answer;
      onError(plainLine(answer.message));
    } else if (onAnswer(answer)) return { kind: 'installed' };
    if (isPast(leftAt)) return { kind: 'installed' };
    if (!isPast(failed?.at)) await clock.sleep(pause, signal).catch(() => undefined);
  }
  if (failed !== undefined) return { kind: 'failed', failure: failed.failure };
  if (status === undefined && lastFailure !== undefined)
    return { kind: 'unreached', failure: lastFailure };
  return { kind: 'unknown', text: `${name}: ${lastKnown(status, lastError)}` };
}

function lastKnown(status: RunStatus | undefined, lastError: string | undefined): string {
  const steps = status?.running.map(({ step, wait }) =>
    plainLine(wait === undefined ? step : `${step}, ${waitText(wait)}`),
  );
  const error = lastError === undefined ? [] : [lastError];
  return [...(steps ?? ['no answer yet']), ...error].join('; ') || 'between two steps';
}

const checkHost = 'check the address, and that the agent runs with --status (setting log.status)';

/**
 * @throws AgentError `cli.not-installed`, `cli.not-installed-in-time`; if no host has served a
 * status, the error of the last request
 */
export function requireAllInstalled(outcomes: readonly HostOutcome[], limit: Millis = 0): void {
  const failed = outcomes.flatMap((one) => (one.kind === 'failed' ? [one.failure.message] : []));
  if (failed.length > 0) throw cliFailure('cli.not-installed', failed.join('; '));
  const unreached = outcomes.flatMap((one) => (one.kind === 'unreached' ? [one.failure] : []));
  const never = unreached.map(({ message }) => message);
  const [first] = unreached;
  if (first !== undefined && unreached.length === outcomes.length)
    throw new AgentError(
      { code: first.code, kind: first.kind, title: '', hint: checkHost },
      `no status within ${renderDuration(limit)}: ${never.join('; ')}`,
    );
  const unknown = outcomes.flatMap((one) => (one.kind === 'unknown' ? [one.text] : []));
  const missing = [...unknown, ...never];
  if (missing.length === 0) return;
  const said = `${missing.length} of ${outcomes.length} hosts are not installed within ${renderDuration(limit)}: ${missing.join('; ')}`;
  const hint =
    never.length === 0
      ? undefined
      : `${checkHost}; then watch the hosts again with a longer --timeout`;
  throw cliFailure('cli.not-installed-in-time', said, { hint });
}

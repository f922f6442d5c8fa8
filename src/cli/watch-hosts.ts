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
import type { AgentError } from '../model/failure.ts';
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

/** What is known of a host that is watched. */
interface Known {
  readonly status?: RunStatus;
  /** Why it does not answer now. */
  readonly lastError?: string;
  readonly failed?: { readonly at: Millis; readonly failure: AgentError };
  /** When it stopped answering in the step that reboots it. */
  readonly leftAt?: Millis;
  readonly isInstalled?: boolean;
}

/**
 * Follows one host until it is installed, its run failed and no other one began in two minutes, or
 * the signal aborts. A host that does not answer is asked again: nothing counts as installed but
 * what the host says, or that it was about to reboot and no agent has been started on it again in
 * two minutes.
 */
export async function watchHost(watch: HostWatch): Promise<HostOutcome> {
  const { name, read, print, clock, signal } = watch;
  const isOver = (): boolean => signal.aborted;
  let known: Known = {};
  while (!isOver()) {
    const { lines, ...now } = await read().then(
      (status) => afterAnswer(known, status, { name, at: clock.elapsed() }),
      (thrown: unknown) =>
        afterError(known, plainLine(asAgentError(thrown).message), clock.elapsed()),
    );
    // A read that was aborted says nothing of the host.
    if (isOver()) break;
    known = now;
    print(lines.map((line) => `${name}: ${line}`));
    const { isInstalled = false, leftAt, failed } = known;
    const isPast = (at = Infinity): boolean => clock.elapsed() - at >= restartsWithin;
    if (isInstalled || isPast(leftAt)) return { kind: 'installed' };
    if (isPast(failed?.at)) break;
    await clock.sleep(pause, signal).catch(() => undefined);
  }
  const { failed } = known;
  return failed === undefined
    ? { kind: 'unknown', text: `${name}: ${lastKnown(known)}` }
    : { kind: 'failed', failure: failed.failure };
}

interface Heard extends Known {
  readonly lines: readonly string[];
}

function afterAnswer(
  { status: before, lastError, failed: earlier }: Known,
  status: RunStatus,
  { name, at }: { readonly name: string; readonly at: Millis },
): Heard {
  const failure = failureOf(name, status);
  const isSameRun = before?.run === status.run;
  const failed =
    failure === undefined || failure === 'installed'
      ? undefined
      : ((isSameRun ? earlier : undefined) ?? { at, failure });
  const isBack = lastError !== undefined && before !== undefined;
  return {
    status,
    lines: [...(isBack ? ['answers again'] : []), ...statusChanges(before, status)],
    ...(failure === 'installed' ? { isInstalled: true } : {}),
    ...(failed === undefined ? {} : { failed }),
  };
}

function afterError(known: Known, lastError: string, at: Millis): Heard {
  const { status, leftAt = at } = known;
  const isLeft = status !== undefined && isLeaving(status);
  const away = isLeft ? 'no answer, and it was about to reboot' : 'no answer';
  const what = status === undefined ? 'not reached yet' : away;
  const lines = lastError === known.lastError ? [] : [`${what}: ${lastError}`];
  return { ...known, lastError, lines, ...(isLeft ? { leftAt } : {}) };
}

/** Undefined while its run continues. */
function failureOf(name: string, status: RunStatus): AgentError | 'installed' | undefined {
  try {
    return isHostInstalled(name, status) ? 'installed' : undefined;
  } catch (thrown) {
    return asAgentError(thrown);
  }
}

/** Its last step, which reboots it, has begun: everything else is done. */
const isLeaving = ({ state, running }: RunStatus): boolean =>
  state === 'running' && running.some(({ step }) => step === 'finish/leave-host');

function lastKnown({ status, lastError }: Known): string {
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

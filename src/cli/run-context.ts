import { systemClock, systemPorts } from '../adapters/clock.ts';
import { type LogOptions, openEventStream, openLog } from '../adapters/logging/log-sink.ts';
import type { PodMetrics } from '../adapters/metrics/manager-metrics.ts';
import { serveMetrics } from '../adapters/status-server.ts';
import type { Environment } from '../config/environment.ts';
import { flagFailure } from '../config/failures.ts';
import { type Emit, notesOf, type RunEvent, type Sink, type Progress } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import { type ListenAddress, listenAddressOf } from '../lib/address.ts';
import { plainText, withTexts } from '../lib/plain-text.ts';
import { minutes } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import type { Clock } from '../ports/clock.ts';
import { exitCodeOf, failureText, printError } from './messages.ts';
import { stopSignal } from './stop-signal.ts';

/**
 * Sends every event of one run to its sinks. Adapters and the reporter emit their events here too.
 */
export interface EventHub {
  /** The id of the run. */
  readonly run: string;
  readonly emit: Emit;
  readonly sink: Sink;
  readonly add: (sink: Sink) => void;
}

/**
 * A hub without sinks. If a sink throws, the hub removes it and informs the others. The hub masks
 * secrets that `mask` knows, removes control characters for a terminal, cuts long texts, and drops
 * a falling percentage of a step.
 */
export function eventHub(clock: Clock, run: string, mask = (text: string) => text): EventHub {
  const sinks = new Set<Sink>();
  const rising = risingPercent();
  const emit: Emit = (body) => {
    sink({ ...body, at: clock.now(), run });
  };
  const noteDropped = notesOf(emit, 'engine/emit');
  const sink: Sink = (event: RunEvent) => {
    const dropped: unknown[] = [];
    const shown = shownEvent(rising(event), mask);
    for (const one of sinks) {
      try {
        one(shown);
      } catch (thrown) {
        sinks.delete(one);
        dropped.push(thrown);
      }
    }
    for (const thrown of dropped) {
      const { message: reason } = asAgentError(thrown);
      noteDropped('warn', 'a reader of the events failed and gets no more of them', { reason });
    }
  };
  return {
    run,
    sink,
    emit,
    add: (one) => {
      sinks.add(one);
    },
  };
}

/** Fields by which sinks decide; none of them comes from outside. */
const structural: ReadonlySet<string> = new Set(['type', 'run', 'step', 'lane', 'stage', 'staged']);

const shownEvent = (event: RunEvent, mask: (text: string) => string): RunEvent =>
  Object.fromEntries(
    Object.entries(event).map(([name, value]: [string, unknown]) => [
      name,
      structural.has(name) ? value : withTexts(value, (text) => plainText(mask(text))),
    ]),
  ) as RunEvent;

/** Arguments of a program that runs in a pod. */
export interface PodCall {
  readonly environment: Environment;
  /** Kubeconfig of the cluster; default: the service account of the pod. */
  readonly kubeconfig?: string;
  /** Log at level debug. */
  readonly verbose: boolean;
  /** Address on which to serve metrics; none unless given. */
  readonly metrics?: string;
}

/**
 * The value of an option for a listen address; undefined if the option is not given.
 * @throws AgentError `cli.bad-flag`
 */
export function addressIn(flag: string, text = ''): ListenAddress | undefined {
  const address = listenAddressOf(text);
  if (address !== undefined || text === '') return address;
  throw flagFailure('cli.bad-flag', `${flag}: ${text} is not an address to listen on`, {
    hint: 'write HOST:PORT, [IPV6]:PORT or :PORT, :9110 for example',
  });
}

/** The targets of a run's log. */
interface LogPlan {
  readonly log: Omit<LogOptions, 'mask' | 'file'>;
  /** Finds the path of a file that gets the same lines. */
  readonly file?: () => Promise<string>;
  /** Target of the event stream, as in `log.events`; none unless given. */
  readonly events?: string;
  readonly sinks: readonly Sink[];
}

/**
 * Opens the log targets of a run; `close` takes at most two seconds. The run does not depend on
 * them: a file that cannot be opened is a warning.
 */
export async function openHub(
  mask: (text: string) => string,
  { log, file, events = '', sinks }: LogPlan,
): Promise<{ readonly hub: EventHub; readonly close: () => Promise<void> }> {
  const hub = eventHub(systemClock, systemPorts.random.uuid(), mask);
  const faults: AgentError[] = [];
  const ifPossible = async <T>(open: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await open();
    } catch (thrown) {
      faults.push(asAgentError(thrown));
      return undefined;
    }
  };
  const options = { ...log, mask };
  const lines =
    (await ifPossible(async () => file && openLog({ ...options, file: await file() }))) ??
    openLog(options);
  const stream = events === '' ? undefined : await ifPossible(() => openEventStream(events, mask));
  for (const sink of [lines.sink, ...(stream ? [stream.sink] : []), ...sinks]) hub.add(sink);
  const note = notesOf(hub.emit, 'log/open');
  for (const { code, message: reason, hint } of faults)
    note('warn', 'continuing without one of its logs', { code, reason, hint });
  return {
    hub,
    close: async () => {
      await Promise.allSettled([lines.close(), stream?.close()]);
    },
  };
}

/** Log targets of a command without a journal. */
interface LogTarget {
  readonly level: 'debug' | 'info' | 'warn';
  readonly stream: 'stdout' | 'stderr';
  /** A file that gets the same lines. */
  readonly file?: string;
  /** Removes secrets from a line; default: no masking. */
  readonly mask?: (text: string) => string;
  /** Further sinks that get every event. */
  readonly sinks?: readonly Sink[];
}

/** The work of such a command. The signal is aborted when the command is stopped. */
export type Work = (run: EventHub & { readonly signal: AbortSignal }) => Promise<void>;

/**
 * Does work without a journal, and resolves with the exit code of the command. Writes a failure to
 * standard error. A stop ends the work with the exit code of the signal.
 */
export async function withoutJournal(target: LogTarget, work: Work): Promise<number> {
  using stop = stopSignal();
  const { level, stream, file, mask = (text: string) => text, sinks = [] } = target;
  const { hub, close } = await openHub(mask, {
    log: {
      level,
      format: process[stream].isTTY ? 'pretty' : 'json',
      descriptors: [stream === 'stdout' ? 1 : 2],
    },
    ...(file === undefined ? {} : { file: () => Promise.resolve(file) }),
    sinks,
  });
  let failure: string | undefined;
  try {
    await work({ ...hub, signal: stop.signal });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    failure = failureText(thrown, mask);
    return exitCodeOf(thrown);
  } finally {
    await close();
    if (failure !== undefined) printError(failure);
  }
}

/**
 * Runs a program in a pod. The program logs to standard output. It loads and serves metrics only if
 * an option asks for them.
 * @throws AgentError `cli.bad-flag`
 */
export async function runInPod(
  { verbose, metrics: address }: PodCall,
  work: (run: Parameters<Work>[0] & { readonly metrics: PodMetrics | undefined }) => Promise<void>,
): Promise<number> {
  const listen = addressIn('--metrics', address);
  const metrics =
    listen && (await import('../adapters/metrics/manager-metrics.ts')).managerMetrics();
  const level = verbose ? 'debug' : 'info';
  const sinks = metrics === undefined ? [] : [metrics.sink];
  return withoutJournal({ level, stream: 'stdout', sinks }, async (run) => {
    await using open = new AsyncDisposableStack();
    if (listen !== undefined && metrics !== undefined)
      open.defer(await serveMetrics(listen, metrics.text, run.emit));
    await work({ ...run, metrics });
  });
}

/**
 * Removes a percentage from the progress of a step if an earlier one was higher: a new attempt
 * starts at zero, and no view may show a falling percentage. Until the new attempt reaches the
 * earlier percentage, its text says how long the attempt will take.
 */
export function risingPercent(): (event: RunEvent) => RunEvent {
  const shown = new Map<string, number>();
  return (event) => {
    if (event.type !== 'step.progress' || event.progress.percent === undefined) return event;
    const { step, progress } = event;
    const { percent = 0 } = progress;
    if (percent < (shown.get(step) ?? 0)) return { ...event, progress: describeRestart(progress) };
    shown.set(step, percent);
    return event;
  };
}

function describeRestart({ percent, ...rest }: Progress): Progress {
  if (rest.info !== `${percent ?? 0}%`) return rest;
  const left = rest.remaining;
  // In whole minutes: each new text is news to the service, which gives up on a stage without news.
  const about = left === undefined ? '' : `, about ${Math.ceil(left / minutes(1))} min left`;
  return { ...rest, info: `again from the start${about}` };
}

import { systemClock } from '../adapters/clock.ts';
import { type LogOptions, openEventStream, openLog } from '../adapters/logging/log-sink.ts';
import { systemPorts } from '../adapters/random.ts';
import type { PodMetrics } from '../adapters/metrics/manager-metrics.ts';
import { serveMetrics } from '../adapters/status-server.ts';
import type { Environment } from '../config/environment.ts';
import { flagFailure } from '../config/failures.ts';
import { type Emit, notesOf, type RunEvent, type Sink } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import { type ListenAddress, listenAddressOf } from '../lib/listen-address.ts';
import { plainText, withTexts } from '../lib/plain-text.ts';
import type { AgentError } from '../model/failure.ts';
import type { Clock } from '../ports/clock.ts';
import { risingPercent } from '../reporting/rising-percent.ts';
import { exitCodeOf, failureText, printError } from './messages.ts';
import { stopSignal } from './stop-signal.ts';

/** Hands every event of one run to its sinks; adapters and the reporter emit theirs here too. */
export interface EventHub {
  /** Names the run. */
  readonly run: string;
  readonly emit: Emit;
  readonly sink: Sink;
  readonly add: (sink: Sink) => void;
}

/**
 * A hub without sinks. A sink that throws is dropped, and the others are told. No sink sees a
 * secret that `mask` knows, nor what steers a terminal, nor a text without end, nor a percentage of
 * a step that falls.
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

/** What sinks go by; none of it comes from outside. */
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
  /** File with the credentials of the cluster; default: those of the pod. */
  readonly kubeconfig?: string;
  /** Log at level debug. */
  readonly verbose: boolean;
  /** Address to serve metrics on; none unless given. */
  readonly metrics?: string;
}

/**
 * The value of an option that names an address to listen on; undefined where there is none.
 * @throws AgentError `cli.bad-flag`
 */
export function addressIn(flag: string, text = ''): ListenAddress | undefined {
  const address = listenAddressOf(text);
  if (address !== undefined || text === '') return address;
  throw flagFailure('cli.bad-flag', `${flag}: ${text} is not an address to listen on`, {
    hint: 'write HOST:PORT, [IPV6]:PORT or :PORT, :9110 for example',
  });
}

/** What a run is logged to. */
interface LogPlan {
  readonly log: Omit<LogOptions, 'mask' | 'file'>;
  /** Finds the file that has the same lines. */
  readonly file?: () => Promise<string>;
  /** Where the event stream goes, as `log.events` has it; nowhere unless given. */
  readonly events?: string;
  readonly sinks: readonly Sink[];
}

/** A hub with the sinks of a run, and what ends them within two seconds. */
interface OpenHub {
  readonly hub: EventHub;
  readonly close: () => Promise<void>;
}

/**
 * Opens what a run is logged to. No file of these is worth the run: one that cannot be opened is a
 * warning.
 */
export async function openHub(
  mask: (text: string) => string,
  { log, file, events = '', sinks }: LogPlan,
): Promise<OpenHub> {
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

/** Where a command without a journal logs to. */
interface LogTarget {
  readonly level: 'debug' | 'info' | 'warn';
  readonly stream: 'stdout' | 'stderr';
  /** A file that has the same lines. */
  readonly file?: string;
  /** Takes secrets out of a line; the command has none unless given. */
  readonly mask?: (text: string) => string;
  /** Gets every event too. */
  readonly sinks?: readonly Sink[];
}

/** What the work of such a command is given: the signal is aborted when the command is stopped. */
export type Work = (run: EventHub & { readonly signal: AbortSignal }) => Promise<void>;

/**
 * Does work that keeps no journal, and resolves with the exit code of the command. A failure is
 * written to standard error; a stop ends it by the code of the signal.
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

/** What a program in a pod is given beside that. */
type PodWork = (
  run: Parameters<Work>[0] & { readonly metrics: PodMetrics | undefined },
) => Promise<void>;

/**
 * Runs a program in a pod, which logs to standard output and serves the metrics that it is asked
 * for; nothing of them is loaded otherwise.
 * @throws AgentError `cli.bad-flag`
 */
export async function runInPod(
  { verbose, metrics: address }: PodCall,
  work: PodWork,
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

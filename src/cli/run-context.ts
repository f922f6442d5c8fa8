import { systemClock } from '../adapters/clock.ts';
import { noJournal } from '../adapters/journal.ts';
import { type Log, type LogOptions, openLog } from '../adapters/logging/log-sink.ts';
import { systemPorts } from '../adapters/random.ts';
import type { PodMetrics } from '../adapters/metrics/manager-metrics.ts';
import { serveMetrics } from '../adapters/status-server.ts';
import type { Environment } from '../config/environment.ts';
import { flagFailure } from '../config/failures.ts';
import { type Emit, notesOf, type RunEvent, type Sink } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import type { Role } from '../engine/role.ts';
import { type RunOutcome, runRole } from '../engine/run.ts';
import type { World } from '../engine/step.ts';
import { type ListenAddress, listenAddressOf } from '../lib/listen-address.ts';
import { plainText, withTexts } from '../lib/plain-text.ts';
import { version } from '../model/version.ts';
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

/** Metrics of a program, and where they are served. */
interface ServedMetrics extends PodMetrics {
  readonly listen: ListenAddress;
}

/**
 * The metrics that a program in a pod is asked to serve; nothing of them is loaded otherwise.
 * @throws AgentError `cli.bad-flag` for an address that is none
 */
export async function metricsOf({
  metrics = '',
}: Pick<PodCall, 'metrics'>): Promise<ServedMetrics | undefined> {
  if (metrics === '') return undefined;
  const listen = listenAddressOf(metrics);
  if (listen === undefined) {
    throw flagFailure('cli.bad-flag', `--metrics: ${metrics} is not an address to listen on`, {
      hint: 'write HOST:PORT, [IPV6]:PORT or :PORT, :9110 for example',
    });
  }
  const { managerMetrics } = await import('../adapters/metrics/manager-metrics.ts');
  return { listen, ...managerMetrics() };
}

/** Where a command without a journal logs to. */
interface LogTarget {
  readonly level: 'debug' | 'info' | 'warn';
  readonly stream: 'stdout' | 'stderr';
  /** A file that has the same lines; the work continues without one that cannot be opened. */
  readonly file?: string;
  /** Takes secrets out of a line; the command has none unless given. */
  readonly mask?: (text: string) => string;
  /** Served as long as it works. */
  readonly metrics?: ServedMetrics | undefined;
}

/** What the work of such a command is given. */
interface RoleRunner {
  /** Aborted when the command is stopped. */
  readonly signal: AbortSignal;
  /** Takes the events of adapters. */
  readonly emit: EventHub['emit'];
  /** Runs a role from its beginning. */
  readonly run: <W extends World>(call: RoleCall<W>) => Promise<RunOutcome>;
}

interface RoleCall<W extends World> {
  readonly role: Role<W>;
  readonly config: W['config'];
  readonly ports: W['ports'];
}

/**
 * Does work that keeps no journal, and resolves with the exit code of the command. A failure is
 * written to standard error; a stop ends it by the code of the signal.
 */
export async function withoutJournal(
  target: LogTarget,
  work: (runner: RoleRunner) => Promise<void>,
): Promise<number> {
  using stop = stopSignal();
  const { hub, close } = await openHub(target);
  const run: RoleRunner['run'] = (call) =>
    runRole({
      ...call,
      clock: systemClock,
      journal: noJournal,
      header: { version, fingerprint: 'none', bootId: 'none' },
      run: hub.run,
      sinks: [hub.sink],
      signal: stop.signal,
    });
  let failure: string | undefined;
  try {
    await work({ signal: stop.signal, emit: hub.emit, run });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    failure = failureText(thrown, target.mask);
    return exitCodeOf(thrown);
  } finally {
    await close();
    if (failure !== undefined) printError(failure);
  }
}

/** A hub with the sinks of a command, and what ends them. */
interface OpenHub {
  readonly hub: EventHub;
  readonly close: () => Promise<void>;
}

async function openHub(target: LogTarget): Promise<OpenHub> {
  const { level, stream, file, mask = (text: string) => text, metrics } = target;
  const hub = eventHub(systemClock, systemPorts.random.uuid(), mask);
  const log = openLog({
    level,
    format: process[stream].isTTY ? 'pretty' : 'json',
    descriptors: [stream === 'stdout' ? 1 : 2],
    mask,
  });
  hub.add(log.sink);
  const copy = file === undefined ? undefined : openCopy(file, { level, mask, emit: hub.emit });
  if (copy !== undefined) hub.add(copy.sink);
  if (metrics !== undefined) hub.add(metrics.sink);
  const closeMetrics = metrics && (await serveMetrics(metrics.listen, metrics.text, hub.emit));
  return {
    hub,
    close: async () => {
      await closeMetrics?.();
      await Promise.all([log.close(), copy?.close()]);
    },
  };
}

/** A copy of the log in a file, for whoever collects it; the work is worth more than the copy. */
function openCopy(
  file: string,
  { level, mask, emit }: Pick<LogOptions, 'level' | 'mask'> & Pick<EventHub, 'emit'>,
): Log | undefined {
  try {
    return openLog({ level, format: 'json', file, descriptors: [], mask });
  } catch (thrown) {
    const { code, message: reason } = asAgentError(thrown);
    notesOf(emit, 'log/open')('warn', 'continuing without one of its logs', { code, reason });
    return undefined;
  }
}

import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { posix } from 'node:path';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  type Emit,
  type Note,
  notesOf,
  type Progress,
  type RunEvent,
  type Sink,
} from '../../engine/events.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { ListenAddress } from '../../lib/listen-address.ts';
import { seconds } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { CountedHost, ManagerMetrics } from '../../ports/manager-metrics.ts';
import { limitedServer } from '../http-server.ts';

/** A server of metrics. */
export interface MetricsServer {
  readonly sink: Sink;
  /** Serves a text, JSON, at `/status` from now on. */
  readonly showStatus: (text: string) => void;
  /**
   * Ends it; who reads just then gets no more. Who has read the status lately gets four seconds to
   * read its last.
   */
  readonly close: () => Promise<void>;
}

/** Failures of serving metrics; none of them ends a run. */
export const metricsFailures = {
  'metrics.not-served': {
    kind: 'host',
    title: 'The metrics cannot be served',
    hint: 'give another address with --metrics, or end what listens on this one',
  },
} as const satisfies FailureTable;

/** Builds an error of serving metrics. */
const metricsFailure = failuresOf(metricsFailures);

const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Who watches a host reads its status each second. */
const watchesFor = seconds(10);
const longestLastRead = seconds(4);

/** The newest status of a run, and whether it was read. */
function shownStatus() {
  let text: string | undefined;
  let isRead = true;
  let readAt = Number.NEGATIVE_INFINITY;
  let notify = (): void => undefined;
  return {
    show: (now: string): void => {
      text = now;
      isRead = false;
    },
    read: (): string | undefined => {
      isRead = true;
      readAt = performance.now();
      notify();
      return text;
    },
    /** Resolves once the last one was read, where anybody reads it. */
    lastRead: (): Promise<void> =>
      new Promise((resolve) => {
        if (isRead || performance.now() - readAt > watchesFor) {
          resolve();
          return;
        }
        // Nothing else of the server keeps the program.
        const timer = setTimeout(resolve, longestLastRead);
        notify = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
  };
}

/** Who scrapes needs one; more would only hold memory. */
const limits = { connections: 16, waitingBytes: 4 * 1024 ** 2 };

/**
 * Serves the metrics of a run, and more where a program has more, at `/metrics`, and its status at
 * `/status`, to whoever reaches the address. Where it cannot listen the run continues, with a
 * warning.
 */
export async function serveMetrics(
  { listen, more }: { readonly listen: ListenAddress; readonly more?: () => Promise<string> },
  emit: Emit,
): Promise<MetricsServer> {
  const note = notesOf(emit, 'metrics/serve');
  const { sink, text } = runMetrics(() => Date.now());
  const status = shownStatus();
  const { server } = limitedServer(
    limits,
    answer(async () => `${await text()}${(await more?.()) ?? ''}`, status.read),
  );
  // Nobody who asks for metrics keeps the program from its end.
  server.on('connection', (socket) => socket.unref());
  try {
    server.listen({ ...listen, backlog: limits.connections }).unref();
    await once(server, 'listening');
    server.on('error', (error) => noteUnserved(note, error, listen));
    const { address, port } = server.address() as AddressInfo;
    note('info', 'serving metrics', { address, port });
  } catch (thrown) {
    noteUnserved(note, thrown, listen);
  }
  return {
    sink,
    showStatus: status.show,
    close: async () => {
      await status.lastRead();
      // The answer to that read is on its way.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      });
    },
  };
}

const answer =
  (text: () => Promise<string>, status: () => string | undefined): RequestListener =>
  (request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const [path] = (request.url ?? '').split('?');
    if (!isRead) response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else if (path === '/status') answerStatus(response, status());
    else if (path !== '/metrics') response.writeHead(404).end('see /metrics and /status\n');
    else {
      text().then(
        (body) => response.writeHead(200, { 'content-type': contentType }).end(body),
        () => response.writeHead(500).end(),
      );
    }
  };

function answerStatus(response: ServerResponse, text: string | undefined): void {
  if (text === undefined) response.writeHead(404).end('no run has begun\n');
  else response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

function noteUnserved(note: Note, thrown: unknown, { host = '', port }: ListenAddress): void {
  const { code: errno = asAgentError(thrown).message } = thrown as NodeJS.ErrnoException;
  const message = `cannot listen on ${host}:${port}: ${errno}`;
  const { code, message: reason, hint } = metricsFailure('metrics.not-served', message);
  note('warn', 'the run continues without its metrics', { code, reason, hint });
}

/** The metrics of one run. */
interface RunMetrics {
  readonly sink: Sink;
  /** All of them in the text format of Prometheus, version 0.0.4. */
  readonly text: () => Promise<string>;
}

/** Of what a run is; the first is its result until it has another. */
const results = ['running', 'finished', 'left the host', 'failed', 'stopped'] as const;

/**
 * Makes metrics of events. Their labels are ids of steps, names of stages, codes of failures and
 * programs, all of which our own code has a list of: their number is bounded, and no text from
 * outside is among them.
 *
 * @param now milliseconds since 1970
 */
export function runMetrics(now: () => number): RunMetrics {
  const registry = new Registry();
  addProcessMetrics(registry, now);
  const metrics = makeMetrics(registry, now);
  return {
    sink: (event) => {
      take(metrics, event);
    },
    text: () => registry.metrics(),
  };
}

/**
 * What dashboards expect of every process. The library's own set has forty more, a timer that fires
 * a hundred times a second, and takes what it cannot measure yet for a number.
 */
function addProcessMetrics(register: Registry, now: () => number): void {
  const registers = [register];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  const start = new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process, since 1970.',
    registers,
  });
  start.set(now() / 1000 - process.uptime());
}

interface Wait {
  readonly since: number;
  readonly limit: number;
}

type Metrics = ReturnType<typeof makeMetrics>;

function makeMetrics(register: Registry, now: () => number) {
  const gauge = <const L extends string>(
    name: string,
    help: string,
    ...labelNames: L[]
  ): Gauge<L> => new Gauge({ name: `bootwright_${name}`, help, labelNames, registers: [register] });
  const counter = <const L extends string>(
    name: string,
    help: string,
    ...labelNames: L[]
  ): Counter<L> =>
    new Counter({ name: `bootwright_${name}_total`, help, labelNames, registers: [register] });
  const waits = new Map<string, Wait>();
  return {
    waits,
    ...runGauges(gauge),
    ...stepGauges(gauge),
    waiting: waitGauge(register, () =>
      [...waits].map(([step, { since }]) => [step, (now() - since) / 1000] as const),
    ),
    waitLimit: gauge('wait_limit_seconds', 'When the present wait of a step times out.', 'step'),
    retries: counter('step_retries', 'Attempts of a step that failed and were followed.', 'step'),
    warnings: counter('warnings', 'Warnings in the log.'),
    reports: counter('reports', 'Stages that the service has taken, or not.', 'result'),
    commands: counter('commands', 'Commands that have ended.', 'program', 'result'),
    commandSeconds: counter('command_seconds', 'Time that commands took.', 'program'),
  };
}

type MakeGauge = <const L extends string>(name: string, help: string, ...names: L[]) => Gauge<L>;

const runGauges = (gauge: MakeGauge) => ({
  info: gauge('run_info', 'The run, by its role and version.', 'role', 'version', 'resumed'),
  started: gauge('run_start_time_seconds', 'When the run began, since 1970.'),
  result: gauge('run_result', '1 for what the run has come to, else 0.', 'result'),
  failure: gauge(
    'run_failure_info',
    'The failure that ended the run, by its code.',
    'code',
    'kind',
  ),
  steps: gauge('run_steps', 'Steps that the run has.'),
  stage: gauge('stage_info', 'The stage that the service took last.', 'stage'),
});

const stepGauges = (gauge: MakeGauge) => ({
  running: gauge('step_running', '1 while a step runs.', 'step'),
  seconds: gauge('step_seconds', 'How long a step took that has finished.', 'step'),
  progress: gauge('step_progress_ratio', 'How far a running step is, 0 to 1; never falls.', 'step'),
  speed: gauge('step_bytes_per_second', 'How fast a running step moves bytes.', 'step'),
  remaining: gauge('step_remaining_seconds', 'Expected time to the end of a step.', 'step'),
});

/** How long each step has waited: it grows between two events. */
const waitGauge = (
  register: Registry,
  read: () => readonly (readonly [step: string, seconds: number])[],
): Gauge<'step'> =>
  new Gauge({
    name: 'bootwright_wait_seconds',
    help: 'How long a step has been in its present wait.',
    labelNames: ['step'],
    registers: [register],
    collect() {
      this.reset();
      for (const [step, seconds] of read()) this.set({ step }, seconds);
    },
  });

function take(metrics: Metrics, event: RunEvent): void {
  if (event.type.startsWith('run.')) takeRun(metrics, event);
  else if (event.type.startsWith('step.')) takeStep(metrics, event);
  else takeOther(metrics, event);
}

function takeRun(metrics: Metrics, event: RunEvent): void {
  switch (event.type) {
    case 'run.started': {
      const { role, version, isResumed, steps, at } = event;
      metrics.info.set({ role, version, resumed: String(isResumed) }, 1);
      metrics.started.set(at / 1000);
      metrics.steps.set(steps);
      setResult(metrics, 'running');
      break;
    }
    case 'run.finished':
      setResult(metrics, event.outcome);
      break;
    case 'run.failed':
      metrics.failure.set({ code: event.failure.code, kind: event.failure.kind }, 1);
      setResult(metrics, 'failed');
      break;
    case 'run.stopped':
      setResult(metrics, 'stopped');
      break;
    default:
  }
}

function setResult({ result }: Metrics, is: (typeof results)[number]): void {
  for (const one of results) result.set({ result: one.replaceAll(' ', '_') }, one === is ? 1 : 0);
}

function takeStep(metrics: Metrics, event: RunEvent): void {
  if (!('step' in event)) return;
  const { step } = event;
  switch (event.type) {
    case 'step.started':
      metrics.running.set({ step }, 1);
      break;
    case 'step.progress':
      takeProgress(metrics, step, event.progress);
      break;
    case 'step.retrying':
      metrics.retries.inc({ step });
      break;
    case 'step.finished':
      metrics.seconds.set({ step }, event.duration / 1000);
      endStep(metrics, step);
      break;
    case 'step.failed':
    case 'step.stopped':
      endStep(metrics, step);
      break;
    default:
  }
}

function takeProgress(
  { progress, speed, remaining }: Metrics,
  step: string,
  { percent, bytesPerSecond, remaining: left }: Progress,
): void {
  if (percent !== undefined) progress.set({ step }, percent / 100);
  setOrRemove(speed, step, bytesPerSecond);
  setOrRemove(remaining, step, left === undefined ? undefined : left / 1000);
}

function setOrRemove(gauge: Gauge<'step'>, step: string, value: number | undefined): void {
  if (value === undefined) gauge.remove({ step });
  else gauge.set({ step }, value);
}

function endStep(metrics: Metrics, step: string): void {
  metrics.running.set({ step }, 0);
  for (const gauge of [metrics.progress, metrics.speed, metrics.remaining]) gauge.remove({ step });
  endWait(metrics, step);
}

function endWait({ waits, waitLimit }: Metrics, step: string): void {
  waits.delete(step);
  waitLimit.remove({ step });
}

function takeOther(metrics: Metrics, event: RunEvent): void {
  switch (event.type) {
    case 'wait.updated': {
      const { step, waited, limit, at } = event;
      metrics.waits.set(step, { since: at - waited, limit });
      metrics.waitLimit.set({ step }, limit / 1000);
      break;
    }
    case 'wait.finished':
      endWait(metrics, event.step);
      break;
    case 'note':
      if (event.level === 'warn') metrics.warnings.inc();
      break;
    case 'command.finished': {
      const program = posix.basename(event.argv[0] ?? '');
      metrics.commands.inc({ program, result: event.exitCode === 0 ? 'ok' : 'failed' });
      metrics.commandSeconds.inc({ program }, event.duration / 1000);
      break;
    }
    case 'report.sent':
      metrics.stage.reset();
      metrics.stage.set({ stage: event.stage }, 1);
      metrics.reports.inc({ result: 'sent' });
      break;
    case 'report.dropped':
      metrics.reports.inc({ result: 'dropped' });
      break;
    default:
  }
}

/** In seconds: a report is to be seen within one. */
const reportBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Metrics of one manager of Cluster API, which has one provider or both; `text` is in the format of
 * Prometheus, version 0.0.4.
 */
export function managerMetrics(): ManagerMetrics & { readonly text: () => Promise<string> } {
  const registry = new Registry();
  const registers = [registry];
  let hosts: () => readonly CountedHost[] = () => [];
  const queues = new Map<string, () => Readonly<Record<string, number>>>();
  new Gauge({
    name: 'bootwright_hosts',
    help: 'Hosts by the stage that they have reported.',
    registers,
    labelNames: ['stage'],
    collect() {
      this.reset();
      for (const { status } of hosts()) this.inc({ stage: status?.progress?.stage ?? 'none' });
    },
  });
  const reports = new Histogram({
    name: 'bootwright_host_report_seconds',
    registers,
    buckets: reportBuckets,
    help: 'From the arrival of a report to the status of its host.',
  });
  const runs = new Counter({
    name: 'bootwright_installer_runs_total',
    labelNames: ['result'],
    registers,
    help: 'Runs of the installer of a release, by what they have come to.',
  });
  for (const result of ['made', 'failed']) runs.inc({ result }, 0);
  new Gauge({
    name: 'bootwright_queue_keys',
    labelNames: ['controller', 'state'],
    registers,
    help: 'Keys of a controller: at work, due, or due later.',
    collect() {
      for (const [controller, size] of queues) {
        for (const [state, keys] of Object.entries(size())) this.set({ controller, state }, keys);
      }
    },
  });
  return {
    countHosts: (read) => {
      hosts = read;
    },
    reportTaken: (took) => {
      reports.observe(took / 1000);
    },
    installerEnded: (result) => {
      runs.inc({ result });
    },
    queueOpened: (controller, size) => void queues.set(controller, size),
    text: () => registry.metrics(),
  };
}

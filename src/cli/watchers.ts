import {
  type Connection,
  connection,
  type ConnectionOptions,
} from '../adapters/http/connection.ts';
import type { MetricsServer } from '../adapters/metrics/serve.ts';
import { serviceManager } from '../adapters/host/service-manager.ts';
import type { Environment } from '../config/environment.ts';
import { flagFailure } from '../config/failures.ts';
import { tracesEndpointOf } from '../config/environment.ts';
import { type Emit, notesOf, type Sink } from '../engine/events.ts';
import { listenAddressOf } from '../lib/listen-address.ts';
import { serviceStatusOf } from '../reporting/service-status.ts';

/**
 * Who watches a run beside its logs: the service manager, who scrapes metrics, a collector of
 * spans.
 */
export interface Watchers {
  readonly sinks: readonly Sink[];
  /** Tells the service manager that the program is at work, where that is before its run begins. */
  readonly ready: () => void;
  /** Serves the status of the run, JSON, beside its metrics. */
  readonly showStatus: (text: string) => void;
  /** Sends the spans that have ended; resolves after two seconds at the latest. */
  readonly flush: () => Promise<void>;
  /**
   * Ends them all; resolves after two seconds at the latest, after four where somebody reads the
   * status.
   */
  readonly close: () => Promise<void>;
}

/** What they are opened by. */
export interface WatchersOptions {
  readonly environment: Environment;
  /** Address to serve metrics on; none unless given. */
  readonly metrics: string;
  /** Served beside those of the run. */
  readonly moreMetrics?: () => Promise<string>;
  /** Words that lead a command to the machine of the service manager. */
  readonly prefix?: readonly string[];
  /** How a collector of spans is reached. */
  readonly network: () => ConnectionOptions;
  /** What is said of all spans. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly emit: Emit;
}

/** Opens those that are asked for. None of them ever fails a run, nor slows it. */
export async function openWatchers(options: WatchersOptions): Promise<Watchers> {
  const { environment, prefix = [] } = options;
  const manager = serviceManager({ environment, prefix });
  const scraped = await openMetrics(options);
  const traces = await openTracesOf(options);
  const status = serviceStatusOf();
  const notify: Sink = (event) => {
    const assignments = status(event);
    if (assignments !== undefined) manager?.notify(assignments);
  };
  return {
    sinks: [
      ...(manager === undefined ? [] : [notify]),
      ...(scraped === undefined ? [] : [scraped.sink]),
      ...(traces === undefined ? [] : [traces.sink]),
    ],
    ready: () => manager?.notify({ READY: '1' }),
    showStatus: (text) => scraped?.showStatus(text),
    flush: async () => {
      await traces?.flush();
    },
    close: async () => {
      await Promise.allSettled([manager?.close(), scraped?.close(), traces?.close()]);
    },
  };
}

/** Nothing of it is loaded unless it is asked for. */
async function openMetrics({
  metrics,
  moreMetrics: more,
  emit,
}: WatchersOptions): Promise<MetricsServer | undefined> {
  const listen = listenAddressOf(metrics);
  if (listen === undefined) return undefined;
  const { serveMetrics } = await import('../adapters/metrics/serve.ts');
  return serveMetrics({ listen, ...(more === undefined ? {} : { more }) }, emit);
}

/** Spans on their way, over connections of their own. */
interface OpenTraces extends Pick<Watchers, 'flush' | 'close'> {
  readonly sink: Sink;
}

async function openTracesOf({
  environment,
  network,
  attributes,
  emit,
}: WatchersOptions): Promise<OpenTraces | undefined> {
  const endpoint = tracesEndpointOf(environment);
  if (endpoint.kind === 'none') return undefined;
  const note = notesOf(emit, 'traces/send');
  const onLost = (reason: string): void =>
    note('warn', 'the run continues without some of its spans', { reason });
  if (endpoint.kind === 'refused') {
    onLost(endpoint.why);
    return undefined;
  }
  const { openTraces } = await import('../adapters/tracing/otlp.ts');
  const connections: Connection = connection(network());
  const { sink, flush } = openTraces({
    endpoint: endpoint.url,
    environment,
    attributes,
    onLost,
    connection: connections,
    parent: { traceparent: environment['TRACEPARENT'], tracestate: environment['TRACESTATE'] },
  });
  return {
    flush,
    sink: (event) => {
      sink(event);
      // The last report and the logs of a failure take their time: the spans are under way
      // meanwhile.
      if (/^run\.(finished|failed|stopped)$/.test(event.type)) void flush();
    },
    close: async () => {
      await flush();
      await connections.close();
    },
  };
}

/** What is said of all spans: of what is given, that which says something. */
export const known = (
  attributes: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, value] as const],
    ),
  );

/** Arguments of a program that runs in a pod, and is watched there. */
export interface WatchedCall {
  readonly environment: Environment;
  /** File with the credentials of the cluster; default: those of the pod. */
  readonly kubeconfig?: string;
  /** Log at level debug. */
  readonly verbose: boolean;
  /** Address to serve metrics on. */
  readonly metrics?: string;
}

/**
 * The watchers that a program in a pod is given.
 * @throws AgentError `cli.bad-flag` for an address that is none
 */
export function watchedBy(
  { environment, metrics = '' }: Pick<WatchedCall, 'environment' | 'metrics'>,
  attributes: Readonly<Record<string, string | undefined>>,
): Pick<WatchersOptions, 'environment' | 'metrics' | 'attributes'> {
  if (metrics !== '' && listenAddressOf(metrics) === undefined) {
    throw flagFailure('cli.bad-flag', `--metrics: ${metrics} is not an address to listen on`, {
      hint: 'write HOST:PORT, [IPV6]:PORT or :PORT, :9110 for example',
    });
  }
  return { environment, metrics, attributes: known(attributes) };
}

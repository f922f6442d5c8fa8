import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asAgentError } from '../../engine/failures.ts';
import type { RunEventBody, Sink } from '../../engine/events.ts';
import type { ListenAddress } from '../../lib/listen-address.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { limitedServer } from '../http-server.ts';
import { runMetrics } from './run-metrics.ts';

/** A server of metrics. */
export interface MetricsServer {
  readonly sink: Sink;
  /** Ends it; who reads just then gets no more. */
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

/** Who scrapes needs one; more would only hold memory. */
const limits = { connections: 16, waitingBytes: 4 * 1024 ** 2 };

/**
 * Serves the metrics of a run at `/metrics`, to whoever reaches the address. Where it cannot listen the run goes on, with a warning.
 */
export async function serveMetrics(
  listen: ListenAddress,
  emit: (body: RunEventBody) => void,
): Promise<MetricsServer> {
  const { sink, text } = runMetrics(() => Date.now());
  const { server } = limitedServer(limits, answer(text));
  // Nobody who asks for metrics keeps the program from its end.
  server.on('connection', (socket) => socket.unref());
  try {
    await listening(server, listen);
    server.on('error', (error) => {
      emit(withoutMetrics(error, listen));
    });
    const { address, port } = server.address() as AddressInfo;
    emit(note('info', 'serving metrics', { address, port }));
  } catch (thrown) {
    emit(withoutMetrics(thrown, listen));
  }
  return {
    sink,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

const listening = (server: Server, listen: ListenAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...listen, backlog: limits.connections }, () => {
      server.off('error', reject);
      resolve();
    });
    server.unref();
  });

const answer =
  (text: () => Promise<string>): RequestListener =>
  (request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const [path] = (request.url ?? '').split('?');
    if (!isRead) response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else if (path !== '/metrics') response.writeHead(404).end('see /metrics\n');
    else {
      text().then(
        (body) => response.writeHead(200, { 'content-type': contentType }).end(body),
        () => response.writeHead(500).end(),
      );
    }
  };

type Fields = Extract<RunEventBody, { readonly type: 'note' }>['fields'];

const note = (level: 'info' | 'warn', message: string, fields: Fields): RunEventBody => ({
  ...{ type: 'note', step: 'metrics/serve', level, message, fields },
});

function withoutMetrics(thrown: unknown, { host = '', port }: ListenAddress): RunEventBody {
  const { code: errno = asAgentError(thrown).message } = thrown as NodeJS.ErrnoException;
  const { code, message, hint } = metricsFailure(
    'metrics.not-served',
    `cannot listen on ${host}:${port}: ${errno}`,
  );
  return note('warn', 'the run goes on without its metrics', { code, reason: message, hint });
}

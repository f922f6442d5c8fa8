import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ListenAddress } from '../lib/listen-address.ts';
import { failuresOf, type FailureTable } from '../model/failure.ts';
import { limitedServer } from './http-server.ts';

/** Failures of serving health. */
export const healthFailures = {
  'health.not-served': {
    kind: 'host',
    title: 'The health of the program cannot be served',
    hint: 'give another address with --health-address, or end what listens on this one',
  },
} as const satisfies FailureTable;

const healthFailure = failuresOf(healthFailures);

/** A kubelet needs one; more would only hold memory. */
const limits = { connections: 16, waitingBytes: 1024 ** 2 };

/** A server of health. */
export interface HealthServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/**
 * Serves `/healthz`, which is 200 while the program runs, and `/readyz`, which is 200 once it is ready and 503 before.
 * @throws AgentError `health.not-served`
 */
export async function serveHealth(
  listen: ListenAddress,
  isReady: () => boolean,
): Promise<HealthServer> {
  const { server } = limitedServer(limits, ({ url = '' }, response) => {
    const [path] = url.split('?');
    const statuses: Readonly<Record<string, number>> = {
      '/healthz': 200,
      '/readyz': isReady() ? 200 : 503,
    };
    const status = statuses[path ?? ''] ?? 404;
    response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 200 ? 'ok' : '');
  });
  server.listen(listen);
  await once(server, 'listening').catch((cause: unknown) => {
    const where = `${listen.host ?? ''}:${listen.port}`;
    throw healthFailure('health.not-served', `${where} cannot be listened on`, { cause });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

import type { ListenAddress } from '../lib/address.ts';
import { failuresOf, type FailureTable } from '../model/failure.ts';
import type { HttpRoute } from '../ports/http-route.ts';
import { type ListeningServer, serveRoutes } from './http-server.ts';

/** Failures of serving health. */
export const healthFailures = {
  'health.not-served': {
    kind: 'host',
    title: 'The health of the program cannot be served',
    hint: 'give another address with --health-address, or end what listens on this one',
  },
} as const satisfies FailureTable;

const healthFailure = failuresOf(healthFailures);

/**
 * Serves `/healthz`, 200 while the program runs, and `/readyz`, 503 before the program is ready and
 * 200 after.
 * @throws AgentError `health.not-served`
 */
export async function serveHealth(
  listen: ListenAddress,
  isReady: () => boolean,
): Promise<ListeningServer> {
  const route = (path: string, isWell: () => boolean): HttpRoute => ({
    method: 'GET',
    path,
    answer: () => (isWell() ? new Response('ok') : new Response(null, { status: 503 })),
  });
  const routes = [route('/healthz', () => true), route('/readyz', isReady)];
  try {
    // A kubelet needs one connection; more connections would only take memory.
    return await serveRoutes({ listen, routes, connections: 16 }, () => undefined);
  } catch (cause) {
    const where = `${listen.host ?? ''}:${listen.port}`;
    throw healthFailure('health.not-served', `${where} cannot be listened on`, { cause });
  }
}

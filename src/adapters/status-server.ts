import { type Emit, notesOf } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import type { ListenAddress } from '../lib/address.ts';
import { seconds } from '../model/duration.ts';
import { HttpRefusal, type HttpRoute } from '../ports/http-route.ts';
import { serveRoutes, type ListeningServer } from './http-server.ts';

/** A server for the status of a run. */
export interface StatusServer {
  /** Serves a JSON text at `/status` from now on. */
  readonly show: (text: string) => void;
  /**
   * Ends the server. A client that has read the status recently gets four seconds for the last
   * status.
   */
  readonly close: () => Promise<void>;
}

/** A recent client: a watch of hosts reads the status each second. */
const watchesFor = seconds(10);
const longestLastRead = seconds(4);

/**
 * Serves the status of a run at `/status` to all clients that reach the address. If the address
 * cannot be used, the run continues with a warning.
 */
export async function serveStatus(listen: ListenAddress, emit: Emit): Promise<StatusServer> {
  let text: string | undefined;
  let isRead = true;
  let readAt = Number.NEGATIVE_INFINITY;
  let notify = (): void => undefined;
  const read = (): Promise<string> => {
    isRead = true;
    readAt = performance.now();
    notify();
    if (text === undefined) throw new HttpRefusal(404, 'no run has begun');
    return Promise.resolve(text);
  };
  const close = await serveText(listen, emit, '/status', 'application/json', read);
  return {
    show: (now) => {
      text = now;
      isRead = false;
    },
    close: async () => {
      if (!isRead && performance.now() - readAt <= watchesFor) {
        const last = Promise.withResolvers<undefined>();
        notify = () => {
          last.resolve(undefined);
        };
        // The rest of the server does not keep the program from ending.
        const timer = setTimeout(notify, longestLastRead);
        await last.promise;
        clearTimeout(timer);
      }
      await close();
    },
  };
}

/**
 * Serves the metrics of a program at `/metrics` while it runs; resolves with the function that ends
 * the server. If the address cannot be used, the program continues with a warning.
 */
export const serveMetrics = (
  listen: ListenAddress,
  text: () => Promise<string>,
  emit: Emit,
): Promise<() => Promise<void>> =>
  serveText(listen, emit, '/metrics', 'text/plain; version=0.0.4; charset=utf-8', text);

async function serveText(
  listen: ListenAddress,
  emit: Emit,
  path: string,
  contentType: string,
  text: () => Promise<string>,
): Promise<() => Promise<void>> {
  const note = notesOf(emit, 'status/serve');
  const answer = async () =>
    new Response(await text(), { headers: { 'content-type': contentType } });
  const routes = [{ method: 'GET', path, answer }] as const;
  try {
    // A watch needs one connection; more connections would only take memory.
    const limits = { connections: 16, waitingBytes: 4 * 1024 ** 2, isBackground: true };
    const { url, close } = await serveRoutes({ listen, routes, ...limits }, note);
    note('info', `serving ${path}`, {
      address: listen.host ?? '*',
      port: Number(new URL(url).port),
    });
    return close;
  } catch (thrown) {
    const { code, message, hint, cause } = asAgentError(thrown);
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    note('warn', 'the run continues without serving its status', { code, reason, hint });
    return () => Promise.resolve();
  }
}

/**
 * Serves `/healthz`, 200 while the program runs, and `/readyz`, 503 before the program is ready and
 * 200 after.
 * @throws AgentError `serve.address-not-taken`
 */
export function serveHealth(
  listen: ListenAddress,
  isReady: () => boolean,
): Promise<ListeningServer> {
  const route = (path: string, isWell: () => boolean): HttpRoute => ({
    method: 'GET',
    path,
    answer: () => (isWell() ? new Response('ok') : new Response(null, { status: 503 })),
  });
  const routes = [route('/healthz', () => true), route('/readyz', isReady)];
  // A kubelet needs one connection; more connections would only take memory.
  return serveRoutes({ listen, routes, connections: 16 }, () => undefined);
}

import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Emit, type Note, notesOf } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import type { ListenAddress } from '../lib/listen-address.ts';
import { seconds } from '../model/duration.ts';
import { failuresOf, type FailureTable } from '../model/failure.ts';
import { limitedServer } from './http-server.ts';

/** Failures of serving what a program does; none of them ends it. */
export const statusFailures = {
  'status.not-served': {
    kind: 'host',
    title: 'The status of a run, or the metrics of a program, cannot be served',
    hint: 'give another address, or end what listens on this one',
  },
} as const satisfies FailureTable;

/** Builds an error of serving it. */
const statusFailure = failuresOf(statusFailures);

/** The status of a run on an address. */
export interface StatusServer {
  /** Serves a text, JSON, at `/status` from now on. */
  readonly show: (text: string) => void;
  /**
   * Ends it. Who has read the status lately gets four seconds to read its last.
   */
  readonly close: () => Promise<void>;
}

/**
 * Serves the status of a run at `/status` to everybody who reaches the address. Where it cannot
 * listen the run continues, with a warning.
 */
export async function serveStatus(listen: ListenAddress, emit: Emit): Promise<StatusServer> {
  const status = shownStatus();
  const read = (): Promise<string | undefined> => Promise.resolve(status.read());
  const close = await serveText(listen, { '/status': ['application/json', read] }, emit);
  return {
    show: status.show,
    close: async () => {
      await status.lastRead();
      // The answer to that read is on its way.
      await new Promise((resolve) => setImmediate(resolve));
      await close();
    },
  };
}

/**
 * Serves the metrics of a program at `/metrics` as long as it runs; resolves with what ends it.
 * Where it cannot listen the program continues, with a warning.
 */
export const serveMetrics = (
  listen: ListenAddress,
  text: () => Promise<string>,
  emit: Emit,
): Promise<() => Promise<void>> =>
  serveText(listen, { '/metrics': ['text/plain; version=0.0.4; charset=utf-8', text] }, emit);

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

/** Who watches needs one; more would only hold memory. */
const limits = { connections: 16, waitingBytes: 4 * 1024 ** 2 };

/** What is at each path; 404 while it is undefined. */
type Pages = Readonly<
  Record<string, readonly [contentType: string, text: () => Promise<string | undefined>]>
>;

async function serveText(
  listen: ListenAddress,
  pages: Pages,
  emit: Emit,
): Promise<() => Promise<void>> {
  const note = notesOf(emit, 'status/serve');
  const { server } = limitedServer(limits, answering(pages));
  // Nobody who watches keeps the program from its end.
  server.on('connection', (socket) => socket.unref());
  try {
    server.listen({ ...listen, backlog: limits.connections }).unref();
    await once(server, 'listening');
    server.on('error', (error) => noteUnserved(note, error, listen));
    const { address, port } = server.address() as AddressInfo;
    note('info', `serving ${Object.keys(pages).join(' and ')}`, { address, port });
  } catch (thrown) {
    noteUnserved(note, thrown, listen);
  }
  return () =>
    new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
}

const answering =
  (pages: Pages): RequestListener =>
  (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else if (page === undefined) {
      response.writeHead(404).end(`see ${Object.keys(pages).join(' and ')}\n`);
    } else {
      const [contentType, text] = page;
      text().then(
        (body) => {
          if (body === undefined) response.writeHead(404).end('no run has begun\n');
          else response.writeHead(200, { 'content-type': contentType }).end(body);
        },
        () => response.writeHead(500).end(),
      );
    }
  };

function noteUnserved(note: Note, thrown: unknown, { host = '', port }: ListenAddress): void {
  const { code: errno = asAgentError(thrown).message } = thrown as NodeJS.ErrnoException;
  const message = `cannot listen on ${host}:${port}: ${errno}`;
  const { code, message: reason, hint } = statusFailure('status.not-served', message);
  note('warn', 'the run continues without serving its status', { code, reason, hint });
}

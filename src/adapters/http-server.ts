import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path/posix';
import type { HttpBindings } from '@hono/node-server';
import type { HonoRequest } from 'hono';
import { hostInUrl, type ListenAddress } from '../lib/address.ts';
import { seconds } from '../model/duration.ts';
import { type FailureContext, failuresOf, type FailureTable } from '../model/failure.ts';
import { HttpRefusal, type HttpRoute } from '../ports/http-route.ts';
import { readFileOf } from './file-access.ts';

/** Failures of serving. */
export const serveFailures = {
  'serve.address-not-taken': {
    kind: 'host',
    title: 'A server cannot listen on its address',
    hint: 'give another address, or stop the program that listens on this one; port 0 takes a free one',
  },
  'serve.certificate-not-read': {
    kind: 'input',
    title: 'The certificate of a server cannot be used',
    hint: 'give a folder with tls.crt and tls.key, PEM, that belong together',
  },
} as const satisfies FailureTable;

const serveFailure = failuresOf(serveFailures);

/** Routes, listen address and limits of a server. */
export interface RoutesToServe {
  readonly listen: ListenAddress;
  readonly routes: readonly HttpRoute[];
  /**
   * Folder with `tls.crt` and `tls.key`, which are read again when they change; without it, the
   * server speaks plain HTTP.
   */
  readonly certificateFolder?: string;
  /**
   * Maximum concurrent requests, without routes that have their own limit. A further request gets
   * 503.
   */
  readonly atOnce?: number;
  /** Maximum connections. A further connection replaces the oldest without a request under way. */
  readonly connections?: number;
  /**
   * Maximum bytes of answers that wait for clients, in total; beyond it, the slowest client's
   * connection is closed.
   */
  readonly waitingBytes?: number;
  /** Lets the program end while the server runs. */
  readonly isBackground?: boolean;
}

/** Writes a line to the log. */
type Note = (level: 'info' | 'warn', message: string, fields: FailureContext) => void;

/** A running server. */
export interface ListeningServer {
  /** URL without a path. */
  readonly url: string;
  /** Takes no new request, gives running ones a second, and ends. */
  readonly close: () => Promise<void>;
}

/**
 * Serves routes over HTTP or HTTPS, with a limit on every size and duration that a client controls.
 * @throws AgentError `serve.address-not-taken`, `serve.certificate-not-read`
 */
export async function serveRoutes(served: RoutesToServe, note: Note): Promise<ListeningServer> {
  const { listen, certificateFolder: folder, isBackground = false } = served;
  const times = {
    // Each route has its own deadline.
    requestTimeout: 0,
    headersTimeout: seconds(10),
    keepAliveTimeout: seconds(5),
    connectionsCheckingInterval: seconds(1),
  };
  const stop = new AbortController();
  const server =
    folder === undefined ? createServer(times) : await tlsServer(folder, times, note, stop.signal);
  limitClients(server, served, await application(served, note));
  if (isBackground) {
    server.unref();
    server.on('connection', (socket: Socket) => socket.unref());
  }
  try {
    const { url, close } = await listening(server, listen, folder === undefined ? 'http' : 'https');
    server.on('error', (error) => {
      note('warn', 'a server takes no connection at the moment', { why: error.message });
    });
    return {
      url,
      close: () => {
        stop.abort();
        return close();
      },
    };
  } catch (cause) {
    stop.abort();
    const message = `cannot listen on ${listen.host ?? '*'}:${listen.port}`;
    throw serveFailure('serve.address-not-taken', message, { cause });
  }
}

/**
 * Binds a server to its address.
 * @throws Error of the system if the address cannot be used
 */
export async function listening(
  server: Server,
  { host, port }: ListenAddress,
  scheme = 'http',
): Promise<ListeningServer> {
  server.listen(port, host);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `${scheme}://${hostInUrl(host ?? '127.0.0.1')}:${bound}`,
    close: async () => {
      server.close();
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), seconds(1));
      await once(server, 'close');
      clearTimeout(late);
    },
  };
}

/** Certificate and key of a server, as PEM. */
interface ServerPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * A server for TLS 1.2 and 1.3 that reads its certificate again each second: the kubelet changes a
 * Secret's files by renaming a link in their folder. Until new files are valid, the old ones stay
 * in use.
 */
async function tlsServer(
  folder: string,
  times: object,
  note: Note,
  signal: AbortSignal,
): Promise<TlsServer> {
  let pair = await pairIn(folder);
  let refused = '';
  let server: TlsServer;
  try {
    const tls = { ...pair, minVersion: 'TLSv1.2', handshakeTimeout: seconds(10) } as const;
    server = createTlsServer({ ...times, ...tls });
  } catch (cause) {
    throw notRead(folder, cause);
  }
  const renew = async (): Promise<void> => {
    try {
      const next = await pairIn(folder);
      if (next.cert === pair.cert && next.key === pair.key) return;
      server.setSecureContext({ ...next, minVersion: 'TLSv1.2' });
      pair = next;
      refused = '';
      note('info', 'the certificate of a server has been renewed', { folder });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (why === refused) return;
      refused = why;
      const message = 'the new certificate of a server cannot be used; the old one stays';
      note('warn', message, { folder, why });
    }
  };
  const timer = setInterval(() => void renew(), seconds(1)).unref();
  signal.addEventListener('abort', () => {
    clearInterval(timer);
  });
  return server;
}

/** @throws AgentError `serve.certificate-not-read` */
async function pairIn(folder: string): Promise<ServerPair> {
  const read = async (name: string): Promise<string> =>
    (await readFileOf({ at: join(folder, name), kind: 'secret' })).toString();
  try {
    return { cert: await read('tls.crt'), key: await read('tls.key') };
  } catch (cause) {
    throw notRead(folder, cause);
  }
}

const notRead = (folder: string, cause: unknown): Error =>
  serveFailure('serve.certificate-not-read', `no certificate in ${folder} that can be used`, {
    cause,
    context: { folder },
  });

/**
 * Maximum requests that a connection may send before the first is answered; a thousand fit into one
 * read.
 */
const mostPipelined = 4;

interface Client {
  readonly socket: Socket;
  readonly responses: Set<ServerResponse>;
}

/**
 * Identifies a connection by its remote end: over TLS, a request has another socket than the
 * accepted one.
 */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Applies a server's limits to its clients, and answers their requests. */
function limitClients(
  server: Server,
  { connections = 1024, waitingBytes = 64 * 1024 ** 2 }: RoutesToServe,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): void {
  const clients = new Map<string, Client>();
  // A client that reads nothing for so long is gone.
  server.setTimeout(seconds(60), (socket) => socket.destroy());
  server.on('connection', (socket) => {
    const peer = peerOf(socket);
    clients.set(peer, { socket, responses: new Set() });
    socket.once('close', () => clients.delete(peer));
    if (clients.size <= connections) return;
    const idle = [...clients.values()].find(({ responses }) => responses.size === 0);
    idle?.socket.destroy();
  });
  const closeSlowest = (): void => {
    const waiting = [...clients.values()].map((client) => ({
      socket: client.socket,
      bytes: [...client.responses].reduce((sum, { writableLength }) => sum + writableLength, 0),
    }));
    const sum = waiting.reduce((total, { bytes }) => total + bytes, 0);
    const slowest = waiting.toSorted((one, other) => one.bytes - other.bytes).at(-1);
    if (sum > waitingBytes) slowest?.socket.destroy();
  };
  server.on('request', (request, response) => {
    const client = clients.get(peerOf(request.socket));
    if (client === undefined) return;
    if (client.responses.size >= mostPipelined) {
      client.socket.destroy();
      return;
    }
    client.responses.add(response);
    response.once('close', () => client.responses.delete(response));
    // Each answer adds to the waiting bytes.
    void answer(request, response).then(closeSlowest);
  });
  // A client that sends `Expect: 100-continue` gets a refusal before it sends its body.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
}

/** How long the rest of a body is discarded, so that the client reads its answer. */
const linger = seconds(10);

function discardRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  const late = setTimeout(() => incoming.socket.destroy(), linger).unref();
  incoming.once('close', () => {
    clearTimeout(late);
  });
  // A read that still waits would keep `resume` from flowing, and pause the request as it ends.
  incoming.on('data', () => undefined);
  incoming.resume();
}

/** Answers requests by their routes. hono is loaded only by a program that serves. */
async function application({ routes, atOnce = 64 }: RoutesToServe, note: Note) {
  const [{ Hono }, { getRequestListener }] = await Promise.all([
    import('hono'),
    import('@hono/node-server'),
  ]);
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.use(async (context, next) => {
    // For what is answered here; the answer of a route has headers of its own.
    context.header('cache-control', 'no-store');
    const { headersDistinct, url = '' } = context.env.incoming;
    // A proxy in between may have decided by the other Host header (RFC 9112, 3.2).
    if (headersDistinct['host'] !== undefined && headersDistinct['host'].length > 1)
      return context.text('more than one Host\n', 400, { connection: 'close' });
    if (!url.startsWith('/')) return context.text('no path of this server\n', 400);
    try {
      decodeURI(context.req.path);
    } catch {
      return context.notFound();
    }
    await next();
    context.header('cache-control', 'no-store');
    return undefined;
  });
  const shared = { free: atOnce };
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of ofPath) {
      const places = route.atOnce === undefined ? shared : { free: route.atOnce };
      app.on(route.method, path, ({ req, env }) => answerBy(route, places, req, env, note));
    }
    const allow = ofPath.map(({ method }) => method).join(', ');
    app.all(path, (context) => context.text(`only ${allow}\n`, 405, { allow }));
  }
  app.notFound((context) => context.text('there is nothing here\n', 404));
  const options = { overrideGlobalObjects: false, autoCleanupIncoming: false } as const;
  const listener = getRequestListener(app.fetch, options);
  return (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    // The adapter refuses a host that a URL spells otherwise, `[fd00:0::10]`. Nobody reads the host
    // of a URL here; routes read the header as it was sent.
    incoming.headers.host = 'server';
    outgoing.once('finish', () => {
      discardRest(incoming);
    });
    return listener(incoming, outgoing);
  };
}

/** Answers a request by its route, within the limits of the route. */
async function answerBy(
  route: HttpRoute,
  places: { free: number },
  request: HonoRequest,
  { incoming, outgoing }: HttpBindings,
  note: Note,
): Promise<Response> {
  const { method, path, bodyLimit = 0, deadline = seconds(10) } = route;
  const stop = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const end = (reason: Error): void => {
    stop.abort(reason);
    stopped.reject(reason);
  };
  const late = setTimeout(() => {
    // 408 if the client was slow, 503 if the server was (RFC 9110, 15.5.9 and 15.6.4).
    const [status, why] = incoming.complete
      ? ([503, 'no answer in time'] as const)
      : ([408, 'not sent in time'] as const);
    end(new HttpRefusal(status, why));
  }, deadline);
  outgoing.once('close', () => {
    end(new Error('the client is gone'));
  });
  // Ends with the request: no event reports a client that leaves after the answer.
  const body = async function* limited(): AsyncGenerator<Uint8Array> {
    if (incoming.headers.expect !== undefined) outgoing.writeContinue();
    // Not destroyed at the end, so that the client reads the answer.
    const chunks = incoming.iterator({ destroyOnReturn: false });
    try {
      for (let length = 0; ;) {
        const next: IteratorResult<Buffer> = await Promise.race([chunks.next(), stopped.promise]);
        if (next.done === true) return;
        length += next.value.length;
        if (length > bodyLimit) throw tooLarge(bodyLimit);
        yield next.value;
      }
    } finally {
      // Else the rest could not be discarded. Not awaited: it waits for a read that may not end.
      void chunks.return?.();
    }
  };
  const answer = async (): Promise<Response> => {
    if (Number(request.header('content-length') ?? 0) > bodyLimit) throw tooLarge(bodyLimit);
    if (places.free === 0)
      throw new HttpRefusal(503, 'too many requests at once', { 'retry-after': '1' });
    if (method !== 'GET')
      request.raw = new Request(request.url, {
        method,
        headers: request.raw.headers,
        body: ReadableStream.from(body()),
        duplex: 'half',
      });
    places.free -= 1;
    try {
      return await route.answer(request, stop.signal);
    } finally {
      // A route that ignores its signal keeps its place: the limit counts running work.
      places.free += 1;
    }
  };
  try {
    return await Promise.race([answer(), stopped.promise]);
  } catch (error) {
    if (error instanceof HttpRefusal) return error.response;
    const why = error instanceof Error ? error.message : String(error);
    if (!stop.signal.aborted && (incoming.complete || !incoming.destroyed))
      note('warn', 'a request has failed here', { method, path, why });
    return new Response(null, { status: 500 });
  } finally {
    clearTimeout(late);
  }
}

const tooLarge = (limit: number): HttpRefusal =>
  new HttpRefusal(413, `a body has at most ${limit} bytes here`);

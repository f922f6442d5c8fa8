import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path/posix';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hostInUrl } from '../lib/address.ts';
import type { ListenAddress } from '../lib/listen-address.ts';
import { type Millis, seconds } from '../model/duration.ts';
import { type FailureContext, failuresOf, type FailureTable } from '../model/failure.ts';
import { type HttpAnswer, HttpRefusal, type HttpRoute } from '../ports/http-route.ts';
import { readFileOf } from './file-access.ts';

/** Failures of serving. */
export const serveFailures = {
  'serve.address-not-taken': {
    kind: 'host',
    title: 'A server cannot listen on its address',
    hint: 'give another address, or end what listens on this one',
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
  limitClients(server, served, router(served, note));
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

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

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
  answer: Answer,
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

/**
 * A route with the number of requests that it may still take, alone or with all routes that share
 * the number.
 */
interface OpenRoute {
  readonly route: HttpRoute;
  readonly pattern: RegExp;
  readonly places: { free: number };
}

function router({ routes, atOnce = 64 }: RoutesToServe, note: Note): Answer {
  const shared = { free: atOnce };
  const open = routes.map((route): OpenRoute => ({
    route,
    pattern: new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
    places: route.atOnce === undefined ? shared : { free: route.atOnce },
  }));
  return async (request, response) => {
    let found: Found;
    try {
      found = routeOf(open, request);
      if (found.places.free === 0)
        throw new HttpRefusal(503, 'too many requests at once', { 'retry-after': '1' });
    } catch (refusal) {
      finish(request, response, (refusal as HttpRefusal).answer);
      return;
    }
    const { places } = found;
    places.free -= 1;
    // A route that ignores its signal keeps its place: the limit counts running work.
    await answerBy(found, request, response, note);
    places.free += 1;
  };
}

interface Found extends OpenRoute {
  readonly params: Readonly<Record<string, string>>;
  readonly url: URL;
}

/**
 * The route of a request.
 * @throws HttpRefusal if there is none, or if the declared body is too long
 */
function routeOf(open: readonly OpenRoute[], request: IncomingMessage): Found {
  const { url: target = '', method = '', rawHeaders, headers } = request;
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  // A proxy in between may have decided by the other Host header (RFC 9112, 3.2).
  if (hosts.length !== 1) throw new HttpRefusal(400, 'more than one Host', { connection: 'close' });
  const url = target.startsWith('/') ? URL.parse(`http://server${target}`) : null;
  if (url === null) throw new HttpRefusal(400, 'no path of this server');
  const [path = ''] = target.split('?');
  const matching = open.flatMap((one) => {
    const groups = one.pattern.exec(path);
    const params = groups === null ? undefined : decoded(groups.groups ?? {});
    return params === undefined ? [] : [{ ...one, params, url }];
  });
  if (matching.length === 0) throw new HttpRefusal(404, 'there is nothing here');
  const found = matching.find(
    ({ route }) => route.method === method || (route.method === 'GET' && method === 'HEAD'),
  );
  if (found === undefined) {
    const allow = [...new Set(matching.map(({ route }) => route.method))].join(', ');
    throw new HttpRefusal(405, `only ${allow}`, { allow });
  }
  const { bodyLimit = 0 } = found.route;
  if (Number(headers['content-length'] ?? 0) > bodyLimit) throw tooLarge(bodyLimit);
  return found;
}

function decoded(
  groups: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  try {
    return Object.fromEntries(
      Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]),
    );
  } catch {
    return undefined;
  }
}

const tooLarge = (limit: number): HttpRefusal =>
  new HttpRefusal(413, `a body has at most ${limit} bytes here`);

async function answerBy(
  { route, params, url }: Found,
  request: IncomingMessage,
  response: ServerResponse,
  note: Note,
): Promise<void> {
  const stop = new AbortController();
  const { bodyLimit = 0, deadline = seconds(10) } = route;
  const late = setTimeout(() => {
    // 408 if the client was slow, 503 if the server was (RFC 9110, 15.5.9 and 15.6.4).
    const [status, why] = request.complete
      ? ([503, 'no answer in time'] as const)
      : ([408, 'not sent in time'] as const);
    finish(request, response, new HttpRefusal(status, why).answer);
    stop.abort(new HttpRefusal(503, 'the deadline of the request has passed'));
  }, deadline);
  response.once('close', () => {
    clearTimeout(late);
    stop.abort(new Error('the client is gone'));
  });
  const body = bodyOf(request, response, bodyLimit, stop.signal);
  try {
    const answer = await route.answer({
      method: request.method ?? '',
      path: url.pathname,
      params,
      query: url.searchParams,
      headers: plainHeaders(request),
      body,
      signal: stop.signal,
      bytes: async () => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of body) chunks.push(chunk);
        return Buffer.concat(chunks);
      },
    });
    clearTimeout(late);
    finish(request, response, answer);
    if (answer.stream === undefined || stop.signal.aborted) return;
    if (request.method === 'HEAD') response.end();
    else await pipeline(Readable.from(answer.stream), response);
  } catch (error) {
    if (error instanceof HttpRefusal) finish(request, response, error.answer);
    else if (!stop.signal.aborted && (request.complete || !request.destroyed)) {
      const why = error instanceof Error ? error.message : String(error);
      note('warn', 'a request has failed here', { method: route.method, path: route.path, why });
      finish(request, response, { status: 500 });
    }
  }
}

const plainHeaders = ({ headers }: IncomingMessage): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(headers).map(
      ([name, text]) => [name, Array.isArray(text) ? text.join(', ') : text] as const,
    ),
  );

/**
 * The body. Ends with 413 beyond the limit, and with the signal's reason as soon as the signal
 * aborts: no event reports a client that leaves after the answer.
 */
async function* bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (request.headers.expect !== undefined) response.writeContinue();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  signal.addEventListener('abort', () => {
    stopped.reject(signal.reason);
  });
  // Not destroyed at the end: the rest of the body is discarded, so that the client reads the
  // answer.
  const chunks = request.iterator({ destroyOnReturn: false });
  let length = 0;
  for (;;) {
    const next = (await Promise.race([chunks.next(), stopped.promise])) as IteratorResult<Buffer>;
    if (next.done === true) return;
    length += next.value.length;
    if (length > limit) throw tooLarge(limit);
    yield next.value;
  }
}

/**
 * Time in which a client may still send data that is discarded, so that it reads the answer before
 * the connection ends.
 */
const linger: Millis = seconds(2);

/** Sends an answer, or the headers of a streamed one; does nothing if an answer was sent before. */
function finish(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
  if (response.headersSent || response.destroyed) return;
  const { status, headers = {}, body = '', stream } = answer;
  const isText = typeof body === 'string' && body !== '';
  response.setHeader('cache-control', 'no-store');
  if (isText) response.setHeader('content-type', 'text/plain; charset=utf-8');
  if (stream !== undefined) {
    response.writeHead(status, headers).flushHeaders();
    return;
  }
  response.setHeader('content-length', Buffer.byteLength(body));
  response.writeHead(status, headers).end(body);
  if (request.complete) return;
  request.resume();
  const { socket } = request;
  const end = setTimeout(() => socket.destroy(), linger).unref();
  request.once('end', () => {
    clearTimeout(end);
  });
}

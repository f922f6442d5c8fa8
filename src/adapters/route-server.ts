import { type FSWatcher, watch } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { join } from 'node:path/posix';
import type { ListenAddress } from '../lib/listen-address.ts';
import { type FailureContext, failuresOf, type FailureTable } from '../model/failure.ts';
import { type Millis, minutes, seconds } from '../model/duration.ts';
import { type HttpAnswer, HttpRefusal, type HttpRoute } from '../ports/http-route.ts';
import { readFileOf } from './file-access.ts';
import {
  limitedServer,
  limitedTlsServer,
  listening,
  type ListeningServer,
  type ServerLimits,
  type ServerPair,
} from './http-server.ts';

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

/** What is served, and where. */
export interface RoutesToServe {
  readonly listen: ListenAddress;
  readonly routes: readonly HttpRoute[];
  /**
   * A folder with `tls.crt` and `tls.key`, which are read again when they change; without it the
   * server speaks plain HTTP.
   */
  readonly certificateFolder?: string;
  /** Requests at work, those of routes with a number of their own apart. One more is 503. */
  readonly atOnce?: number;
  readonly connections?: number;
}

/** Writes a line to the log. */
type Note = (level: 'info' | 'warn', message: string, fields: FailureContext) => void;

/**
 * Serves routes over HTTP or HTTPS to whoever comes, with a limit for everything that a client can
 * make large or long.
 * @throws AgentError `serve.address-not-taken`, `serve.certificate-not-read`
 */
export async function serveRoutes(served: RoutesToServe, note: Note): Promise<ListeningServer> {
  const { listen, certificateFolder, connections = 1024 } = served;
  const limits = { connections, waitingBytes: 64 * 1024 ** 2, requestTimeout: 0 };
  const answer = router(served, note);
  const stop = new AbortController();
  const server =
    certificateFolder === undefined
      ? limitedServer(limits, answer).server
      : await tlsServer(certificateFolder, { limits, answer, note }, stop.signal);
  // Whoever asks before sending hears of a refusal before the body is sent.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  try {
    const scheme = certificateFolder === undefined ? 'http' : 'https';
    const { url, close } = await listening(server, listen, scheme);
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

interface TlsParts {
  readonly limits: ServerLimits;
  readonly answer: RequestListener;
  readonly note: Note;
}

/**
 * A server whose certificate follows the files: kubelet changes a Secret's by renaming a link in
 * their folder.
 */
async function tlsServer(
  folder: string,
  { limits, answer, note }: TlsParts,
  signal: AbortSignal,
): Promise<TlsServer> {
  let pair = await pairIn(folder);
  let refused = '';
  let server: TlsServer;
  try {
    ({ server } = limitedTlsServer(limits, pair, answer));
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
      const message = 'the certificate of a server has been renewed';
      note('info', message, { folder });
    } catch (error) {
      // Between two files that change, and until the files are right, the old one serves.
      const why = error instanceof Error ? error.message : String(error);
      if (why === refused) return;
      refused = why;
      const message = 'the new certificate of a server cannot be used; the old one stays';
      note('warn', message, { folder, why });
    }
  };
  followFolder(folder, () => void renew(), signal);
  return server;
}

/** Calls at each change in a folder, and each minute: a file system may notify of nothing. */
function followFolder(folder: string, changed: () => void, signal: AbortSignal): void {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(folder, { persistent: false }, changed);
    watcher.on('error', () => watcher?.close());
  } catch {
    // The timer remains.
  }
  const timer = setInterval(changed, minutes(1)).unref();
  signal.addEventListener('abort', () => {
    watcher?.close();
    clearInterval(timer);
  });
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

/** Requests at work of one route, or of all that share a number. */
interface Places {
  free: number;
}

interface Place {
  readonly route: HttpRoute;
  readonly segments: readonly string[];
  readonly places: Places;
}

function router({ routes, atOnce = 64 }: RoutesToServe, note: Note): RequestListener {
  const shared: Places = { free: atOnce };
  const all = routes.map((route): Place => {
    const places = route.atOnce === undefined ? shared : { free: route.atOnce };
    return { route, segments: route.path.split('/'), places };
  });
  return (request, response) => {
    const exchange = { request, response };
    const taken = placeOf(all, request);
    if ('status' in taken) {
      finish(exchange, taken);
      return;
    }
    const { places } = taken;
    if (places.free === 0) {
      finish(exchange, refusal(503, 'too many requests at once', { 'retry-after': '1' }));
      return;
    }
    places.free -= 1;
    // A route that ignores its signal keeps its place: what is counted is work.
    void work(exchange, taken, note).finally(() => (places.free += 1));
  };
}

interface Taken extends Place {
  readonly params: Readonly<Record<string, string>>;
  readonly url: URL;
}

/** The route of a request, or why there is none. */
function placeOf(all: readonly Place[], request: IncomingMessage): Taken | HttpAnswer {
  const { url: target = '', method = '' } = request;
  const url = target.startsWith('/') ? URL.parse(`http://server${target}`) : null;
  if (url === null) return refusal(400, 'no path of this server');
  const given = (target.split('?')[0] ?? '').split('/');
  const matching = all.flatMap((place) => {
    const params = paramsOf(place.segments, given);
    return params === undefined ? [] : [{ ...place, params, url }];
  });
  const found = matching.find(
    ({ route }) => route.method === method || (route.method === 'GET' && method === 'HEAD'),
  );
  if (found !== undefined) return withinLimit(request, found.route) ?? found;
  if (matching.length === 0) return refusal(404, 'there is nothing here');
  const allow = [...new Set(matching.map(({ route }) => route.method))].join(', ');
  return refusal(405, `only ${allow}`, { allow });
}

function paramsOf(
  segments: readonly string[],
  given: readonly string[],
): Record<string, string> | undefined {
  if (segments.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    const text = given[at] ?? '';
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined) {
      if (segment !== text) return undefined;
    } else {
      const decoded = decode(text);
      if (decoded === undefined || decoded === '') return undefined;
      params[name] = decoded;
    }
  }
  return params;
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Refuses a body by the length that it is said to have. */
function withinLimit(
  { headers }: IncomingMessage,
  { bodyLimit = 0 }: HttpRoute,
): HttpAnswer | undefined {
  const length = Number(headers['content-length'] ?? 0);
  return length > bodyLimit ? tooLarge(bodyLimit).answer : undefined;
}

const tooLarge = (limit: number): HttpRefusal =>
  new HttpRefusal(413, `a body has at most ${limit} bytes here`);

const refusal = (...given: ConstructorParameters<typeof HttpRefusal>): HttpAnswer =>
  new HttpRefusal(...given).answer;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function work(exchange: Exchange, { route, params, url }: Taken, note: Note): Promise<void> {
  const { request, response } = exchange;
  const stop = new AbortController();
  const { bodyLimit = 0, deadline = seconds(10) } = route;
  const late = setTimeout(() => {
    // 408 where the client was slow, 503 where we were (RFC 9110, 15.5.9 and 15.6.4).
    const isSent = request.complete;
    finish(exchange, isSent ? refusal(503, 'no answer in time') : refusal(408, 'not sent in time'));
    stop.abort(new HttpRefusal(503, 'the deadline of the request has passed'));
  }, deadline);
  response.once('close', () => {
    clearTimeout(late);
    stop.abort(new Error('the client is gone'));
  });
  const body = bodyOf(exchange, bodyLimit, stop.signal);
  try {
    finish(
      exchange,
      await route.answer({
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
      }),
    );
  } catch (error) {
    if (error instanceof HttpRefusal) finish(exchange, error.answer);
    else if (!stop.signal.aborted && !isGone(request)) {
      const why = error instanceof Error ? error.message : String(error);
      note('warn', 'a request has failed here', { method: route.method, path: route.path, why });
      finish(exchange, { status: 500 });
    }
  }
}

const isGone = ({ complete, destroyed }: IncomingMessage): boolean => !complete && destroyed;

const plainHeaders = ({ headers }: IncomingMessage): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(headers).map(
      ([name, text]) => [name, Array.isArray(text) ? text.join(', ') : text] as const,
    ),
  );

/**
 * The body, which ends with 413 beyond the limit; with the signal's reason as soon as it aborts: no
 * event tells of a client who goes after the answer.
 */
async function* bodyOf(
  { request, response }: Exchange,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (request.headers.expect !== undefined) response.writeContinue();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  signal.addEventListener('abort', () => {
    stopped.reject(signal.reason);
  });
  // Not destroyed at the end: what is still sent is discarded, so that the client reads the answer.
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
 * How long a client may still send what nobody reads, so that it reads the answer and not the end
 * of the connection.
 */
const linger: Millis = seconds(2);

function finish(
  { request, response }: Exchange,
  { status, headers = {}, body = '' }: HttpAnswer,
): void {
  if (response.headersSent || response.destroyed) return;
  const type = typeof body === 'string' ? { 'content-type': 'text/plain; charset=utf-8' } : {};
  const own = { ...(body === '' ? {} : type), 'cache-control': 'no-store', ...headers };
  const length = Buffer.byteLength(body);
  response.writeHead(status, { ...own, 'content-length': String(length) });
  response.end(body);
  if (request.complete) return;
  request.resume();
  const { socket } = request;
  const end = setTimeout(() => socket.destroy(), linger).unref();
  request.once('end', () => {
    clearTimeout(end);
  });
}

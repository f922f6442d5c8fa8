import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Connection } from './connection.ts';
import { webFailure } from './failures.ts';
import { type NetworkError, networkErrorOf } from './network-error.ts';
import { retryAfter } from './retry.ts';
import type { Millis } from '../../model/duration.ts';
import { userAgent } from '../../model/version.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Download } from '../../ports/inventory.ts';

/** One HTTP request. */
export interface HttpRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body, so that it can be sent again. */
  readonly body?: string | Buffer | undefined;
}

/** The beginning of an answer; the caller must read or drain its body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: AsyncIterable<Buffer>;
  /** Time in a Retry-After header, in milliseconds. */
  readonly retryAfter: number | undefined;
}

/** The client that sends requests. */
export interface HttpClient {
  readonly connection: Pick<Connection, 'timeouts' | 'dispatcherFor'> &
    Partial<Pick<Connection, 'proxyOf'>>;
  readonly clock: Clock;
}

/** The result of a request: an answer of any status, or an error of the network. */
export type Exchange =
  | { readonly answer: HttpResponse; readonly networkError?: undefined }
  | { readonly answer?: undefined; readonly networkError: NetworkError };

/**
 * Sends a request once, without following redirects.
 * @throws the signal's reason if the signal aborts
 */
export async function exchange(
  client: HttpClient,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<Exchange> {
  try {
    return { answer: await answerTo(client, request, signal) };
  } catch (error) {
    signal.throwIfAborted();
    return { networkError: networkErrorOf(error, client.connection.proxyOf?.(request.url)) };
  }
}

/**
 * Sends a request once, without following redirects.
 * @throws Error of the network; the signal's reason if the signal aborts
 */
export async function answerTo(
  { connection, clock }: HttpClient,
  { method, url, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { dispatcherFor, timeouts } = connection;
  const dispatcher = await dispatcherFor(url);
  signal.throwIfAborted();
  const request = dispatcher.request({
    method,
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    body: body ?? null,
    signal,
    headers: { 'User-Agent': userAgent, ...headers },
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.idle,
  });
  // A request that waits for its connection does not notice a stop.
  const answer = await unlessAborted(request, signal);
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: answer.statusCode < 300 ? answer.body : beginningOf(answer.body, timeouts.headers),
    retryAfter: retryAfter(headerOf(answer.headers, 'retry-after'), clock.now()),
  };
}

/** Waits for work that others may share, until the caller's own signal aborts. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const give = (): void => {
    reject(signal.reason);
  };
  signal.addEventListener('abort', give, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}

/** Maximum bytes read from the body of a refusal, in any encoding. */
const longestRefusal = 64 * 1024;

/**
 * The beginning of a body, as far as it arrives in time: the body may have no end, or break off.
 */
async function* beginningOf(body: Readable, limit: Millis): AsyncGenerator<Buffer> {
  const late = setTimeout(() => body.destroy(), limit);
  let left = longestRefusal;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      yield chunk.subarray(0, left);
      left -= chunk.length;
      if (left <= 0) return;
    }
  } catch {
    // The beginning is enough.
  } finally {
    clearTimeout(late);
  }
}

/** The value of a header; the first value if there are several. */
export function headerOf(headers: HttpResponse['headers'], name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The text of a short body, up to a size; an unreadable rest is dropped. */
export async function shortText(
  body: HttpResponse['body'],
  most = longestRefusal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= most) break;
    }
  } catch {
    // The beginning is enough.
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, most);
}

/** Reads and discards a body, so that its connection can be used again. */
export async function drain(body: HttpResponse['body']): Promise<void> {
  await shortText(body, 128 * 1024);
}

/** Source of a body, for people. */
export interface BodyOrigin {
  /** Without credentials. */
  readonly origin: string;
  readonly signal: AbortSignal;
}

/**
 * The body of an answer as a download. It rejects with AgentError `web.cut` if it ends early or
 * stalls, and with the signal's reason if the signal aborts.
 */
export function downloadOf(answer: HttpResponse, { origin, signal }: BodyOrigin): Download {
  const isEncoded = headerOf(answer.headers, 'content-encoding') !== undefined;
  const length = headerOf(answer.headers, 'content-length');
  const bytes = length === undefined || isEncoded ? undefined : Number(length);
  const contentType = headerOf(answer.headers, 'content-type');
  const etag = headerOf(answer.headers, 'etag')?.replace(/^W\//, '');
  const lastModified = headerOf(answer.headers, 'last-modified');
  // RFC 9110, 14.4.
  const whole = /^bytes \d+-\d+\/(\d+)$/.exec(headerOf(answer.headers, 'content-range') ?? '')?.[1];
  return {
    body: wholeBody(answer.body, { origin, signal, bytes }),
    origin,
    ...(bytes === undefined ? {} : { bytes }),
    ...(whole === undefined ? {} : { wholeBytes: Number(whole) }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  };
}

/** Passes a body on and checks that it is complete; also for bodies of other clients. */
export async function* wholeBody(
  body: AsyncIterable<Uint8Array>,
  { origin, signal, bytes }: BodyOrigin & { readonly bytes: number | undefined },
): AsyncGenerator<Uint8Array> {
  let received = 0;
  const cut = (why: string, cause?: unknown): Error => {
    const amount = bytes === undefined ? `${received}` : `${received} of ${bytes}`;
    return webFailure(
      'web.cut',
      `the download of ${origin} stopped after ${amount} bytes: ${why}`,
      {
        context: { origin, received, ...(bytes === undefined ? {} : { bytes }) },
        cause,
      },
    );
  };
  try {
    for await (const chunk of body) {
      received += chunk.length;
      yield chunk;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw cut(networkErrorOf(error).words, error);
  }
  if (bytes !== undefined && received !== bytes) throw cut('its end is missing');
}

/**
 * A name as one segment of a path. Refuses the same names as Kubernetes (apimachinery,
 * `IsValidPathSegmentName`): no escape keeps `.` and `..` from being resolved when the URL is
 * parsed.
 */
export function pathSegment(name: string, refuse: (problem: string) => Error): string {
  if (['', '.', '..'].includes(name) || /[/%]/.test(name))
    throw refuse(`${JSON.stringify(name.slice(0, 100))} cannot be a part of an address`);
  return encodeURIComponent(name.toWellFormed());
}

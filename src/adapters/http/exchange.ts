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

/** One request on the wire. */
export interface HttpRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, so that it can be sent once more. */
  readonly body?: string | Buffer | undefined;
}

/** The beginning of an answer; its body must be read or drained. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: AsyncIterable<Buffer>;
  /** From a Retry-After header, in milliseconds. */
  readonly retryAfter: number | undefined;
}

/** What a request is sent with. */
export interface HttpClient {
  readonly connection: Pick<Connection, 'timeouts' | 'dispatcherFor'> &
    Partial<Pick<Connection, 'proxyOf'>>;
  readonly clock: Clock;
}

/** What became of a request: an answer of any status, or an error of the network. */
export type Exchange =
  | { readonly answer: HttpResponse; readonly networkError?: undefined }
  | { readonly answer?: undefined; readonly networkError: NetworkError };

/**
 * Asks once, following no redirect.
 * @throws the signal's reason when it aborts
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
 * Asks once, following no redirect.
 * @throws Error of the network; the signal's reason when it aborts
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
  // A request that still waits for its connection does not notice a stop.
  const answer = await unlessAborted(request, signal);
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: answer.statusCode < 300 ? answer.body : beginningOf(answer.body, timeouts.headers),
    retryAfter: retryAfter(headerOf(answer.headers, 'retry-after'), clock.now()),
  };
}

/** Waits for work that others may wait for too, but not longer than one's own signal. */
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

/** What anybody reads of the body of a refusal, in whatever way it is encoded. */
const longestRefusal = 64 * 1024;

/**
 * The beginning of a body that says why, as much of it as came in time: it may have no end, or
 * break off.
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
    // What came so far says enough.
  } finally {
    clearTimeout(late);
  }
}

/** The value of a header, the first one where there are several. */
export function headerOf(headers: HttpResponse['headers'], name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The text of a short body, up to a size; what cannot be read is left out. */
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
    // What came so far says enough.
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, most);
}

/** Reads a body that is of no interest, so that its connection can be used again. */
export async function drain(body: HttpResponse['body']): Promise<void> {
  await shortText(body, 128 * 1024);
}

/** Where a body comes from, for people. */
export interface BodyOrigin {
  /** Without credentials. */
  readonly origin: string;
  readonly signal: AbortSignal;
}

/**
 * An answer's body as a download. It rejects with AgentError `web.cut` when it ends early or
 * stalls, and with the signal's reason when that aborts.
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

/** Passes a body on and makes sure that it is whole; for bodies of other clients too. */
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
 * A name as one segment of a path. Names that lead elsewhere are refused as Kubernetes refuses them
 * (apimachinery, `IsValidPathSegmentName`): no escape keeps `.` and `..` from being resolved when
 * the address is read.
 */
export function pathSegment(name: string, refuse: (problem: string) => Error): string {
  if (['', '.', '..'].includes(name) || /[/%]/.test(name))
    throw refuse(`${JSON.stringify(name.slice(0, 100))} cannot be a part of an address`);
  return encodeURIComponent(name.toWellFormed());
}

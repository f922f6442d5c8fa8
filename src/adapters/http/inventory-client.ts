import { join } from 'node:path/posix';
import { jsonIn } from '../../lib/json.ts';
import { shownText, shownUrl } from '../../lib/shown-url.ts';
import type { Millis } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Secret } from '../../model/secret.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Random } from '../../ports/random.ts';
import { type Connection, connection } from './connection.ts';
import {
  type Exchange,
  type HttpResponse,
  downloadOf,
  drain,
  exchange,
  pathSegment,
  headerOf,
  type HttpRequest,
  shortText,
} from './exchange.ts';
import { inventoryFailure } from './failures.ts';
import type { LastHosts } from './inventory-answer.ts';
import type { Records } from './inventory-schema.ts';
import { type NetworkError, networkErrorOf } from './network-error.ts';
import { AttemptFailure, type CallerOptions, retriesFor, withRetry } from './retry.ts';

/** Options for reaching the inventory service. */
export interface InventoryOptions extends CallerOptions {
  /** Base URL without the path of the API; a path prefix is kept. */
  readonly url: string;
  /** Sent with every request, even when empty. */
  readonly token?: Secret | undefined;
  /**
   * Reads the present token after the service has rejected one (401); undefined if there is no
   * source.
   */
  readonly readToken?: (() => Promise<Secret | undefined>) | undefined;
  readonly clusterId: string;
  readonly infraEnvId: string;
  readonly hostId: string;
  /** Open connections to use; default: its own. */
  readonly opened?: Connection;
  /** Limit of one call with all its retries; default: 10 minutes. */
  readonly callLimit?: Millis | undefined;
  /** Limit of one report; shorter, as reports age. Default: 2 minutes. */
  readonly reportLimit?: Millis;
}

/** One call of the service. */
export interface Call {
  readonly method: HttpRequest['method'];
  /** Path below the base of the API, with encoded parts. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Sent as compact JSON with a line feed at the end, as the service's own client does. */
  readonly body?: Readonly<Record<string, unknown>> | string;
  /** Sent as a form instead of a body. */
  readonly upload?: Upload;
  readonly hasRequestId: boolean;
  readonly limit?: Millis | undefined;
  /** Reduces the number of retries for a kind of failure; default: all of them. */
  readonly retries?: (worth: number) => number;
}

/** Sends calls to the service, with headers, retries and errors. */
export interface InventoryClient {
  /** @throws AgentError `inventory.*` */
  readonly json: <Name extends keyof Records>(
    call: Call,
    record: Name,
    signal: AbortSignal,
  ) => Promise<Records[Name]>;
  readonly download: (call: Call, signal: AbortSignal) => Promise<Download>;
  readonly send: (call: Call, signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Makes the calls for one base path, `/api/assisted-install` for example. */
export function inventoryClient(options: InventoryOptions, base: string): InventoryClient {
  const client = {
    connection: options.opened ?? connection(options.connection),
    clock: options.clock,
  };
  const last: LastHosts = new Map();
  let token = options.token;
  /** Sends a request, and sends it again if the token was renewed meanwhile. */
  const ask = async (request: HttpRequest, signal: AbortSignal): Promise<Exchange> => {
    const sent = token;
    const first = await exchange(client, withToken(request, sent), signal);
    if (first.answer?.status !== 401) return first;
    const renewed = await options.readToken?.();
    if (renewed === undefined || renewed.reveal() === sent?.reveal()) return first;
    token = renewed;
    await drain(first.answer.body);
    return exchange(client, withToken(request, token), signal);
  };
  const call = async <T>(
    what: Call,
    signal: AbortSignal,
    use: (answer: HttpResponse, url: URL) => Promise<T>,
  ): Promise<T> => {
    const request = requestOf(options, base, what);
    const attempt = async (inner: AbortSignal): Promise<T> => {
      // The retries end with the beginning of an answer, but a download continues: hence both
      // signals.
      const both = AbortSignal.any([signal, inner]);
      const { answer, networkError } = await ask(request, both);
      if (answer === undefined) throw noResponse(request, networkError);
      if (answer.status < 200 || answer.status > 299) throw await badResponse(request, answer);
      return use(answer, request.url).catch((error: unknown) => {
        both.throwIfAborted();
        // An invalid answer is final; a connection that broke during an answer is not.
        throw error instanceof AgentError
          ? error
          : noResponse(request, networkErrorOf(error, client.connection.proxyOf(request.url)));
      });
    };
    const policy = {
      peer: 'the service',
      what: nameOf(request),
      limit: what.limit ?? options.callLimit,
      retries: what.retries,
      silence: () =>
        inventoryFailure('inventory.unreachable', `${request.url.origin} does not answer`, {
          context: { url: shown(request.url) },
        }),
    };
    return withRetry(options, policy, signal, attempt);
  };
  return {
    json: (what, record, signal) =>
      call(what, signal, async ({ body }, url) => {
        // The schemas take as long to load as all the rest; a report does not need them.
        const { readAnswer } = await import('./inventory-answer.ts');
        return readAnswer(body, record, { url: shown(url), last });
      }),
    download: (what, signal) =>
      call(what, signal, (answer, url) =>
        Promise.resolve(downloadOf(answer, { origin: shown(url), signal })),
      ),
    send: (what, signal) =>
      call(what, signal, async ({ body }) => {
        await drain(body);
      }),
    close: () => client.connection.close(),
  };
}

function requestOf(options: InventoryOptions, base: string, what: Call): HttpRequest {
  const url = new URL(options.url);
  url.pathname = join(url.pathname, base, what.path);
  url.search = new URLSearchParams(what.query).toString();
  const isDownload = what.path.includes('/downloads/');
  const body = bodyOf(what, options.random);
  return {
    method: what.method,
    url,
    headers: {
      ...(what.hasRequestId ? { 'X-Request-ID': options.random.uuid() } : {}),
      Accept: isDownload ? 'application/octet-stream' : 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': body.contentType }),
    },
    body: body?.bytes,
  };
}

/** The token's header comes first, as in the service's own client. */
const withToken = (request: HttpRequest, token: Secret | undefined): HttpRequest => ({
  ...request,
  headers: { 'X-Secret-Key': token?.reveal() ?? '', ...request.headers },
});

/** A body that can be sent again, with its Content-Type. */
interface SentBody {
  readonly contentType: string;
  readonly bytes: string | Buffer;
}

/** Made once for a call, so that every attempt sends the same bytes. */
function bodyOf({ body, upload }: Call, random: Random): SentBody | undefined {
  if (upload !== undefined) return multipartOf(upload, random.uuid());
  if (body === undefined) return undefined;
  return { contentType: 'application/json', bytes: `${JSON.stringify(body)}\n` };
}

const shown = (url: URL): string => `${url.origin}${url.pathname}${url.search}`;

const nameOf = ({ method, url }: HttpRequest): string => `${method} ${url.pathname}`;

function noResponse({ url }: HttpRequest, { kind, words, context }: NetworkError): AttemptFailure {
  const code = kind === 'untrusted' ? 'inventory.untrusted' : 'inventory.unreachable';
  const verdict = kind === 'untrusted' ? 'is not trusted' : 'cannot be reached';
  return new AttemptFailure({
    retries: retriesFor(kind),
    failure: inventoryFailure(code, `${url.origin} ${verdict}: ${words}`, {
      // Trust is a matter of the server alone, which the message names.
      context: { ...(kind === 'untrusted' ? {} : { url: shown(url) }), ...context },
    }),
  });
}

async function badResponse(request: HttpRequest, answer: HttpResponse): Promise<AttemptFailure> {
  const { status } = answer;
  const location = headerOf(answer.headers, 'location') ?? '';
  const said =
    status >= 300 && status < 400
      ? redirectText(URL.parse(location, request.url.href) ?? request.url)
      : wordsOfServiceError(await shortText(answer.body));
  const message = `${nameOf(request)} answered ${status}${said === '' ? '' : `: ${said}`}`;
  const code = codeFor(status, answer);
  return new AttemptFailure({
    retries: retriesFor(status),
    notBefore: answer.retryAfter,
    failure: inventoryFailure(code, message, {
      // Something was reached, so the network of this host is not the cause.
      hint:
        code === 'inventory.unreachable'
          ? 'check the service (its pods and their logs), and the proxy or load balancer before it'
          : undefined,
      context: { url: shown(request.url), status, ...hostStatusIn(said) },
    }),
  });
}

const redirectText = (to: URL): string =>
  `it redirects to ${shownUrl(to)}; if that is the service, its URL begins with ${to.origin}`;

/**
 * The status in which a host is not being installed (assisted-service, `UpdateInstallProgress`).
 */
function hostStatusIn(said: string): { readonly hostStatus?: string } {
  const [, hostStatus] = /^Can't set progress <[^>]*> to host in status <([^>]+)>/.exec(said) ?? [];
  return hostStatus === undefined ? {} : { hostStatus };
}

function codeFor(
  status: number,
  { retryAfter }: Pick<HttpResponse, 'retryAfter'>,
): Parameters<typeof inventoryFailure>[0] {
  if (status === 401 || status === 403) return 'inventory.denied';
  if (status === 404) return 'inventory.not-found';
  // Retry a 409 only if the server gives a time: assisted-service never does.
  if (status === 409) return retryAfter === undefined ? 'inventory.refused' : 'inventory.not-ready';
  if (status >= 300 && status < 400) return 'inventory.unreadable';
  if (status >= 400 && status < 500 && retriesFor(status) === 0) return 'inventory.rejected';
  return 'inventory.unreachable';
}

/** A file that is sent as a form, as a browser does. */
export interface Upload {
  /** Name of the form field. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

/**
 * A form with one file (RFC 7578), in memory, so that it can be sent again. The boundary must not
 * occur in the content; a UUID does not.
 */
function multipartOf(upload: Upload, boundary: string): SentBody {
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="${upload.field}"; filename="${upload.filename}"`,
    `Content-Type: ${upload.contentType}`,
    '',
    '',
  ].join('\r\n');
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.concat([
      Buffer.from(head),
      upload.content,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}

/**
 * The service's own text of an error; short, and never a page of HTML. Errors have two forms
 * (assisted-service swagger, `error` and `infra_error`): the service's handlers send `reason`, its
 * framework `message`. Errors of downloads have these in a body of type application/octet-stream.
 */
export const wordsOfServiceError = (body: string): string => shownText(wordsIn(body));

function wordsIn(body: string): string {
  const parsed = jsonIn(body) as Readonly<Record<string, unknown>> | null | undefined;
  const said = [parsed?.['reason'], parsed?.['message']].find((text) => typeof text === 'string');
  if (said !== undefined) return said;
  if (/<(?:!doctype|html|head|body)\b/i.test(body)) {
    const title = /<title>([^<]*)<\/title>/i.exec(body)?.[1]?.trim() ?? '';
    return title === '' ? 'a page of HTML' : `a page of HTML, "${title.slice(0, 100)}"`;
  }
  // The provider of Cluster API answers with a condition and its remedy.
  return body.trim().split('\n')[0]?.slice(0, 1024) ?? '';
}

/**
 * An id as one segment of a path.
 * @throws AgentError `inventory.rejected`
 */
export const id = (text: string): string =>
  // Without a service, a client is opened but never used.
  text === ''
    ? ''
    : pathSegment(text, (problem) => inventoryFailure('inventory.rejected', problem));

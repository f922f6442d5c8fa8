import { basicCredentials, shownUrl } from '../../lib/shown-url.ts';
import type { Millis } from '../../model/duration.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Web, WebRequest } from '../../ports/web.ts';
import {
  type HttpResponse,
  downloadOf,
  drain,
  exchange,
  headerOf,
  type HttpRequest,
  type HttpClient,
} from './exchange.ts';
import {
  type CallerOptions,
  type Connection,
  connection,
  type ConnectionOptions,
} from './connection.ts';
import { webFailure } from './failures.ts';
import type { NetworkError } from './network-error.ts';
import { AttemptFailure, retriesFor, type RetryNotice, type Tries, withRetry } from './retry.ts';

/** How URLs are read. */
export interface WebOptions extends CallerOptions {
  /** Until a body begins, with all retries; 10 minutes unless given. */
  readonly openLimit?: Millis;
}

/** As many redirects as browsers follow at least. */
const mostRedirects = 10;

/** Reading by http and https. */
export function web(options: WebOptions): Web & { readonly close: () => Promise<void> } {
  const connections = new Map<string, Connection>();
  const connectionFor = ({ ca = '', caOnly = false }: WebRequest): Connection => {
    const key = `${String(caOnly)} ${ca}`;
    const known = connections.get(key) ?? connection(settings(options.connection, { ca, caOnly }));
    connections.set(key, known);
    return known;
  };
  return {
    open: (url, request) => {
      const policy = {
        peer: new URL(url).host,
        clock: options.clock,
        random: options.random,
        limit: options.openLimit,
        onRetry: (notice: RetryNotice) =>
          options.onRetry?.({ ...notice, what: shownUrl(new URL(url)) }),
        silence: ({ attempts, elapsed }: Tries) =>
          webFailure('web.unreachable', `${shownUrl(new URL(url))} does not answer`, {
            context: { url: shownUrl(new URL(url)), attempts, elapsed },
          }),
      };
      const client = { connection: connectionFor(request), clock: options.clock };
      return withRetry(policy, request.signal, (inner) =>
        follow(client, new URL(url), {
          ...request,
          // The retries end with the beginning of the answer, the body lives on.
          signal: AbortSignal.any([request.signal, inner]),
        }),
      );
    },
    close: async () => {
      await Promise.all([...connections.values()].map((one) => one.close()));
    },
  };
}

function settings(
  common: ConnectionOptions = {},
  { ca, caOnly }: { readonly ca: string; readonly caOnly: boolean },
): ConnectionOptions {
  const { proxies, ...direct } = common;
  if (caOnly) return { ...direct, ca, caOnly };
  return {
    ...direct,
    ...(proxies === undefined ? {} : { proxies }),
    ca: [common.ca ?? '', ca].filter((one) => one !== '').join('\n'),
  };
}

async function follow(client: HttpClient, start: URL, request: WebRequest): Promise<Download> {
  let url = start;
  for (let hops = 0; hops <= mostRedirects; hops += 1) {
    // A name and a password are for the server they were given for.
    const sent = requestOf(url, url.origin === start.origin ? start : url, request);
    const { answer, networkError } = await exchange(client, sent, request.signal);
    if (answer === undefined) throw noResponse(url, networkError);
    const location = headerOf(answer.headers, 'location');
    if (answer.status < 300 || answer.status > 399 || location === undefined) {
      return take(url, answer, request);
    }
    await drain(answer.body);
    url = redirected(url, location, request);
  }
  throw webFailure('web.refused', `${shownUrl(start)} redirects too often`, {
    context: { url: shownUrl(start) },
  });
}

function redirected(from: URL, location: string, { tlsOnly = false }: WebRequest): URL {
  const to = URL.parse(location, from.href);
  const isPlain = to?.protocol === 'http:';
  if (to?.protocol === 'https:' || (isPlain && !tlsOnly)) return to;
  const what = isPlain ? 'plain http, where nothing verifies it' : 'what is no http address';
  throw webFailure('web.refused', `${shownUrl(from)} redirects to ${what}`, {
    context: { url: shownUrl(from) },
  });
}

function requestOf(url: URL, credentials: URL, { accept, range }: WebRequest): HttpRequest {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  const authorization = basicCredentials(credentials);
  return {
    method: 'GET',
    url: bare,
    headers: {
      ...(accept === undefined ? {} : { Accept: accept }),
      ...(range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` }),
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
  };
}

async function take(url: URL, answer: HttpResponse, request: WebRequest): Promise<Download> {
  const wanted = request.range === undefined ? 200 : 206;
  if (answer.status === wanted) {
    return downloadOf(answer, { origin: shownUrl(url), signal: request.signal });
  }
  await drain(answer.body);
  const { status } = answer;
  // What is missing here is missing for good, unlike at the inventory service.
  const retries = status === 404 ? 0 : retriesFor(status);
  const code = status >= 500 || retries > 0 ? 'web.unreachable' : 'web.refused';
  const said = status === 200 ? 'does not support range requests' : `answered ${status}`;
  throw new AttemptFailure({
    retries,
    notBefore: answer.retryAfter,
    failure: ({ attempts, elapsed }) =>
      webFailure(code, `${shownUrl(url)} ${said}`, {
        context: { url: shownUrl(url), status, attempts, elapsed },
      }),
  });
}

function noResponse(url: URL, networkError: NetworkError): AttemptFailure {
  const code = networkError.kind === 'untrusted' ? 'web.untrusted' : 'web.unreachable';
  return new AttemptFailure({
    retries: retriesFor(networkError.kind),
    failure: ({ attempts, elapsed }) =>
      webFailure(code, `${shownUrl(url)} cannot be reached: ${networkError.words}`, {
        context: { url: shownUrl(url), ...networkError.context, attempts, elapsed },
      }),
  });
}

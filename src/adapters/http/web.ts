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
  type HttpClient,
} from './exchange.ts';
import { type Connection, connection } from './connection.ts';
import { webFailure } from './failures.ts';
import type { NetworkError } from './network-error.ts';
import { AttemptFailure, type CallerOptions, retriesFor, withRetry } from './retry.ts';

/** Options for reading URLs. */
export interface WebOptions extends CallerOptions {
  /** Limit until a body begins, with all retries; default: 10 minutes. */
  readonly openLimit?: Millis;
}

/** Maximum number of redirects; browsers follow at least as many. */
const mostRedirects = 10;

/** Reads http and https URLs. */
export function web(options: WebOptions): Web & { readonly close: () => Promise<void> } {
  const { clock, openLimit: limit } = options;
  const connections = new Map<string, Connection>();
  const connectionFor = ({ ca = '', caOnly = false }: WebRequest): Connection => {
    const key = `${String(caOnly)} ${ca}`;
    const { proxies, ...direct } = options.connection ?? {};
    const trusted = [direct.ca ?? '', ca].filter((one) => one !== '').join('\n');
    const usual = { ...direct, ...(proxies === undefined ? {} : { proxies }), ca: trusted };
    const known = connections.get(key) ?? connection(caOnly ? { ...direct, ca, caOnly } : usual);
    connections.set(key, known);
    return known;
  };
  return {
    open: (url, request) => {
      const start = new URL(url);
      const shown = shownUrl(start);
      const policy = {
        peer: `${request.peer ?? 'the server'} at ${start.host}`,
        what: shown,
        limit: request.limit ?? limit,
        silence: () =>
          webFailure('web.unreachable', `${shown} does not answer`, { context: { url: shown } }),
      };
      const client = { connection: connectionFor(request), clock };
      return withRetry(options, policy, request.signal, (inner) =>
        followRedirects(client, start, {
          ...request,
          // The retries end with the beginning of the answer, but the body continues.
          signal: AbortSignal.any([request.signal, inner]),
        }),
      );
    },
    close: async () => {
      await Promise.all([...connections.values()].map((one) => one.close()));
    },
  };
}

async function followRedirects(
  client: HttpClient,
  start: URL,
  request: WebRequest,
): Promise<Download> {
  let url = start;
  for (let hops = 0; hops <= mostRedirects; hops += 1) {
    const bare = new URL(url);
    bare.username = '';
    bare.password = '';
    // Send credentials only to the server for which they were given.
    const authorization = basicCredentials(url.origin === start.origin ? start : url);
    const { accept, range } = request;
    const headers = {
      ...(accept === undefined ? {} : { Accept: accept }),
      ...(range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1]}` }),
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    };
    const sent = { method: 'GET', url: bare, headers } as const;
    const { answer, networkError } = await exchange(client, sent, request.signal);
    if (answer === undefined) throw noResponse(url, networkError);
    const location = headerOf(answer.headers, 'location');
    if (answer.status < 300 || answer.status > 399 || location === undefined)
      return take(url, answer, request);
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

async function take(url: URL, answer: HttpResponse, request: WebRequest): Promise<Download> {
  const wanted = request.range === undefined ? 200 : 206;
  if (answer.status === wanted) {
    return downloadOf(answer, { origin: shownUrl(url), signal: request.signal });
  }
  await drain(answer.body);
  const { status } = answer;
  // A missing file stays missing here, unlike at the inventory service.
  const retries = status === 404 ? 0 : retriesFor(status);
  const code = status >= 500 || retries > 0 ? 'web.unreachable' : 'web.refused';
  const said = status === 200 ? 'does not support range requests' : `answered ${status}`;
  const context = { url: shownUrl(url), status };
  throw new AttemptFailure({
    retries,
    notBefore: answer.retryAfter,
    failure: webFailure(code, `${shownUrl(url)} ${said}`, { context }),
  });
}

function noResponse(url: URL, { kind, words, context }: NetworkError): AttemptFailure {
  const code = kind === 'untrusted' ? 'web.untrusted' : 'web.unreachable';
  const verdict = kind === 'untrusted' ? 'is not trusted' : 'cannot be reached';
  return new AttemptFailure({
    retries: retriesFor(kind),
    failure: webFailure(code, `${shownUrl(url)} ${verdict}: ${words}`, {
      context: { url: shownUrl(url), ...context },
    }),
  });
}

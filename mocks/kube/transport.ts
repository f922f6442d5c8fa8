import { setTimeout as pause } from 'node:timers/promises';
import { Agent, type BodyInit, fetch, type Response } from 'undici';
import { linesOf } from '../../src/adapters/kube/watch.ts';
import { jsonIn } from '../../src/lib/json.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { PemPair } from './pki.ts';

/** A request of the client. */
interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  /** An object is sent as JSON, a text unchanged. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Ends the request; default: a limit of half a minute. */
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests of one user to the address at that moment. */
export interface Transport {
  /** @throws KubeRefusal for every status from 300, except transient ones */
  readonly send: (request: KubeRequest) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** The address and the user of requests. */
export interface TransportOptions {
  /** `https://127.0.0.1:PORT`, called for each request. */
  readonly url: () => string;
  readonly ca: string;
  readonly user: PemPair | { readonly token: string };
}

/** An error status of the API server. */
export class KubeRefusal extends Error {
  override readonly name = 'KubeRefusal';
  readonly status: number;
  /** The server's reason: `NotFound`, `Conflict`, `Invalid`, … */
  readonly reason: string;

  constructor(request: string, status: number, answer: string) {
    // A starting or ending server may answer without a `Status`.
    const { reason, message } = (jsonIn(answer) ?? {}) as { reason?: string; message?: string };
    super(`${request}: ${status} ${message ?? answer}`);
    this.status = status;
    this.reason = reason ?? '';
  }
}

const LIMIT_MILLIS = 600_000;
const RETRY_AFTER_MILLIS = 200;
const TOO_MANY_REQUESTS = 429;

/** Opens connections to an API server with a client certificate or a token. */
export function openTransport({ url, ca, user }: TransportOptions): Transport {
  const isToken = 'token' in user;
  const connect = isToken ? { ca } : { ca, cert: user.certificate, key: user.key };
  const authorization = isToken ? { authorization: `Bearer ${user.token}` } : {};
  // A watch is silent until an event.
  const dispatcher = new Agent({ connect, bodyTimeout: 0 });
  const sendOnce = ({ method, path, body, contentType }: KubeRequest, signal: AbortSignal) =>
    fetch(`${url()}${path}`, {
      method,
      dispatcher,
      signal,
      headers: {
        accept: 'application/json',
        'content-type': contentType ?? 'application/json',
        ...authorization,
      },
      body: bodyOf(body),
    });
  return {
    send: async (request) => {
      const signal = request.signal ?? AbortSignal.timeout(LIMIT_MILLIS);
      for (;;) {
        const response = await sendOnce(request, signal);
        if (response.ok) return response;
        const answer = await response.text();
        // Right after its start, a server refuses each kind until its cache is filled.
        if (response.status !== TOO_MANY_REQUESTS)
          throw new KubeRefusal(`${request.method} ${request.path}`, response.status, answer);
        await pause(RETRY_AFTER_MILLIS, undefined, { signal });
      }
    },
    close: () => dispatcher.destroy(),
  };
}

const bodyOf = (body: unknown): BodyInit | null =>
  typeof body === 'string' ? body : body === undefined ? null : JSON.stringify(body);

/**
 * One line of a watch. An `ERROR` has a `Status` with its `code`; 410 means that the history is
 * gone.
 */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

/**
 * The events of a watch until the server ends it; an abort of the signal ends it too, without an
 * error.
 */
export async function* readWatch(
  open: () => Promise<Response>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  try {
    const { body } = await open();
    if (body === null) return;
    for await (const line of linesOf(body as AsyncIterable<Uint8Array>))
      yield JSON.parse(line) as WatchEvent;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

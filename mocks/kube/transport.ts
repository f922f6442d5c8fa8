import { setTimeout as pause } from 'node:timers/promises';
import { Agent, type BodyInit, fetch, type Response } from 'undici';
import { linesOf } from '../../src/adapters/kube/watch.ts';
import { jsonIn } from '../../src/lib/json.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import type { PemPair } from './pki.ts';

/** A request as the client means it. */
interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Ends the request; without it half a minute is the limit. */
  readonly signal?: AbortSignal;
}

/** Sends requests of one user to wherever the address says at that moment. */
export interface Transport {
  /** @throws KubeRefusal for every status from 300, passing ones apart */
  readonly send: (request: KubeRequest) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** Where and as whom requests are sent. */
export interface TransportOptions {
  /** `https://127.0.0.1:PORT`, asked again for each request. */
  readonly url: () => string;
  readonly ca: string;
  readonly user: PemPair | { readonly token: string };
}

/** The API server said no. */
export class KubeRefusal extends Error {
  override readonly name = 'KubeRefusal';
  readonly status: number;
  /** As the server names it: `NotFound`, `Conflict`, `Invalid`, … */
  readonly reason: string;

  constructor(request: string, status: number, answer: string) {
    // A server that starts or ends may answer with something else than a `Status`.
    const { reason, message } = (jsonIn(answer) ?? {}) as { reason?: string; message?: string };
    super(`${request}: ${status} ${message ?? answer}`);
    this.status = status;
    this.reason = reason ?? '';
  }
}

const LIMIT_MILLIS = 30_000;
const RETRY_AFTER_MILLIS = 200;
const TOO_MANY_REQUESTS = 429;

/** Opens connections to an API server with a client certificate or a token. */
export function openTransport({ url, ca, user }: TransportOptions): Transport {
  const isToken = 'token' in user;
  const connect = isToken ? { ca } : { ca, cert: user.certificate, key: user.key };
  const authorization = isToken ? { authorization: `Bearer ${user.token}` } : {};
  // A watch says nothing for as long as nothing happens.
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
      ...(body === undefined ? {} : { body: bodyOf(body) }),
    });
  return {
    send: async (request) => {
      const signal = request.signal ?? AbortSignal.timeout(LIMIT_MILLIS);
      for (;;) {
        const response = await sendOnce(request, signal);
        if (response.ok) return response;
        const answer = await response.text();
        // Just after its start a server refuses each kind until it has read what there is of it.
        if (response.status !== TOO_MANY_REQUESTS)
          throw new KubeRefusal(`${request.method} ${request.path}`, response.status, answer);
        await pause(RETRY_AFTER_MILLIS, undefined, { signal });
      }
    },
    close: () => dispatcher.destroy(),
  };
}

function bodyOf(body: unknown): BodyInit {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/**
 * One line of a watch. An `ERROR` carries a `Status` with its `code`, 410 for history that is gone.
 */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

/**
 * The events of a watch until the server ends it; a signal that aborts is an end too, not an error.
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

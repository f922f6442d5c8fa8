import type { LookupFunction } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { headerOf, shortText } from '../http/exchange.ts';
import { retryAfter } from '../http/retry.ts';
import { Agent, type Dispatcher, request } from '../http/undici.ts';
import { ApiFault, faultOfAnswer, faultOfSilence } from './api-fault.ts';
import type { ClusterAccess } from './kubeconfig.ts';

/** How long the API server may keep us waiting. */
export interface KubePatience {
  readonly connect: Millis;
  /** Until an answer begins. */
  readonly headers: Millis;
  /** Between two pieces of an answer. */
  readonly idle: Millis;
  /** A watch is asked to end after so long, and taken for dead a little later. */
  readonly watch: Millis;
  readonly watchGrace: Millis;
}

/** The patience of every call unless a test has less. */
export const usualPatience: KubePatience = {
  connect: seconds(5),
  headers: seconds(15),
  idle: seconds(15),
  watch: seconds(10),
  watchGrace: seconds(2),
};

/** How connections to an API server are made. */
export interface ReachOptions {
  readonly clock: Clock;
  readonly patience: KubePatience;
  /** Finds addresses of names; the container's own resolver unless given. */
  readonly lookup?: LookupFunction | undefined;
}

/** One request. */
export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  /** JSON unless given. */
  readonly accept?: string;
}

/** An API server and the connections to it, which are kept. They never lead through a proxy. */
export interface ApiServer {
  /**
   * Asks once and passes the body of a good answer on to be read.
   * @throws ApiFault for any other answer, none, or one that broke off; the signal's reason
   */
  readonly ask: <T>(
    what: ApiRequest,
    signal: AbortSignal,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<T>;
  readonly close: () => Promise<void>;
}

/** @throws AgentError `kube.bad-credentials` when certificates or key cannot be used */
export function apiServer(access: ClusterAccess, reach: ReachOptions): ApiServer {
  const dispatcher = dispatcherFor(access, reach);
  const { clock } = reach;
  return {
    ask: async (what, signal, read) => {
      const name = `${what.method} ${what.path}`;
      const answer = await send(access, dispatcher, { what, signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw faultOfSilence(name, access.server, error);
      });
      const { statusCode: status, headers, body } = answer;
      if (status < 200 || status > 299) {
        const text = await shortText(body);
        signal.throwIfAborted();
        const wait = retryAfter(headerOf(headers, 'retry-after'), clock.now());
        throw faultOfAnswer({ what: name, status, text, retryAfter: wait });
      }
      const broken = (error: unknown): unknown =>
        signal.aborted ? signal.reason : faultOfSilence(name, access.server, error);
      return read(piecesOf(body, broken));
    },
    close: () => dispatcher.destroy(),
  };
}

type Body = Dispatcher.ResponseData['body'];

/** The pieces of a body; tells a body that broke off from a reader that fails. */
async function* piecesOf(
  body: Body,
  broken: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw broken(error);
  }
}

function dispatcherFor(access: ClusterAccess, { patience, lookup }: ReachOptions): Dispatcher {
  return new Agent({
    connectTimeout: patience.connect,
    headersTimeout: patience.headers,
    bodyTimeout: patience.idle,
    allowH2: false,
    connect: {
      timeout: patience.connect,
      ...(lookup === undefined ? {} : { lookup }),
      ...(access.server.startsWith('https:') ? tlsFor(access) : {}),
    },
  });
}

function tlsFor({ ca, certificate, key, serverName, isInsecure }: ClusterAccess): object {
  try {
    return {
      secureContext: createSecureContext({
        ...(ca === undefined ? {} : { ca }),
        ...(certificate === undefined ? {} : { cert: certificate }),
        ...(key === undefined ? {} : { key: key.reveal() }),
      }),
      rejectUnauthorized: !isInsecure,
      ...(serverName === undefined ? {} : { servername: serverName }),
    };
  } catch (error) {
    throw kubeFailure(
      'kube.bad-credentials',
      'the kubeconfig: its certificates or key cannot be used',
      { cause: error },
    );
  }
}

interface Sending {
  readonly what: ApiRequest;
  readonly signal: AbortSignal;
}

const send = (
  { server, authorization, impersonate }: ClusterAccess,
  dispatcher: Dispatcher,
  { what, signal }: Sending,
): Promise<Dispatcher.ResponseData> =>
  request(new URL(`${server}${what.path}`), {
    dispatcher,
    method: what.method,
    headers: {
      Accept: what.accept ?? 'application/json',
      'User-Agent': 'bootwright',
      ...(what.body === undefined ? {} : { 'Content-Type': what.body.type }),
      ...(authorization === undefined ? {} : { Authorization: authorization.reveal() }),
      ...(impersonate === undefined ? {} : { 'Impersonate-User': impersonate }),
    },
    ...(what.body === undefined ? {} : { body: what.body.text }),
    signal,
  });

/** Whether an error is one attempt that failed, for whoever tries again. */
export const isFault = (error: unknown): error is ApiFault => error instanceof ApiFault;

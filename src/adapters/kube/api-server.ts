import type { LookupFunction } from 'node:net';
import type { Proxies } from '../../lib/proxies.ts';
import {
  type HttpResponse,
  answerTo,
  pathSegment,
  type HttpClient,
  shortText,
} from '../http/exchange.ts';
import { proxyFor } from '../http/connection.ts';
import { type TlsOptions, tlsOptionsFor } from '../http/tls.ts';
import { ApiError, errorOfAnswer, errorOfSilence } from './api-error.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeKind, KubeRef, KubeSelection } from '../../ports/kube.ts';

/** Timeouts of requests to the API server. */
export interface KubeTimeouts {
  readonly connect: Millis;
  /** Until the first byte of an answer. */
  readonly headers: Millis;
  /** Between two chunks of an answer. */
  readonly idle: Millis;
  /** Requested length of a watch; a little later it counts as dead. */
  readonly watch: Millis;
  /** Random addition to `watch`, so that watches that began together do not end together. */
  readonly watchSpread: Millis;
  readonly watchGrace: Millis;
  /**
   * Silence between two events or bookmarks of a watch; an API server sends a bookmark each minute.
   */
  readonly silence: Millis;
  /** The longest pause before another attempt to read a kind that is not served. */
  readonly missing: Millis;
}

/** The timeouts of every call; tests set shorter ones. */
export const defaultTimeouts: KubeTimeouts = {
  connect: seconds(5),
  headers: seconds(15),
  idle: seconds(15),
  watch: seconds(10),
  watchSpread: 0,
  watchGrace: seconds(2),
  silence: seconds(15),
  missing: seconds(1),
};

/**
 * For selections without urgent reactions: few requests, and missing bookmarks reveal a silent
 * server.
 */
export const calmTimeouts: KubeTimeouts = {
  ...defaultTimeouts,
  watch: minutes(5),
  watchSpread: minutes(1),
  silence: seconds(90),
  missing: minutes(1),
};

/** Options for connections to an API server. */
export interface ReachOptions {
  readonly clock: Clock;
  readonly timeouts: KubeTimeouts;
  /** Resolves names; default: the container's own resolver. */
  readonly lookup?: LookupFunction | undefined;
  /** For https servers; default: none. */
  readonly proxies?: Proxies | undefined;
}

/** One request. */
export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  /** Default: JSON. */
  readonly accept?: string;
  /** Between two chunks of the answer, if it differs from the default. */
  readonly idle?: Millis;
}

/** An API server with its open connections. */
export interface ApiServer {
  /**
   * Sends a request once, and passes the body of a successful answer to a reader.
   * @throws ApiError for any other answer, a missing or an incomplete one; the signal's reason
   */
  readonly ask: <T>(
    what: ApiRequest,
    signal: AbortSignal,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<T>;
}

/** An API server whose connections can be closed. */
export interface OpenApiServer extends ApiServer {
  readonly close: () => Promise<void>;
}

/** @throws AgentError `kube.bad-credentials` if certificates or key cannot be used */
export function apiServer(access: ClusterAccess, client: ReachOptions): OpenApiServer {
  const { clock, lookup, timeouts } = client;
  const isSecure = access.server.startsWith('https:');
  const proxy = proxyOf(access, isSecure ? client.proxies : undefined);
  const to = {
    protocol: isSecure ? 'https:' : 'http:',
    proxy,
    tls: isSecure ? tlsFor(access) : {},
    // The proxy does not belong to the cluster: it gets no client certificate, and is trusted by
    // the system's authorities.
    proxyTls: proxy === undefined ? {} : tlsOptionsFor({}),
    lookup,
    timeout: timeouts.connect,
    keepAliveDelay,
  };
  const opened = import('../http/dispatcher.ts').then(({ openDispatcher }) => openDispatcher(to));
  return {
    ask: async (what, signal, read) => {
      const name = `${what.method} ${what.path}`;
      const { idle = timeouts.idle } = what;
      const connection = {
        timeouts: { ...timeouts, idle },
        dispatcherFor: async () => (await opened).dispatcher,
      };
      const answer = await send(access, { connection, clock }, what, signal).catch(
        (error: unknown) => {
          signal.throwIfAborted();
          throw errorOfSilence(name, access.server, error);
        },
      );
      const { status, body, retryAfter } = answer;
      if (status < 200 || status > 299) {
        const text = await shortText(body);
        signal.throwIfAborted();
        throw errorOfAnswer(name, status, text, retryAfter);
      }
      const broken = (error: unknown): unknown =>
        signal.aborted ? signal.reason : errorOfSilence(name, access.server, error);
      return read(chunksOf(body, broken));
    },
    close: async () => (await opened).close(),
  };
}

/**
 * The proxy of the kubeconfig has priority over the environment's, as in kubectl: the environment's
 * exceptions do not apply to it.
 */
function proxyOf(
  { server, proxy }: ClusterAccess,
  proxies: Proxies | undefined,
): string | undefined {
  const own = proxy?.reveal();
  const used = own === undefined ? proxies : { http: own, https: own, no: '' };
  return used && proxyFor(new URL(server), used);
}

/** The chunks of a body; distinguishes a broken body from a failing reader. */
async function* chunksOf(
  body: HttpResponse['body'],
  broken: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw broken(error);
  }
}

/**
 * A dead peer is detected within a quarter of a minute, also in a long watch: the kernel probes it
 * after this time, then each second, ten times (libuv, `uv_tcp_keepalive`).
 */
const keepAliveDelay = seconds(5);

function tlsFor({ ca, certificate, key, serverName, isInsecure }: ClusterAccess): TlsOptions {
  try {
    const trust = { isInsecure, ca, caOnly: ca !== undefined, certificate, key: key?.reveal() };
    return { ...tlsOptionsFor(trust), ...(serverName ? { servername: serverName } : {}) };
  } catch (error) {
    throw kubeFailure(
      'kube.bad-credentials',
      'the kubeconfig: its certificates or key cannot be used',
      { cause: error },
    );
  }
}

const send = (
  { server, authorization, impersonate }: ClusterAccess,
  client: HttpClient,
  what: ApiRequest,
  signal: AbortSignal,
): Promise<HttpResponse> =>
  answerTo(
    client,
    {
      method: what.method,
      url: new URL(`${server}${what.path}`),
      headers: {
        Accept: what.accept ?? 'application/json',
        ...(what.body === undefined ? {} : { 'Content-Type': what.body.type }),
        ...(authorization === undefined ? {} : { Authorization: authorization.reveal() }),
        ...(impersonate === undefined ? {} : { 'Impersonate-User': impersonate }),
      },
      body: what.body?.text,
    },
    signal,
  );

/** Whether an error is a failed attempt, which may be retried. */
export const isApiError = (error: unknown): error is ApiError => error instanceof ApiError;

/** The Accept header for objects of a kind: one object, a watch, or a list. */
export const acceptOf = ({ isMetadataOnly }: KubeKind, list = ''): Pick<ApiRequest, 'accept'> =>
  isMetadataOnly === true
    ? { accept: `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1` }
    : {};

/** Path of all objects of a kind, in a namespace or in the cluster. */
export function collectionPath({ group, version, plural }: KubeKind, namespace?: string): string {
  const api = group === '' ? `/api/${part(version)}` : `/apis/${part(group)}/${part(version)}`;
  const place = namespace === undefined ? '' : `/namespaces/${part(namespace)}`;
  return `${api}${place}/${part(plural)}`;
}

/** Path of one object, or of a subresource of it. */
export function objectPath({ kind, namespace, name }: KubeRef, subresource?: string): string {
  const object = `${collectionPath(kind, namespace)}/${part(name)}`;
  return subresource === undefined ? object : `${object}/${part(subresource)}`;
}

/** Further parameters of a list or a watch; empty values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** Path of a selection with its selectors and further parameters. */
export function selectionPath(
  { kind, namespace, labelSelector, fieldSelector }: KubeSelection,
  more: Query = {},
): string {
  return withQuery(collectionPath(kind, namespace), { labelSelector, fieldSelector, ...more });
}

/** A path with a query. */
export function withQuery(path: string, query: Query): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') words.set(name, String(value));
  }
  const text = words.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** @throws AgentError `kube.invalid` */
export const part = (name: string): string =>
  pathSegment(name, (problem) => kubeFailure('kube.invalid', problem));

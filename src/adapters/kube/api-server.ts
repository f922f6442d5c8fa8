import type { LookupFunction } from 'node:net';
import { type Proxies } from '../../lib/proxies.ts';
import {
  type HttpResponse,
  answerTo,
  pathSegment,
  type HttpClient,
  shortText,
} from '../http/exchange.ts';
import { proxyFor } from '../http/proxies.ts';
import { type TlsOptions, tlsOptionsFor } from '../http/tls.ts';
import { ApiError, errorOfAnswer, errorOfSilence } from './api-error.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeKind, KubeRef, KubeSelection } from '../../ports/kube.ts';

/** Timeouts of the API server. */
export interface KubeTimeouts {
  readonly connect: Millis;
  /** Until an answer begins. */
  readonly headers: Millis;
  /** Between two chunks of an answer. */
  readonly idle: Millis;
  /** A watch is asked to end after so long, and taken for dead a little later. */
  readonly watch: Millis;
  /** Added to that by chance, so that what began together does not end together. */
  readonly watchSpread: Millis;
  readonly watchGrace: Millis;
  /** Between two events or bookmarks of a watch, of which an API server sends one a minute. */
  readonly silence: Millis;
  /** The longest pause after which a kind that is not served is looked for again. */
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
 * Of a selection that nobody has to act on within seconds: few requests, and a silent server is
 * noticed by its bookmarks.
 */
export const calmTimeouts: KubeTimeouts = {
  ...defaultTimeouts,
  watch: minutes(5),
  watchSpread: minutes(1),
  silence: seconds(90),
  missing: minutes(1),
};

/** How connections to an API server are made. */
export interface ReachOptions {
  readonly clock: Clock;
  readonly timeouts: KubeTimeouts;
  /** Finds addresses of names; the container's own resolver unless given. */
  readonly lookup?: LookupFunction | undefined;
  /** For https servers; none unless given. */
  readonly proxies?: Proxies | undefined;
}

/** One request. */
export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: { readonly type: string; readonly text: string };
  /** JSON unless given. */
  readonly accept?: string;
  /** Between two chunks of its answer, where that differs. */
  readonly idle?: Millis;
}

/** An API server and the connections to it, which are kept. */
export interface ApiServer {
  /**
   * Asks once and passes the body of a good answer on to be read.
   * @throws ApiError for any other answer, none, or one that broke off; the signal's reason
   */
  readonly ask: <T>(
    what: ApiRequest,
    signal: AbortSignal,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ) => Promise<T>;
}

/** One whose connections can be closed. */
export interface OpenApiServer extends ApiServer {
  readonly close: () => Promise<void>;
}

/** @throws AgentError `kube.bad-credentials` when certificates or key cannot be used */
export function apiServer(access: ClusterAccess, client: ReachOptions): OpenApiServer {
  const { clock, lookup, timeouts } = client;
  const isSecure = access.server.startsWith('https:');
  const proxy = proxyOf(access, isSecure ? client.proxies : undefined);
  const to = {
    protocol: isSecure ? 'https:' : 'http:',
    proxy,
    tls: isSecure ? tlsFor(access) : {},
    // The proxy is not the cluster's: it is shown no certificate, and trusted as the system trusts.
    proxyTls: proxy === undefined ? {} : tlsOptionsFor({}),
    lookup,
    timeout: timeouts.connect,
    keepAliveDelay,
  };
  const opened = import('../http/way.ts').then(({ way }) => way(to));
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
 * That of the kubeconfig is used as kubectl uses it, whatever the environment has, with its
 * exceptions.
 */
function proxyOf(
  { server, proxy }: ClusterAccess,
  proxies: Proxies | undefined,
): string | undefined {
  const own = proxy?.reveal();
  const used = own === undefined ? proxies : { http: own, https: own, no: '' };
  return used && proxyFor(new URL(server), used);
}

/** The chunks of a body; tells a broken body from a failing reader. */
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
 * A peer that is gone is noticed a quarter of a minute later, however long a watch is: the kernel
 * asks it after so long, then each second, ten times (libuv, `uv_tcp_keepalive`).
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

/** Whether an error is one attempt that failed, for whoever tries again. */
export const isApiError = (error: unknown): error is ApiError => error instanceof ApiError;

/** How objects of a kind are asked for, one of them or in a watch, or as a list. */
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

/** What a list or a watch asks for beside the selection; empty values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** Path of a selection with its selectors and what else is asked. */
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

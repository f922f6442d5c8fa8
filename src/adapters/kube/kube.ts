import type { LookupFunction } from 'node:net';
import type { RunEventBody } from '../../engine/events.ts';
import type { Proxies } from '../http/proxies.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube, KubeObject, KubeRef, KubeSelection } from '../../ports/kube.ts';
import type { Random } from '../../ports/random.ts';
import {
  type ApiRequest,
  collectionPath,
  isApiError,
  type KubeTimeouts,
  objectPath,
  defaultTimeouts,
  withQuery,
} from './api-server.ts';
import { AgentError } from '../../model/failure.ts';
import { type Attempt, call, type Cluster, healthOf } from './call.ts';
import { follow } from './follow.ts';
import { holds, listAll, readJson, readText, withoutManagedFields } from './list.ts';
import { type Credentials, session } from './session.ts';

/** How a cluster is reached. */
export interface KubeOptions {
  /** The text of a kubeconfig, or undefined when there is none yet; asked again each second then. */
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: (event: RunEventBody) => void;
  /** Finds addresses of names; the container's own resolver unless given. */
  readonly lookup?: LookupFunction;
  /** None for the cluster that is being installed, which is this host or its neighbour. */
  readonly proxies?: Proxies;
  readonly timeouts?: KubeTimeouts;
}

/** The port with what ends its connections. */
export interface KubeCluster extends Kube {
  readonly close: () => Promise<void>;
}

/** Of a pod's log, so that no log fills the memory. */
const mostLogBytes = 16 * 1024 * 1024;

/** A cluster by its API server. */
export function kubeCluster(options: KubeOptions): KubeCluster {
  const { credentials, clock, random, emit, timeouts = defaultTimeouts } = options;
  const { lookup, proxies } = options;
  const cluster: Cluster = {
    session: session(credentials, { clock, timeouts, lookup, proxies }),
    clock,
    random,
    health: healthOf(emit),
  };
  return {
    get: (ref, signal) => unlessMissing(getOne(cluster, ref, signal), undefined),
    list: (selection, signal) => unlessMissing(getAll(cluster, selection, signal), []),
    follow: (selection, seen, signal) => follow(cluster, { selection, seen, timeouts }, signal),
    patch: (ref, { type, body, subresource }, signal) =>
      write(cluster, signal, {
        method: 'PATCH',
        path: objectPath(ref, subresource),
        body: { type: patchTypes[type], text: JSON.stringify(body) },
      }),
    create: (into, object, signal) => create(cluster, { into, object }, signal),
    replace: (ref, object, { subresource, signal }) =>
      write(cluster, signal, {
        method: 'PUT',
        path: objectPath(ref, subresource),
        body: jsonBody(object),
      }),
    remove: async (ref, signal) => {
      const path = withQuery(objectPath(ref), { propagationPolicy: 'Background' });
      const removed = call(cluster, signal, (server, { signal: inner }) =>
        server.ask({ method: 'DELETE', path }, inner, readText),
      );
      await unlessMissing(removed, undefined);
    },
    podLog: ({ namespace, name, container }, sinceSeconds, signal) => {
      const log = objectPath({ kind: pods, namespace, name }, 'log');
      const path = withQuery(log, { container, sinceSeconds, limitBytes: mostLogBytes });
      return call(cluster, signal, (server, { signal: inner }) =>
        server.ask({ method: 'GET', path, accept: '*/*' }, inner, readText),
      );
    },
    close: () => cluster.session.close(),
  };
}

const pods = { group: '', version: 'v1', plural: 'pods' };

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

const jsonBody = (object: KubeObject): NonNullable<ApiRequest['body']> => ({
  type: 'application/json',
  text: JSON.stringify(object),
});

async function unlessMissing<T, U>(answer: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AgentError && error.code === 'kube.not-found') return otherwise;
    throw error;
  }
}

const getOne = (cluster: Cluster, ref: KubeRef, signal: AbortSignal): Promise<KubeObject> =>
  call(cluster, signal, async (server, { signal: inner }) =>
    withoutManagedFields(
      await server.ask({ method: 'GET', path: objectPath(ref) }, inner, readJson<KubeObject>),
    ),
  );

const getAll = (
  cluster: Cluster,
  selection: KubeSelection,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> =>
  call(cluster, signal, async (server, { signal: inner }) => {
    const { objects } = await listAll(server, selection, inner);
    return [...objects].sort(byName);
  });

const byName = (one: KubeObject, other: KubeObject): number =>
  one.metadata.name < other.metadata.name ? -1 : 1;

const write = (cluster: Cluster, signal: AbortSignal, what: ApiRequest): Promise<KubeObject> =>
  call(cluster, signal, async (server, { signal: inner }) =>
    withoutManagedFields(await server.ask(what, inner, readJson<KubeObject>)),
  );

interface Creation {
  readonly into: Pick<KubeSelection, 'kind' | 'namespace'>;
  readonly object: KubeObject;
}

function create(
  cluster: Cluster,
  { into, object }: Creation,
  signal: AbortSignal,
): Promise<KubeObject> {
  const what: ApiRequest = {
    method: 'POST',
    path: collectionPath(into.kind, into.namespace),
    body: jsonBody(object),
  };
  const ref: KubeRef = { ...into, name: object.metadata.name };
  return call(cluster, signal, async (server, state: Attempt) => {
    try {
      const made = await server.ask(what, state.signal, readJson<KubeObject>);
      return withoutManagedFields(made);
    } catch (error) {
      if (!state.isUncertain || !isConflict(error)) throw error;
      // An earlier attempt may have made it, and its answer was lost.
      const path = objectPath(ref);
      const there = await server.ask({ method: 'GET', path }, state.signal, readJson<KubeObject>);
      if (!holds(there, object)) throw error;
      return withoutManagedFields(there);
    }
  });
}

const isConflict = (error: unknown): boolean =>
  isApiError(error) && error.failure.code === 'kube.conflict';

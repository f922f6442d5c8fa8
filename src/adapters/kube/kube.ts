import type { LookupFunction } from 'node:net';
import type { RunEventBody } from '../../engine/events.ts';
import { isContained } from '../../lib/json.ts';
import type { Proxies } from '../../lib/proxies.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  ApplyOptions,
  CallOptions,
  Kube,
  KubeKind,
  KubeObject,
  KubeRef,
  KubeSelection,
} from '../../ports/kube.ts';
import type { Random } from '../../ports/random.ts';
import { ApiError } from './api-error.ts';
import {
  acceptOf,
  type ApiRequest,
  type ApiServer,
  collectionPath,
  defaultTimeouts,
  isApiError,
  type KubeTimeouts,
  objectPath,
  part,
  withQuery,
} from './api-server.ts';
import { readLast } from '../../lib/read-up-to.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { AgentError } from '../../model/failure.ts';
import { type Attempt, call, type Cluster, healthOf } from './call.ts';
import { follow } from './follow.ts';
import { listAll, parsed, readObject, readText, withoutManagedFields } from './list.ts';
import { type Credentials, session } from './session.ts';
import { sharedFollows } from '../shared-follow.ts';

/** Options for reaching a cluster. */
export interface KubeOptions {
  /** Reads the text of a kubeconfig; undefined if absent yet, and then asked again each second. */
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: (event: RunEventBody) => void;
  /** Resolves names; default: the container's own resolver. */
  readonly lookup?: LookupFunction;
  /** Undefined for the cluster under installation, which is this host or its neighbour. */
  readonly proxies?: Proxies;
  readonly timeouts?: KubeTimeouts;
  /** Timeouts of followers by kind, if they differ. */
  readonly followTimeouts?: (kind: KubeKind) => KubeTimeouts;
  /** The part of a followed object to keep; default: all of it. */
  readonly keep?: (kind: KubeKind, object: KubeObject) => KubeObject;
  /**
   * `final`: a 403 by RBAC fails at once, and a selection that may not be listed or watched is read
   * each 30 seconds. Default: a 403 is retried, as a control plane under construction refuses its
   * own credentials for a while.
   */
  readonly denials?: CallOptions['denials'];
}

/** The port with a function to close its connections. */
export interface KubeCluster extends Kube {
  readonly close: () => Promise<void>;
}

/**
 * Maximum size of a pod's log, so that no log fills the memory. The API server itself can only drop
 * its end (`limitBytes`).
 */
const mostLogBytes = 16 * 1024 * 1024;

/** A cluster through its API server. */
export function kubeCluster(options: KubeOptions): KubeCluster {
  const { credentials, clock, random, emit, timeouts = defaultTimeouts } = options;
  const { lookup, proxies, keep = (_, object) => object, denials } = options;
  const timeoutsOf = options.followTimeouts ?? (() => timeouts);
  const cluster: Cluster = {
    session: session(credentials, { clock, timeouts, lookup, proxies }),
    clock,
    random,
    health: healthOf(emit),
    denials,
  };
  const served = servedKinds();
  const following: Kube['follow'] = sharedFollows((selection, seen, signal) => {
    const { kind } = selection;
    const following = {
      selection,
      seen,
      timeouts: timeoutsOf(kind),
      keep: (object: KubeObject) => keep(kind, withoutManagedFields(object)),
    };
    return follow(cluster, following, signal);
  }, selectionKey);
  const ask = <T>(
    request: ApiRequest,
    signal: AbortSignal,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    options: CallOptions = {},
  ): Promise<T> =>
    call({ ...cluster, ...options }, signal, (server, { signal: inner }) =>
      server.ask(request, inner, read),
    );
  return {
    get: (ref, signal, options) => {
      const request = { method: 'GET', path: objectPath(ref), ...acceptOf(ref.kind) } as const;
      return unlessMissing(ask(request, signal, readObject, options), undefined);
    },
    list: (selection, signal) => unlessMissing(listSorted(cluster, selection, signal), []),
    follow: following,
    patch: (ref, { type, body, subresource }, signal) => {
      const text = JSON.stringify(body);
      const path = objectPath(ref, subresource);
      const request = { method: 'PATCH', path, body: { type: patchTypes[type], text } } as const;
      return ask(request, signal, readObject);
    },
    create: ({ kind, namespace, ...options }, object, signal) =>
      create({ ...cluster, ...options }, { kind, namespace }, object, signal),
    replace: (ref, object, { subresource, signal }) => {
      const path = objectPath(ref, subresource);
      return ask({ method: 'PUT', path, body: jsonBody(object) }, signal, readObject);
    },
    apply: (manifest, signal, options = {}) => apply(cluster, served, manifest, options, signal),
    remove: async ({ uid, ...ref }, signal) => {
      const path = objectPath(ref);
      const removal: ApiRequest = { method: 'DELETE', path, body: removalOf(uid) };
      await unlessMissing(ask(removal, signal, readText), undefined);
    },
    evict: (pod, signal) => evict(cluster, pod, signal),
    podLog: ({ namespace, name, container }, sinceSeconds, signal) => {
      const log = objectPath({ kind: pods, namespace, name }, 'log');
      const path = withQuery(log, { container, sinceSeconds });
      return ask({ method: 'GET', path, accept: '*/*' }, signal, async (body) =>
        Buffer.from(await readLast(body, mostLogBytes)).toString('utf8'),
      );
    },
    close: () => cluster.session.close(),
  };
}

const selectionKey = ({ kind, namespace, labelSelector, fieldSelector }: KubeSelection): string =>
  JSON.stringify([
    [kind.group, kind.version, kind.plural, kind.isMetadataOnly],
    [namespace, labelSelector, fieldSelector],
  ]);

const pods = { group: '', version: 'v1', plural: 'pods' };

/**
 * The caller reads the node again before another eviction: another client may have uncordoned it.
 */
async function evict(
  cluster: Cluster,
  { namespace, name, uid }: Parameters<Kube['evict']>[0],
  signal: AbortSignal,
): Promise<void> {
  const eviction = {
    method: 'POST',
    path: objectPath({ kind: pods, namespace, name }, 'eviction'),
    body: jsonBody({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    }),
  } as const;
  const asked = call(cluster, signal, (server, { signal: inner }) =>
    server.ask(eviction, inner, readObject).catch((error: unknown) => {
      throw isApiError(error) ? error.failure : error;
    }),
  );
  await unlessMissing(asked, undefined);
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

const jsonBody = (object: object): NonNullable<ApiRequest['body']> => ({
  type: 'application/json',
  text: JSON.stringify(object),
});

/** The garbage collector removes owned objects in the background. */
const removalOf = (uid: string | undefined): NonNullable<ApiRequest['body']> =>
  jsonBody({
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: 'Background',
    ...(uid === undefined ? {} : { preconditions: { uid } }),
  });

async function unlessMissing<T, U>(answer: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AgentError && error.code === 'kube.not-found') return otherwise;
    throw error;
  }
}

const listSorted = (
  cluster: Cluster,
  selection: KubeSelection,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> =>
  call(cluster, signal, async (server, { signal: inner }) => {
    const { objects } = await listAll(server, { selection, keep: withoutManagedFields }, inner);
    return [...objects].sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  });

function create(
  cluster: Cluster,
  into: Pick<KubeSelection, 'kind' | 'namespace'>,
  object: KubeObject,
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
      return await server.ask(what, state.signal, readObject);
    } catch (error) {
      const isConflict = isApiError(error) && error.failure.code === 'kube.conflict';
      if (!state.isUncertain || !isConflict) throw error;
      // An earlier attempt may have created it, with a lost answer.
      const path = objectPath(ref);
      const there = await server.ask({ method: 'GET', path }, state.signal, readObject);
      if (!isContained(object, there)) throw error;
      return there;
    }
  });
}

/** Default field manager in `metadata.managedFields` of applied objects. */
const fieldManager = 'bootwright';

function apply(
  cluster: Cluster,
  served: ServedKinds,
  manifest: KubeObject,
  { manager = fieldManager, subresource }: ApplyOptions,
  signal: AbortSignal,
): Promise<KubeObject> {
  // The content of a file may be anything.
  const { apiVersion, kind } = manifest;
  const { name, namespace: wanted } = Object(manifest.metadata) as Partial<KubeObject['metadata']>;
  if (!isText(apiVersion) || !isText(kind) || !isText(name)) {
    const missing = !isText(apiVersion) ? 'apiVersion' : isText(kind) ? 'metadata.name' : 'kind';
    return Promise.reject(kubeFailure('kube.invalid', `a manifest without ${missing}`));
  }
  return call(cluster, signal, async (server, { signal: inner }) => {
    const resource = await served.find(server, { apiVersion, kind }, inner);
    const into = isText(wanted) ? wanted : 'default';
    const place = resource.isNamespaced ? { namespace: into } : {};
    const ref = { kind: resource.kind, name, ...place };
    const what: ApiRequest = {
      method: 'PATCH',
      path: withQuery(objectPath(ref, subresource), { fieldManager: manager, force: 'true' }),
      // JSON is YAML.
      body: { type: 'application/apply-patch+yaml', text: JSON.stringify(manifest) },
    };
    return server.ask(what, inner, readObject);
  });
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** A kind in the form of manifests. */
interface ManifestKind {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
}

/** A kind as the API server serves it. */
interface ServedKind {
  readonly kind: KubeKind;
  readonly isNamespaced: boolean;
}

/** The served kinds of an API server. */
interface ServedKinds {
  /**
   * Finds the kind of a manifest. Caches the server's answer, and asks again for a kind that is not
   * in it.
   * @throws ApiError `kube.not-found` if the kind is not served; errors of `ask`
   */
  readonly find: (
    server: ApiServer,
    what: ManifestKind,
    signal: AbortSignal,
  ) => Promise<ServedKind>;
}

/** An APIResourceList (k8s.io/apimachinery); names with a slash are subresources. */
interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

const isResourceList = (value: unknown): boolean => {
  const { resources = [] } = Object(value) as { readonly resources?: unknown };
  if (value === null || !Array.isArray(resources)) return false;
  return resources.every(
    (one: unknown) => typeof (Object(one) as { name?: unknown }).name === 'string',
  );
};

/** An empty cache of served kinds. */
function servedKinds(): ServedKinds {
  const known = new Map<string, ServedKind>();
  const keyOf = ({ apiVersion, kind }: ManifestKind): string => `${apiVersion} ${kind}`;
  const read = async (
    server: ApiServer,
    apiVersion: string,
    signal: AbortSignal,
  ): Promise<void> => {
    const words = apiVersion.split('/');
    const [group = '', version = ''] = words.length === 1 ? ['', ...words] : words;
    const path = `/${group === '' ? 'api' : 'apis'}/${words.map(part).join('/')}`;
    const text = await server.ask({ method: 'GET', path }, signal, readText);
    const { resources = [] } = parsed<ResourceList>(text, isResourceList);
    for (const { name, kind, namespaced } of resources) {
      if (name.includes('/')) continue;
      known.set(keyOf({ apiVersion, kind }), {
        kind: { group, version, plural: name },
        isNamespaced: namespaced,
      });
    }
  };
  return {
    find: async (server, what, signal) => {
      const key = keyOf(what);
      if (!known.has(key)) await read(server, what.apiVersion, signal);
      const found = known.get(key);
      if (found !== undefined) return found;
      throw new ApiError(
        kubeFailure(
          'kube.not-found',
          `the API server serves no ${what.kind} of ${what.apiVersion}`,
        ),
        { worth: 'none' },
      );
    },
  };
}

import type { KubeKind, KubeObject, KubeRef, KubeSelection } from '../../src/ports/kube.ts';
import {
  KubeRefusal,
  openTransport,
  readWatch,
  type Transport,
  type TransportOptions,
  type WatchEvent,
} from './transport.ts';

/** A pod to which a token is bound. */
export interface BoundPod {
  readonly name: string;
  readonly uid: string;
}

/**
 * Writes and reads objects for tests and for the stand-ins of a cluster's components. All calls but
 * `get` and `remove` reject with `KubeRefusal` on an error status; "429 storage is
 * (re)initializing" is retried.
 */
export interface KubeClient {
  /** The object; undefined if it is absent, or if the kind is not served. */
  readonly get: (ref: KubeRef) => Promise<KubeObject | undefined>;
  readonly list: (selection: KubeSelection) => Promise<readonly KubeObject[]>;
  /** The object names its own apiVersion, kind and namespace. */
  readonly create: (kind: KubeKind, object: KubeObject) => Promise<KubeObject>;
  /**
   * Creates or changes an object to match the given one, as `kubectl apply --server-side
   * --force-conflicts` does.
   */
  readonly apply: (kind: KubeKind, object: KubeObject) => Promise<KubeObject>;
  /** A merge patch; null removes a member. */
  readonly merge: (ref: KubeRef, change: unknown, subresource?: string) => Promise<KubeObject>;
  /**
   * A merge patch of the status through its subresource; the main resource silently ignores a
   * status.
   */
  readonly mergeStatus: (ref: KubeRef, status: unknown) => Promise<KubeObject>;
  /**
   * Replaces the whole status. A merge patch cannot write a required null, as in a ClusterVersion.
   */
  readonly replaceStatus: (ref: KubeRef, status: unknown) => Promise<KubeObject>;
  /** Replaces the whole object, or a subresource of it such as `approval`. */
  readonly replace: (ref: KubeRef, object: KubeObject, subresource?: string) => Promise<KubeObject>;
  /**
   * Succeeds also if the object is absent. A running pod gets its own grace period unless one is
   * given. Owned objects go too, as with `kubectl`: for a Job, the API server would leave them.
   */
  readonly remove: (ref: KubeRef, options?: { readonly graceSeconds: number }) => Promise<void>;
  /** Events of a selection, until the server or the signal ends the watch. */
  readonly watch: (
    selection: KubeSelection,
    options: { readonly resourceVersion?: string; readonly signal: AbortSignal },
  ) => AsyncGenerator<WatchEvent>;
  /**
   * A token of a service account, for an hour (`TokenRequest`); a pod's token names the node of the
   * pod, as for its kubelet.
   */
  readonly tokenOf: (namespace: string, name: string, pod?: BoundPod) => Promise<string>;
  /** The text at any path, such as `/readyz`. */
  readonly read: (path: string, signal?: AbortSignal) => Promise<string>;
  /** Sends a text unchanged, such as a YAML manifest, by server-side apply. */
  readonly applyManifest: (ref: KubeRef, yaml: string) => Promise<KubeObject>;
  readonly close: () => Promise<void>;
}

const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';
const serviceAccounts: KubeKind = { group: '', version: 'v1', plural: 'serviceaccounts' };
const NOT_FOUND = 404;
const CONFLICT = 409;

/** A client of one user. */
export function openClient(options: TransportOptions): KubeClient {
  const transport = openTransport(options);
  const writing = writer(transport);
  const get = (ref: KubeRef) => orNone(readObject(transport, ref));
  const replaceStatus = async (ref: KubeRef, status: unknown): Promise<KubeObject> => {
    for (;;) {
      const current = await readObject(transport, ref);
      const next = { ...current, status };
      const written = await orConflict(writing.replace(ref, next, 'status'));
      if (written !== undefined) return written;
    }
  };
  return {
    ...writing,
    get,
    replaceStatus,
    list: async (selection) => {
      const answer = await transport.send({ method: 'GET', path: pathOfSelection(selection) });
      return ((await answer.json()) as { readonly items: readonly KubeObject[] }).items;
    },
    remove: async (ref, options) => {
      const grace = options === undefined ? '' : `&gracePeriodSeconds=${options.graceSeconds}`;
      const path = `${pathOfObject(ref)}?propagationPolicy=Background${grace}`;
      // Read the answer to its end, so that its connection can be used again.
      await orNone(transport.send({ method: 'DELETE', path }).then(textOf));
    },
    watch: (selection, { resourceVersion, signal }) => {
      const path = pathOfSelection(selection, { watch: 'true', resourceVersion });
      return readWatch(() => transport.send({ method: 'GET', path, signal }), signal);
    },
    read: async (path, signal) => {
      return (await transport.send({ method: 'GET', path, signal })).text();
    },
    tokenOf: async (namespace, name, pod) => {
      const path = pathOfObject({ kind: serviceAccounts, namespace, name }, 'token');
      const spec =
        pod === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...pod } };
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
      const answer = await transport.send({ method: 'POST', path, body });
      const made = (await answer.json()) as { readonly status: { readonly token: string } };
      return made.status.token;
    },
    close: transport.close,
  };
}

type Writing = Pick<
  KubeClient,
  'create' | 'apply' | 'applyManifest' | 'merge' | 'mergeStatus' | 'replace'
>;

function writer({ send }: Transport): Writing {
  const write = async (request: Parameters<typeof send>[0]) =>
    (await (await send(request)).json()) as KubeObject;
  const patch = (path: string, contentType: string, body: unknown) =>
    write({ method: 'PATCH', path, contentType, body });
  const applied = (ref: KubeRef) => `${pathOfObject(ref)}?fieldManager=lab&force=true`;
  return {
    create: (kind, object) =>
      write({ method: 'POST', path: pathOfKind(kind, object.metadata.namespace), body: object }),
    apply: (kind, object) => patch(applied(refOf(kind, object)), APPLY, JSON.stringify(object)),
    applyManifest: (ref, yaml) => patch(applied(ref), APPLY, yaml),
    merge: (ref, change, subresource) => patch(pathOfObject(ref, subresource), MERGE, change),
    mergeStatus: (ref, status) => patch(pathOfObject(ref, 'status'), MERGE, { status }),
    replace: (ref, object, subresource) =>
      write({ method: 'PUT', path: pathOfObject(ref, subresource), body: object }),
  };
}

function refOf(kind: KubeKind, { metadata: { name, namespace } }: KubeObject): KubeRef {
  return { kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

const textOf = (response: { readonly text: () => Promise<string> }): Promise<string> =>
  response.text();

async function readObject({ send }: Transport, ref: KubeRef): Promise<KubeObject> {
  return (await (await send({ method: 'GET', path: pathOfObject(ref) })).json()) as KubeObject;
}

const orNone = <T>(asked: Promise<T>): Promise<T | undefined> => unless(NOT_FOUND, asked);
const orConflict = <T>(asked: Promise<T>): Promise<T | undefined> => unless(CONFLICT, asked);

async function unless<T>(status: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof KubeRefusal && error.status === status) return undefined;
    throw error;
  }
}

/** The path of an object, or of a subresource of it. */
export function pathOfObject({ kind, namespace, name }: KubeRef, subresource?: string): string {
  const object = `${pathOfKind(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? object : `${object}/${subresource}`;
}

/** The path of all objects of a kind, in a namespace if one is given. */
export function pathOfKind({ group, version, plural }: KubeKind, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${place}/${plural}`;
}

/** The path of a selection with its query, to which `more` is added. */
export function pathOfSelection(
  { kind, namespace, labelSelector, fieldSelector }: KubeSelection,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  const wanted = Object.entries({ labelSelector, fieldSelector, ...more });
  const given = wanted.filter((entry): entry is [string, string] => entry[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  const path = pathOfKind(kind, namespace);
  return query === '' ? path : `${path}?${query}`;
}

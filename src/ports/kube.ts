import type { AgentError } from '../model/failure.ts';

/** Metadata of an object. */
export interface KubeMetadata {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Any object of the cluster. Functions for each kind read the fields outside of the metadata. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
  readonly [member: string]: unknown;
}

/** A kind of objects, in the form of the API server's paths. */
export interface KubeKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /**
   * Reads request only the metadata of objects (meta.k8s.io, `PartialObjectMetadata`); writes send
   * whole objects.
   */
  readonly isMetadataOnly?: true;
}

/** A reference to one object. */
export interface KubeRef {
  readonly kind: KubeKind;
  readonly name: string;
  /** Undefined for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
}

/** Several objects of one kind. */
export interface KubeSelection {
  readonly kind: KubeKind;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Selects one object; the selection contains only this object, or nothing. */
export const selectionOf = ({ kind, name, namespace }: KubeRef): KubeSelection => ({
  kind,
  namespace,
  fieldSelector: `metadata.name=${name}`,
});

/** Key of an object. A name cannot contain a space, so keys sort by name, then by namespace. */
export const objectKey = ({ name, namespace }: Pick<KubeMetadata, 'name' | 'namespace'>): string =>
  namespace === undefined ? name : `${name} ${namespace}`;

/** An object before and after a change; one is undefined if the object appeared or is gone. */
export interface KubeChange {
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

/** The last seen objects of a selection. */
export interface KubeView {
  /** False before the first list, and while the kind is not served. */
  readonly isSynced: boolean;
  /**
   * Sorted by name. The list is built on access from the present objects; it is empty while the
   * view is not synced.
   */
  readonly objects: readonly KubeObject[];
  /**
   * Changes since the last synced view, including objects that came or went meanwhile. In a
   * follower's first view, all objects are new.
   */
  readonly changes: readonly KubeChange[];
  /** The reason why the view may be old: the API server cannot be reached now. */
  readonly lastError?: AgentError;
}

/** A change to an object. */
export interface KubePatch {
  readonly type: 'merge' | 'json';
  readonly body: unknown;
  readonly subresource?: string | undefined;
}

/** Options of an apply. */
export interface ApplyOptions {
  /** Field manager in `metadata.managedFields`; default: `bootwright`. */
  readonly manager?: string;
  /** A subresource of the object: `status`. */
  readonly subresource?: string;
}

/** Options of a call. */
export interface CallOptions {
  /** `final`: a 403 fails at once, for a caller that retries later itself. */
  readonly denials?: 'final';
}

/**
 * The API server of the cluster under installation. Every call retries transient errors (no
 * connection, 408, 429, 5xx) until its signal aborts or its own limit of a minute ends, and rejects
 * with AgentError `kube.*` for the last error. It looks for credentials again while there are none
 * (`kube.no-credentials`), and after a refusal (401, 403). Objects come without
 * `metadata.managedFields`.
 */
export interface Kube {
  /** The object; undefined if absent (404, or a kind that is not served yet). */
  readonly get: (
    ref: KubeRef,
    signal: AbortSignal,
    options?: CallOptions,
  ) => Promise<KubeObject | undefined>;
  /** Sorted by name; empty for a kind that is not served yet. */
  readonly list: (selection: KubeSelection, signal: AbortSignal) => Promise<readonly KubeObject[]>;
  /**
   * Follows a selection until the signal aborts, then resolves. Lists, then watches, through
   * restarts of the API server, lost history (410) and dead connections, which it detects within 12
   * seconds, or 15 with long watches. Calls `seen` with the view after each change; `seen` must not
   * throw, and an error from it ends the following. `lastError` appears when the server cannot be
   * reached at the second attempt (at the first, if it never was), and disappears with the next
   * answer. A kind that is not served yet is not an error: the view is not synced, and each second
   * the kind is tried again; the controller tries less and less often, down to once a minute. A
   * server that refuses (401, 403, 400) is tried each second, with `lastError` set. In the cluster,
   * a 403 by RBAC is final for that verb: a selection that may be listed but not watched is listed
   * each 30 seconds, and an object that may only be read is read each 30 seconds. Followers of the
   * same selection share one watch.
   * @throws AgentError `kube.bad-credentials`
   */
  readonly follow: (
    selection: KubeSelection,
    seen: (view: KubeView) => void,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Sends the patch again after a lost answer, so a JSON patch that tests the value it changes may
   * be refused although it took effect: then read the object.
   * @throws AgentError `kube.conflict` (409), `kube.invalid` (400, 422), `kube.not-found`
   */
  readonly patch: (ref: KubeRef, patch: KubePatch, signal: AbortSignal) => Promise<KubeObject>;
  /**
   * After a lost answer, an existing object that contains all that was sent counts as created.
   * @throws AgentError `kube.conflict` if another object has that name, `kube.invalid`
   */
  readonly create: (
    selection: Pick<KubeSelection, 'kind' | 'namespace'> & CallOptions,
    object: KubeObject,
    signal: AbortSignal,
  ) => Promise<KubeObject>;
  /**
   * Replaces the whole object, or one subresource of it (`approval`, `status`). After a lost
   * answer, the retry may conflict with the first attempt: then read the object.
   * @throws AgentError `kube.conflict` if it changed since it was read, `kube.invalid`,
   * `kube.not-found`
   */
  readonly replace: (
    ref: KubeRef,
    object: KubeObject,
    options: { readonly subresource?: string; readonly signal: AbortSignal },
  ) => Promise<KubeObject>;
  /**
   * Creates or changes an object to match its manifest (server-side apply, as `kubectl apply
   * --server-side --force-conflicts` does). Removes fields that only an earlier manifest of
   * Bootwright had; fields of other managers stay. A namespaced object without namespace goes to
   * `default`.
   * @throws AgentError `kube.not-found` if the kind is not served yet, or the namespace is missing;
   * `kube.invalid`, also without apiVersion, kind or name
   */
  readonly apply: (
    manifest: KubeObject,
    signal: AbortSignal,
    options?: ApplyOptions,
  ) => Promise<KubeObject>;
  /**
   * Deletes an object, and in the background the objects that it owns; no error if it does not
   * exist.
   * @throws AgentError `kube.conflict` if a uid is given and another object has the name
   */
  readonly remove: (
    ref: KubeRef & { readonly uid?: string | undefined },
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Evicts a pod (policy/v1 Eviction) if it still has this uid; no error if it is gone. The pod
   * ends within its grace period. The request is not retried.
   * @throws AgentError `kube.disruption-budget` with the budget's name; `kube.conflict` for another
   * pod of that name; `kube.*`
   */
  readonly evict: (
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * The log of a pod's container, which need not be named if it is the only one: of the last
   * seconds, or whole; at most its last 16 MiB. Empty for a pod without a node.
   * @throws AgentError `kube.not-found`; `kube.invalid` while its container has not started
   */
  readonly podLog: (
    pod: { readonly namespace: string; readonly name: string; readonly container?: string },
    sinceSeconds: number | undefined,
    signal: AbortSignal,
  ) => Promise<string>;
}

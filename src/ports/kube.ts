import type { AgentError } from '../model/failure.ts';

/** What the API server keeps of every object. */
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

/**
 * Any object of the cluster; what lies beside the metadata is read by a function of its subject.
 */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
  readonly [member: string]: unknown;
}

/** A kind of objects as the API server addresses it. */
export interface KubeKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /**
   * Reads ask for the metadata of objects alone (meta.k8s.io, `PartialObjectMetadata`); what is
   * written is whole.
   */
  readonly isMetadataOnly?: true;
}

/** One object by its name. */
export interface KubeRef {
  readonly kind: KubeKind;
  readonly name: string;
  /** Left out for kinds of the cluster. */
  readonly namespace?: string | undefined;
}

/** Several objects of one kind. */
export interface KubeSelection {
  readonly kind: KubeKind;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Selects one object; a selection has it alone, or nothing. */
export const selectionOf = ({ kind, name, namespace }: KubeRef): KubeSelection => ({
  kind,
  namespace,
  fieldSelector: `metadata.name=${name}`,
});

/** No name holds a space, so names come before namespaces in the order. */
export const objectKey = ({ name, namespace }: Pick<KubeMetadata, 'name' | 'namespace'>): string =>
  namespace === undefined ? name : `${name} ${namespace}`;

/** An object before and after a change; one of the two is missing where it has come or gone. */
export interface KubeChange {
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

/** The objects of a selection as they were last seen. */
export interface KubeView {
  /** False until the first list has come, and where the kind is no longer served. */
  readonly isSynced: boolean;
  /**
   * In the order of their names; made when it is read, of what is there by then. None while it is
   * not synced.
   */
  readonly objects: readonly KubeObject[];
  /**
   * Since the last synced view, also what has come and gone while nothing was seen. All objects are
   * new to the first view of a follower.
   */
  readonly changes: readonly KubeChange[];
  /** Why the view may be old: the API server cannot be reached now. */
  readonly lastError?: AgentError;
}

/** A change to an object. */
export interface KubePatch {
  readonly type: 'merge' | 'json';
  readonly body: unknown;
  readonly subresource?: string | undefined;
}

/** How a manifest is applied. */
export interface ApplyOptions {
  /** Who is named in `metadata.managedFields`; `bootwright` unless given. */
  readonly manager?: string;
  /** A part of the object that has a path of its own: `status`. */
  readonly subresource?: string;
}

/** How something is asked. */
export interface CallOptions {
  /**
   * `final`: what the API server forbids (403) fails at once, for who says so and asks again later.
   */
  readonly denials?: 'final';
}

/**
 * The API server of the cluster that is being born. Every call retries what is passing (no
 * connection, 408, 429, 5xx) until its signal aborts or its own limit of a minute is over, and
 * rejects with AgentError `kube.*`: with what it saw last. Credentials are looked for again as long
 * as there are none (`kube.no-credentials`), and when they are refused (401, 403). Objects come
 * without `metadata.managedFields`.
 */
export interface Kube {
  /** The object, or undefined if absent (404, or a kind that is not served yet). */
  readonly get: (
    ref: KubeRef,
    signal: AbortSignal,
    options?: CallOptions,
  ) => Promise<KubeObject | undefined>;
  /** In the order of their names; none of a kind that is not served yet. */
  readonly list: (selection: KubeSelection, signal: AbortSignal) => Promise<readonly KubeObject[]>;
  /**
   * Follows a selection until the signal aborts, then resolves: list, then watch, through restarts
   * of the API server, lost history (410) and connections that died without a word, which are
   * noticed within 12 seconds, or 15 where watches last longer. `seen` is called with the view
   * after each change of it; it must not throw, and what it throws ends the following. `lastError`
   * comes when the server cannot be reached at the second attempt (the first, when it never was),
   * and goes with the next answer. A kind that is not served yet is no error: the view is not
   * synced, and the kind is looked for each second; the controller looks for one less and less,
   * each minute in the end. A server that refuses (401, 403, 400) is asked each second, and shown
   * as `lastError`. In the cluster what RBAC forbids (403) is not asked again: a selection that may
   * be listed and not watched is listed each 30 seconds, one object that may be read alone is read
   * each 30 seconds. Who follows what others follow shares their watch.
   * @throws AgentError `kube.bad-credentials`
   */
  readonly follow: (
    selection: KubeSelection,
    seen: (view: KubeView) => void,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * When the answer was lost the patch is sent again, so a JSON patch with a `test` of what it
   * changes may be refused although it took effect: read the object then.
   * @throws AgentError `kube.conflict` (409), `kube.invalid` (400, 422), `kube.not-found`
   */
  readonly patch: (ref: KubeRef, patch: KubePatch, signal: AbortSignal) => Promise<KubeObject>;
  /**
   * When an earlier attempt may have made the object although its answer was lost, one that is
   * there and holds all that was sent counts as made.
   * @throws AgentError `kube.conflict` when there is another of that name, `kube.invalid`
   */
  readonly create: (
    selection: Pick<KubeSelection, 'kind' | 'namespace'> & CallOptions,
    object: KubeObject,
    signal: AbortSignal,
  ) => Promise<KubeObject>;
  /**
   * Puts the whole object, or one subresource of it (`approval`, `status`). After a lost answer it
   * may be a conflict with itself: read the object then.
   * @throws AgentError `kube.conflict` when it changed since it was read, `kube.invalid`,
   * `kube.not-found`
   */
  readonly replace: (
    ref: KubeRef,
    object: KubeObject,
    options: { readonly subresource?: string; readonly signal: AbortSignal },
  ) => Promise<KubeObject>;
  /**
   * Makes or changes an object so that it says what its manifest says (server-side apply, as
   * `kubectl apply --server-side --force-conflicts` does): members that an earlier manifest of
   * Bootwright had and this one has not are taken away, those of others stay. A namespaced one
   * without namespace goes to `default`.
   * @throws AgentError `kube.not-found` when the kind is not served yet, or the namespace is
   * missing; `kube.invalid`, also without apiVersion, kind or name
   */
  readonly apply: (
    manifest: KubeObject,
    signal: AbortSignal,
    options?: ApplyOptions,
  ) => Promise<KubeObject>;
  /**
   * Removes an object, and in the background what it owns; no error when there is none.
   * @throws AgentError `kube.conflict` for another of its name, where a uid is given
   */
  readonly remove: (
    ref: KubeRef & { readonly uid?: string | undefined },
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Asks that a pod leaves its node (policy/v1 Eviction), if it is still the one with this uid; no
   * error when it is gone. The pod ends in its own time. It is asked once, whatever the answer.
   * @throws AgentError `kube.disruption-budget` with the budget's name; `kube.conflict` for another
   * pod of that name; `kube.*`
   */
  readonly evict: (
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * The log of a container of a pod, which may be left out where there is only one: of the last so
   * many seconds, or the whole one; its last 16 MiB at most. Empty for a pod that has no node yet.
   * @throws AgentError `kube.not-found`; `kube.invalid` while its container has not started
   */
  readonly podLog: (
    pod: { readonly namespace: string; readonly name: string; readonly container?: string },
    sinceSeconds: number | undefined,
    signal: AbortSignal,
  ) => Promise<string>;
}

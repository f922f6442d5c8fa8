import { isDeepStrictEqual } from 'node:util';
import { isOver } from '../../mocks/cluster/day-2/scheduler.ts';
import { partAt, textIn } from '../../mocks/layering/objects.ts';
import { followed } from '../../src/adapters/kube/follow.ts';
import { pods as podKind } from '../../src/kube/kinds.ts';
import { kubeFailure } from '../../src/ports/kube-failures.ts';
import type { Kube, KubeKind, KubeObject, KubeRef, KubeSelection } from '../../src/ports/kube.ts';
import type { AgentError } from '../../src/model/failure.ts';
import { applied, brought, type Manifest, patched, written, stillOwned } from './kube-changes.ts';

type WriteVerb = 'patch' | 'create' | 'replace' | 'apply' | 'remove' | 'evict';

/** A received write. */
interface KubeWrite {
  readonly verb: WriteVerb;
  readonly kind: string;
  /** Only of one object. */
  readonly name?: string;
  readonly labelSelector?: string;
  readonly namespace?: string | undefined;
  readonly subresource?: string;
  readonly body?: unknown;
}

/** A manager's last applied manifest, for the object or a subresource. */
interface AppliedManifest extends Manifest {
  readonly subresource: string | undefined;
}

/** Another action around one call. */
type Meanwhile = () => void | Promise<void>;

/**
 * A cluster in memory with the inconvenient behaviour of an API server: views lag behind an
 * answered write, deletion only marks an object with finalizers or a running pod, and a patch
 * without effect is not a change. A test requests the rarer behaviours.
 */
export interface FakeKube extends Kube {
  /** Stores an object as the cluster itself would, new or changed; followers see it. */
  readonly put: (kind: KubeKind, object: KubeObject) => FakeKube;
  /** Removes an object as the cluster itself would, despite finalizers. */
  readonly drop: (ref: KubeRef) => FakeKube;
  /** The present objects of a kind. */
  readonly objectsOf: (kind: KubeKind) => readonly KubeObject[];
  readonly writes: readonly KubeWrite[];
  /** Makes every further call fail with this error, visible to followers, until it is undefined. */
  readonly lastError: (error: AgentError | undefined) => FakeKube;
  /** The log of a pod's only container, or of one container as `POD/CONTAINER`. */
  readonly withPodLog: (name: string, text: string) => FakeKube;
  /**
   * Refuses the eviction of a pod as a disruption budget does, with its message, until the message
   * is undefined.
   */
  readonly withBudget: (pod: string, message: string | undefined) => FakeKube;
  /** Runs once between a call and its effect: another writer is faster. */
  readonly before: (verb: WriteVerb | 'get' | 'list', then: Meanwhile) => FakeKube;
  /**
   * Followers see no changes until the returned function is called, and then all at once: objects
   * that came and went in between are never seen, as after a lost history (410).
   */
  readonly holdViews: () => () => void;
  /** Serves another kind of manifests, as a cluster does once its definition exists. */
  readonly serves: (served: ServedKind) => FakeKube;
}

/** An API server with a test's objects. */
export function fakeKube(): FakeKube {
  const objects = new Map<string, KubeObject>();
  const followers = new Set<() => void>();
  const logs = new Map<string, string>();
  const budgets = new Map<string, string | undefined>();
  const manifests = new Map<string, readonly AppliedManifest[]>();
  const kinds = [...servedAtFirst];
  const writes: KubeWrite[] = [];
  const meanwhile = new Map<string, Meanwhile[]>();
  let lastError: AgentError | undefined;
  let version = 1;
  let held = 0;

  const notify = (): void => {
    if (held === 0) for (const follower of followers) follower();
  };
  const enter = async (verb: WriteVerb | 'get' | 'list', signal: AbortSignal): Promise<void> => {
    await Promise.resolve();
    await meanwhile.get(verb)?.shift()?.();
    signal.throwIfAborted();
    if (lastError !== undefined) throw lastError;
  };
  /** An answer comes before its effect is in a view, and is lost if its caller has gone. */
  const answer = async <T>(verb: WriteVerb | 'get' | 'list', value: T, signal: AbortSignal) => {
    if (verb !== 'get' && verb !== 'list') setImmediate(notify);
    await Promise.resolve();
    signal.throwIfAborted();
    return value;
  };
  const store = (kind: KubeKind, object: KubeObject): KubeObject => {
    version += 1;
    const key = keyOf({ kind, ...placeOf(object) });
    const kept = {
      ...object,
      metadata: {
        uid: objects.get(key)?.metadata.uid ?? `uid-${version}`,
        ...object.metadata,
        resourceVersion: String(version),
      },
    };
    objects.set(key, kept);
    return kept;
  };
  /** An object held only by its finalizers is gone with the last of them. */
  const write = (kind: KubeKind, object: KubeObject): KubeObject => {
    const kept = store(kind, object);
    const isHeld = finalizersOf(kept).length > 0 || isOnNode(kind, kept);
    if (isDeleting(kept) && !isHeld) objects.delete(keyOf({ kind, ...placeOf(kept) }));
    return kept;
  };
  /** Deletion marks an object held by finalizers or a kubelet; it is gone when they release it. */
  const end = (kind: KubeKind, object: KubeObject): void => {
    if (isDeleting(object)) return;
    const finalizers = finalizersOf(object).filter((one) => !ofCollector.includes(one));
    if (finalizers.length === 0 && !isOnNode(kind, object)) {
      objects.delete(keyOf({ kind, ...placeOf(object) }));
      return;
    }
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const metadata = { ...object.metadata, deletionTimestamp, finalizers };
    store(kind, { ...object, metadata });
  };
  const selected = ({ kind, namespace, ...selectors }: KubeSelection): readonly KubeObject[] =>
    [...objects]
      .filter(([key]) => key.startsWith(`${groupOf(kind)}/`))
      .map(([, object]) => readAs(kind, object))
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .filter((object) => isSelected(object, selectors))
      .sort((a, b) => a.metadata.name.localeCompare(b.metadata.name));
  const present = (ref: KubeRef): KubeObject => {
    const object = objects.get(keyOf(ref));
    if (object === undefined) throw kubeFailure('kube.not-found', `${ref.name}: there is none`);
    return object;
  };

  const fake: FakeKube = {
    writes,
    put: (kind, object) => {
      store(kind, object);
      notify();
      return fake;
    },
    drop: (ref) => {
      objects.delete(keyOf(ref));
      notify();
      return fake;
    },
    objectsOf: (kind) => selected({ kind }),
    lastError: (error) => {
      lastError = error;
      notify();
      return fake;
    },
    withPodLog: (name, text) => {
      logs.set(name, text);
      return fake;
    },
    withBudget: (pod, message) => {
      budgets.set(pod, message);
      return fake;
    },
    serves: (one) => {
      kinds.push(one);
      return fake;
    },
    before: (verb, then) => {
      meanwhile.set(verb, [...(meanwhile.get(verb) ?? []), then]);
      return fake;
    },
    holdViews: () => {
      held += 1;
      return () => {
        held -= 1;
        notify();
      };
    },
    get: async (ref, signal) => {
      await enter('get', signal);
      const object = objects.get(keyOf(ref));
      return answer('get', object && readAs(ref.kind, object), signal);
    },
    list: async (selection, signal) => {
      await enter('list', signal);
      return answer('list', selected(selection), signal);
    },
    follow: (selection, seen, signal) => {
      const known = followed(seen);
      const read = (): void => {
        if (lastError !== undefined) known.lastError(lastError);
        else known.listed({ version: '', objects: selected(selection) });
      };
      if (signal.aborted) return Promise.resolve();
      followers.add(read);
      read();
      return new Promise((resolve) => {
        const end = (): void => {
          followers.delete(read);
          resolve();
        };
        signal.addEventListener('abort', end, { once: true });
      });
    },
    patch: async (ref, patch, signal) => {
      await enter('patch', signal);
      const before = present(ref);
      const { metadata } = Object(patch.body) as { readonly metadata?: KubeObject['metadata'] };
      const { resourceVersion, uid } = before.metadata;
      const { resourceVersion: expected = resourceVersion, uid: of = uid } = metadata ?? {};
      if (expected !== resourceVersion) {
        throw kubeFailure('kube.conflict', `${ref.name}: it was changed by another`);
      }
      if (of !== uid) throw kubeFailure('kube.invalid', `${ref.name}: metadata.uid is immutable`);
      const { plural } = ref.kind;
      const changed = written(before, patched(before, patch), { plural, ...patch });
      writes.push({
        verb: 'patch',
        ...said(ref),
        ...(patch.subresource === undefined ? {} : { subresource: patch.subresource }),
        body: patch.body,
      });
      if (isDeepStrictEqual(changed, before)) return answer('patch', before, signal);
      return answer('patch', write(ref.kind, changed), signal);
    },
    create: async ({ kind, namespace }, object, signal) => {
      await enter('create', signal);
      const placed = {
        ...object,
        metadata: { ...object.metadata, ...(namespace === undefined ? {} : { namespace }) },
      };
      const ref = { kind, ...placeOf(placed) };
      if (objects.has(keyOf(ref))) {
        throw kubeFailure('kube.conflict', `${ref.name}: there is one already`);
      }
      writes.push({ verb: 'create', ...said(ref), body: placed });
      return answer('create', store(kind, placed), signal);
    },
    replace: async (ref, object, { subresource, signal }) => {
      await enter('replace', signal);
      const before = present(ref);
      const expected = object.metadata.resourceVersion;
      if (expected !== undefined && expected !== before.metadata.resourceVersion) {
        throw kubeFailure('kube.conflict', `${ref.name}: it was changed by another`);
      }
      writes.push({
        verb: 'replace',
        ...said(ref),
        ...(subresource === undefined ? {} : { subresource }),
        body: object,
      });
      const { plural } = ref.kind;
      const next = written(before, object, { plural, subresource });
      return answer('replace', write(ref.kind, next), signal);
    },
    apply: async (manifest, signal, { manager = 'bootwright', subresource } = {}) => {
      await enter('apply', signal);
      const { ref, placed } = placedManifest(manifest, kinds);
      const old = objects.get(keyOf(ref));
      requireSame(old, { placed, subresource });
      const own = brought(placed, { plural: ref.kind.plural, subresource });
      const key = keyOf(ref);
      if (old === undefined) manifests.delete(key);
      const change = changeOf(manifests.get(key) ?? [], { manager, subresource, manifest: own });
      const next = applied(old, change);
      const part = subresource === undefined ? {} : { subresource };
      writes.push({ verb: 'apply', ...said(ref), ...part, body: placed });
      manifests.set(key, [...change.others.map(ownedIn(next)), change.own]);
      const isSame = old !== undefined && isDeepStrictEqual(next, old);
      return answer('apply', isSame ? old : store(ref.kind, next), signal);
    },
    remove: async (ref, signal) => {
      await enter('remove', signal);
      const object = objects.get(keyOf(ref));
      if (object !== undefined) {
        if (ref.uid !== undefined && object.metadata.uid !== ref.uid)
          throw kubeFailure('kube.conflict', `${ref.name}: another uid`);
        writes.push({ verb: 'remove', ...said(ref) });
        end(ref.kind, object);
      }
      await answer('remove', undefined, signal);
    },
    evict: async ({ namespace, name, uid }, signal) => {
      await enter('evict', signal);
      const ref = { kind: podKind, namespace, name };
      const pod = objects.get(keyOf(ref));
      if (pod === undefined) return;
      if (pod.metadata.uid !== uid) throw kubeFailure('kube.conflict', `${name}: another uid`);
      const refused = budgets.get(name);
      if (refused !== undefined) throw kubeFailure('kube.disruption-budget', refused);
      writes.push({ verb: 'evict', ...said(ref) });
      end(podKind, pod);
      await answer('evict', undefined, signal);
    },
    podLog: async ({ name, container }, _since, signal) => {
      await enter('get', signal);
      const text = logs.get(container === undefined ? name : `${name}/${container}`);
      if (text === undefined) throw kubeFailure('kube.not-found', `${name}: there is no log`);
      return text;
    },
  };
  return fake;
}

/** Refuses to create a deleted object again by a manifest with its uid, or by its subresource. */
function requireSame(
  old: KubeObject | undefined,
  {
    placed,
    subresource,
  }: { readonly placed: KubeObject; readonly subresource: string | undefined },
): void {
  const { name, uid } = placed.metadata;
  if (uid !== undefined && uid !== old?.metadata.uid)
    throw kubeFailure('kube.conflict', `${name}: uid mismatch`);
  if (subresource !== undefined && old === undefined)
    throw kubeFailure('kube.not-found', `${name}: not found`);
}

/** The last manifest of a manager, and the manifests of others. */
const changeOf = (all: readonly AppliedManifest[], own: AppliedManifest) => {
  const isMine = (one: AppliedManifest): boolean =>
    one.manager === own.manager && one.subresource === own.subresource;
  const before = all.find(isMine)?.manifest;
  return { own, before, manifest: own.manifest, others: all.filter((one) => !isMine(one)) };
};

const ownedIn =
  (next: KubeObject) =>
  (one: AppliedManifest): AppliedManifest => ({
    ...one,
    manifest: stillOwned(one.manifest, next) as KubeObject,
  });

const nodeOf = (pod: KubeObject): string => textIn(pod, 'spec', 'nodeName');

const isDeleting = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

const finalizersOf = ({ metadata }: KubeObject): readonly string[] =>
  (metadata as { readonly finalizers?: readonly string[] }).finalizers ?? [];

/** The server itself removes these finalizers when owned objects are deleted in the background. */
const ofCollector = ['foregroundDeletion', 'orphan'];

/**
 * Whether the kubelet of a node has to end the pod first (kubernetes, `pkg/registry/core/pod`,
 * `CheckGracefulDelete`).
 */
const isOnNode = ({ plural }: KubeKind, pod: KubeObject): boolean => {
  const grace = partAt(pod, 'spec', 'terminationGracePeriodSeconds');
  return plural === 'pods' && nodeOf(pod) !== '' && grace !== 0 && !isOver(pod);
};

const groupOf = ({ group, version, plural }: KubeKind): string => `${group}|${version}|${plural}`;

const keyOf = ({ kind, namespace, name }: KubeRef): string =>
  `${groupOf(kind)}/${namespace ?? ''}/${name}`;

const placeOf = ({ metadata: { name, namespace } }: KubeObject): Omit<KubeRef, 'kind'> => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

const said = ({
  kind,
  name,
  namespace,
}: KubeRef): Pick<KubeWrite, 'kind' | 'name' | 'namespace'> => ({
  kind: kind.plural,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

/**
 * The selectors that the product uses: `key`, `!key`, `key=value`, `metadata.name=value`,
 * `spec.nodeName=value`.
 */
function isSelected(
  object: KubeObject,
  {
    labelSelector = '',
    fieldSelector = '',
  }: Pick<KubeSelection, 'labelSelector' | 'fieldSelector'>,
): boolean {
  const { metadata } = object;
  const { spec } = object as { readonly spec?: { readonly nodeName?: string } };
  const terms = (text: string): readonly string[] => text.split(',').filter((term) => term !== '');
  const labels = terms(labelSelector).every((term) => {
    if (term.startsWith('!')) return metadata.labels?.[term.slice(1)] === undefined;
    const [key = '', value] = term.split('=');
    const label = metadata.labels?.[key];
    return value === undefined ? label !== undefined : label === value;
  });
  const known = [`metadata.name=${metadata.name}`, `spec.nodeName=${spec?.nodeName ?? ''}`];
  const fields = terms(fieldSelector).every((term) => known.includes(term));
  return labels && fields;
}

/** An object as the API server returns it (apimachinery, `PartialObjectMetadata`). */
const readAs = ({ isMetadataOnly }: KubeKind, object: KubeObject): KubeObject =>
  isMetadataOnly === true
    ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: object.metadata }
    : object;

/** A kind in manifests, as the API server serves it. */
interface ServedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

/** Kinds that every new OpenShift cluster serves, and the kinds of OLM that manifests use. */
const servedAtFirst: readonly ServedKind[] = [
  ...served('v1', false, { Namespace: 'namespaces', Node: 'nodes' }),
  ...served('v1', true, {
    ConfigMap: 'configmaps',
    Event: 'events',
    Pod: 'pods',
    Secret: 'secrets',
    Service: 'services',
    ServiceAccount: 'serviceaccounts',
  }),
  ...served('apps/v1', true, { DaemonSet: 'daemonsets', Deployment: 'deployments' }),
  ...served('batch/v1', true, { Job: 'jobs' }),
  ...served('rbac.authorization.k8s.io/v1', false, {
    ClusterRole: 'clusterroles',
    ClusterRoleBinding: 'clusterrolebindings',
  }),
  ...served('rbac.authorization.k8s.io/v1', true, { Role: 'roles', RoleBinding: 'rolebindings' }),
  ...served('coordination.k8s.io/v1', true, { Lease: 'leases' }),
  ...served('operators.coreos.com/v1', true, { OperatorGroup: 'operatorgroups' }),
  ...served('operators.coreos.com/v1alpha1', true, {
    ClusterServiceVersion: 'clusterserviceversions',
    Subscription: 'subscriptions',
  }),
];

function served(
  apiVersion: string,
  isNamespaced: boolean,
  kinds: Readonly<Record<string, string>>,
): readonly ServedKind[] {
  return Object.entries(kinds).map(([kind, plural]) => ({
    apiVersion,
    kind,
    plural,
    isNamespaced,
  }));
}

/** The place of a manifest, and the manifest with its namespace. */
function placedManifest(
  manifest: KubeObject,
  kinds: readonly ServedKind[],
): { readonly ref: KubeRef; readonly placed: KubeObject } {
  const { apiVersion, kind } = manifest;
  const metadata = Object(manifest.metadata) as Partial<KubeObject['metadata']>;
  const { name } = metadata;
  if (!apiVersion || !kind || !name) throw kubeFailure('kube.invalid', 'an incomplete manifest');
  const found = kinds.find((one) => one.apiVersion === apiVersion && one.kind === kind);
  if (found === undefined) throw kubeFailure('kube.not-found', `no ${kind} of ${apiVersion}`);
  const words = apiVersion.split('/');
  const [group = '', version = ''] = words.length === 1 ? ['', ...words] : words;
  const namespace = found.isNamespaced ? (metadata.namespace ?? 'default') : undefined;
  const place = { name, ...(namespace === undefined ? {} : { namespace }) };
  const { namespace: _, ...others } = metadata;
  return {
    ref: { kind: { group, version, plural: found.plural }, ...place },
    placed: { ...manifest, metadata: { ...others, ...place } },
  };
}

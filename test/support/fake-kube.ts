import { isDeepStrictEqual } from 'node:util';
import { kubeFailure } from '../../src/ports/kube-failures.ts';
import type {
  Kube,
  KubeKind,
  KubeObject,
  KubeRef,
  KubeSelection,
  KubeView,
} from '../../src/ports/kube.ts';
import type { AgentError } from '../../src/model/failure.ts';
import { applied, patched } from './kube-changes.ts';
import { placedManifest, type ServedKind, servedAtFirst } from './served-kinds.ts';

/** A write as it was received. */
interface KubeWrite {
  readonly verb: 'patch' | 'create' | 'replace' | 'apply' | 'remove' | 'removeAll' | 'evict';
  readonly kind: string;
  /** Of one object. */
  readonly name?: string;
  readonly labelSelector?: string;
  readonly namespace?: string;
  readonly subresource?: string;
  readonly body?: unknown;
}

/** A cluster in memory. */
export interface FakeKube extends Kube {
  /** Puts an object there as the cluster itself would, new or changed; who follows sees it. */
  readonly put: (kind: KubeKind, object: KubeObject) => FakeKube;
  /** Takes an object away as the cluster itself would. */
  readonly drop: (ref: KubeRef) => FakeKube;
  /** What is there now. */
  readonly objectsOf: (kind: KubeKind) => readonly KubeObject[];
  readonly writes: readonly KubeWrite[];
  /** Every further call fails with this, and who follows sees it, until it is undefined. */
  readonly lastError: (error: AgentError | undefined) => FakeKube;
  /** The log of a pod's only container, or of one as `POD/CONTAINER`. */
  readonly withPodLog: (name: string, text: string) => FakeKube;
  /** Refuses the eviction of a pod as a budget does, with its message, until that is undefined. */
  readonly withBudget: (pod: string, message: string | undefined) => FakeKube;
  /** Serves one more kind of manifests, as a cluster does when its definition is there. */
  readonly serves: (served: ServedKind) => FakeKube;
}

/** An API server that holds what a test puts there. */
export function fakeKube(): FakeKube {
  const objects = new Map<string, KubeObject>();
  const followers = new Set<() => void>();
  const logs = new Map<string, string>();
  const budgets = new Map<string, string | undefined>();
  const manifests = new Map<string, KubeObject>();
  const served = [...servedAtFirst];
  const writes: KubeWrite[] = [];
  let lastError: AgentError | undefined;
  let version = 1;

  const notify = (): void => {
    for (const follower of followers) follower();
  };
  const enter = async (signal: AbortSignal): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
    if (lastError !== undefined) throw lastError;
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
    notify();
    return kept;
  };
  const selected = ({ kind, namespace, ...selectors }: KubeSelection): readonly KubeObject[] =>
    [...objects]
      .filter(([key]) => key.startsWith(`${groupOf(kind)}/`))
      .map(([, object]) => object)
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
      served.push(one);
      return fake;
    },
    get: async (ref, signal) => {
      await enter(signal);
      return objects.get(keyOf(ref));
    },
    list: async (selection, signal) => {
      await enter(signal);
      return selected(selection);
    },
    follow: (selection, seen, signal) => {
      let last: readonly KubeObject[] | undefined;
      let shown: string | undefined;
      const read = (): void => {
        if (lastError === undefined) last = selected(selection);
        const view: KubeView = { isSynced: last !== undefined, objects: last ?? [] };
        const news = [last?.map(versionOf) ?? 'none', lastError?.message ?? ''].join();
        if (news === shown) return;
        shown = news;
        seen(lastError === undefined ? view : { ...view, lastError });
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
      await enter(signal);
      const before = present(ref);
      const { metadata } = Object(patch.body) as { readonly metadata?: KubeObject['metadata'] };
      const expected = metadata?.resourceVersion ?? before.metadata.resourceVersion;
      if (expected !== before.metadata.resourceVersion) {
        throw kubeFailure('kube.conflict', `${ref.name}: it was changed by another`);
      }
      const changed = patched(before, patch);
      writes.push({
        verb: 'patch',
        ...said(ref),
        ...(patch.subresource === undefined ? {} : { subresource: patch.subresource }),
        body: patch.body,
      });
      return store(ref.kind, changed);
    },
    create: async ({ kind, namespace }, object, signal) => {
      await enter(signal);
      const placed = {
        ...object,
        metadata: { ...object.metadata, ...(namespace === undefined ? {} : { namespace }) },
      };
      const ref = { kind, ...placeOf(placed) };
      if (objects.has(keyOf(ref))) {
        throw kubeFailure('kube.conflict', `${ref.name}: there is one already`);
      }
      writes.push({ verb: 'create', ...said(ref), body: placed });
      return store(kind, placed);
    },
    replace: async (ref, object, { subresource, signal }) => {
      await enter(signal);
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
      return store(ref.kind, object);
    },
    apply: async (manifest, signal) => {
      await enter(signal);
      const { ref, placed } = placedManifest(manifest, served);
      const [key, old] = [keyOf(ref), objects.get(keyOf(ref))];
      const next = applied(old, { before: manifests.get(key), manifest: placed });
      writes.push({ verb: 'apply', ...said(ref), body: placed });
      manifests.set(key, placed);
      if (old !== undefined && isDeepStrictEqual(next, old)) return old;
      return store(ref.kind, next);
    },
    remove: async (ref, signal) => {
      await enter(signal);
      if (objects.has(keyOf(ref))) writes.push({ verb: 'remove', ...said(ref) });
      objects.delete(keyOf(ref));
      notify();
    },
    removeAll: async (selection, signal) => {
      await enter(signal);
      const { kind, fieldSelector: _, ...rest } = selection;
      writes.push({ verb: 'removeAll', kind: kind.plural, ...rest });
      for (const object of selected(selection)) objects.delete(keyOf({ kind, ...placeOf(object) }));
      notify();
    },
    // A real pod ends in its own time: here it is only marked, and a test takes it away.
    evict: async ({ namespace, name, uid }, signal) => {
      await enter(signal);
      const ref = { kind: { group: '', version: 'v1', plural: 'pods' }, namespace, name };
      const pod = objects.get(keyOf(ref));
      if (pod === undefined) return;
      if (pod.metadata.uid !== uid) throw kubeFailure('kube.conflict', `${name}: another uid`);
      const refused = budgets.get(name);
      if (refused !== undefined) throw kubeFailure('kube.disruption-budget', refused);
      writes.push({ verb: 'evict', ...said(ref) });
      const deletionTimestamp = '2026-01-01T00:00:00Z';
      store(ref.kind, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
    },
    podLog: async ({ name, container }, _since, signal) => {
      await enter(signal);
      const text = logs.get(container === undefined ? name : `${name}/${container}`);
      if (text === undefined) throw kubeFailure('kube.not-found', `${name}: there is no log`);
      return text;
    },
  };
  return fake;
}

const groupOf = ({ group, version, plural }: KubeKind): string => `${group}|${version}|${plural}`;

const keyOf = ({ kind, namespace, name }: KubeRef): string =>
  `${groupOf(kind)}/${namespace ?? ''}/${name}`;

const versionOf = ({ metadata }: KubeObject): string =>
  `${metadata.name}@${metadata.resourceVersion}`;

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

/** The selectors that the product uses: `key`, `!key`, `key=value`, `metadata.name=value`, `spec.nodeName=value`. */
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

import type { Millis } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';
import { gapIn } from '../ports/kube-failures.ts';
import type { Kube, KubeObject, KubeSelection, KubeView } from '../ports/kube.ts';

/** An object before and after a change; one of the two is missing where it has come or gone. */
export interface Change {
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

/** Why a store may be out of date, and since when. */
export interface Gap {
  /** In words that stay the same as long as the cause does. */
  readonly reason: string;
  /** By the clock that nobody sets. */
  readonly since: Millis;
}

/** Values by which an object is found again. */
type IndexOf = (object: KubeObject) => readonly string[];

/** The objects of one selection as they were last seen, found by their names and by indexes. Reading it asks nobody. */
export interface Informer<Index extends string = never> {
  readonly get: (name: string, namespace?: string) => KubeObject | undefined;
  /** In the order of their names. */
  readonly all: () => readonly KubeObject[];
  /** Those that an index has under a value, in the order of their names. */
  readonly by: (index: Index, value: string) => readonly KubeObject[];
  /** Undefined while it is up to date. The objects that were seen before stay throughout a gap. */
  readonly gap: () => Gap | undefined;
  /** Computes an index again, whose function reads something else than the object. */
  readonly reindex: (index: Index) => void;
  /** Called after each change of an object, also with what has come or gone during a gap. */
  readonly onChange: (handler: (change: Change) => void) => void;
  /** Called when a gap begins, ends, or has another reason. */
  readonly onGap: (handler: () => void) => void;
  /** Follows the selection until the signal aborts; then resolves. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** What an informer asks and whose time it takes. */
interface InformerPorts {
  readonly kube: Pick<Kube, 'follow'>;
  readonly clock: Pick<Clock, 'elapsed'>;
}

/** Follows a selection into a store. */
export function informer<Index extends string = never>(
  { kube, clock }: InformerPorts,
  selection: KubeSelection,
  indexes: Readonly<Record<Index, IndexOf>> = {} as Readonly<Record<Index, IndexOf>>,
): Informer<Index> {
  const tables = new Map(
    Object.entries<IndexOf>(indexes).map(([name, valuesOf]) => [name, indexTable(valuesOf)]),
  );
  const changed: ((change: Change) => void)[] = [];
  const gapChanged: (() => void)[] = [];
  const objects = new Map<string, KubeObject>();
  let latest: readonly KubeObject[] = [];
  const unlisted = gapIn({ isSynced: false, objects: [] }) ?? '';
  let gap: Gap | undefined = { reason: unlisted, since: clock.elapsed() };

  const enter = ({ before, after }: Change): void => {
    const object = after ?? before;
    if (object === undefined) return;
    const key = keyOf(object.metadata);
    if (after === undefined) objects.delete(key);
    else objects.set(key, after);
    for (const table of tables.values()) table.change(key, after);
  };
  const take = (view: KubeView): void => {
    const changes = changesBetween({ objects, latest }, view.objects);
    for (const change of changes) enter(change);
    latest = view.objects;
    for (const change of changes) for (const handler of changed) handler(change);
  };
  const mind = (reason: string | undefined): void => {
    if (reason === gap?.reason) return;
    gap = reason === undefined ? undefined : { reason, since: gap?.since ?? clock.elapsed() };
    for (const handler of gapChanged) handler();
  };
  return {
    get: (name, namespace) =>
      objects.get(keyOf(namespace === undefined ? { name } : { name, namespace })),
    all: () => latest,
    by: (index, value) => tables.get(index)?.get(value) ?? [],
    gap: () => gap,
    reindex: (index) => {
      const table = indexTable(indexes[index]);
      for (const after of latest) table.change(keyOf(after.metadata), after);
      tables.set(index, table);
    },
    onChange: (handler) => void changed.push(handler),
    onGap: (handler) => void gapChanged.push(handler),
    run: async (signal) => {
      const seen = (view: KubeView): void => {
        // A kind that is no longer served has no objects to show: what was seen of it stays.
        if (view.isSynced) take(view);
        mind(gapIn(view));
      };
      await kube.follow(selection, seen, signal);
    },
  };
}

interface Known {
  readonly objects: ReadonlyMap<string, KubeObject>;
  readonly latest: readonly KubeObject[];
}

/** Most views differ in one object from the one before: then the lists are compared, and nothing is looked up. */
function changesBetween(
  { objects, latest }: Known,
  next: readonly KubeObject[],
): readonly Change[] {
  const after = latest.length === next.length ? next.filter((one, at) => one !== latest[at]) : next;
  const changes = after.flatMap((object): readonly Change[] => {
    const before = objects.get(keyOf(object.metadata));
    return before !== undefined && isSame(before, object) ? [] : [{ before, after: object }];
  });
  const come = changes.filter(({ before }) => before === undefined).length;
  if (next.length - come === objects.size) return changes;
  const names = new Set(next.map(({ metadata }) => keyOf(metadata)));
  const gone = [...objects].filter(([key]) => !names.has(key));
  return [...gone.map(([, before]) => ({ before, after: undefined })), ...changes];
}

const isSame = (one: KubeObject, other: KubeObject): boolean =>
  one === other ||
  (one.metadata.uid === other.metadata.uid &&
    one.metadata.resourceVersion !== undefined &&
    one.metadata.resourceVersion === other.metadata.resourceVersion);

/** No name holds a space, so names come before namespaces in the order. */
const keyOf = ({ name, namespace }: Pick<KubeObject['metadata'], 'name' | 'namespace'>): string =>
  namespace === undefined ? name : `${name} ${namespace}`;

/** The objects by the values of one index. */
interface IndexTable {
  readonly get: (value: string) => readonly KubeObject[];
  /** Takes the object of a key as it is now; undefined for one that is gone. */
  readonly change: (key: string, after: KubeObject | undefined) => void;
}

/** The objects of one value. What is derived is missing until it is asked for. */
interface Bucket {
  readonly objects: Map<string, KubeObject>;
  /** Their keys in order; an object that changes keeps its place. */
  order?: readonly string[];
  sorted?: readonly KubeObject[];
}

function indexTable(valuesOf: IndexOf): IndexTable {
  const buckets = new Map<string, Bucket>();
  const valuesByKey = new Map<string, readonly string[]>();
  const drop = (key: string, value: string): void => {
    const bucket = buckets.get(value);
    bucket?.objects.delete(key);
    delete bucket?.order;
    delete bucket?.sorted;
    if (bucket?.objects.size === 0) buckets.delete(value);
  };
  const put = (key: string, value: string, object: KubeObject): void => {
    const bucket = buckets.get(value) ?? { objects: new Map<string, KubeObject>() };
    if (!bucket.objects.has(key)) delete bucket.order;
    delete bucket.sorted;
    bucket.objects.set(key, object);
    buckets.set(value, bucket);
  };
  return {
    get: (value) => {
      const bucket = buckets.get(value);
      if (bucket === undefined) return [];
      const { objects } = bucket;
      bucket.order ??= [...objects.keys()].sort();
      return (bucket.sorted ??= bucket.order.flatMap((key) => objects.get(key) ?? []));
    },
    change: (key, after) => {
      const values = after === undefined ? [] : valuesOf(after);
      for (const value of valuesByKey.get(key) ?? []) {
        if (!values.includes(value)) drop(key, value);
      }
      if (after !== undefined) for (const value of values) put(key, value, after);
      if (values.length > 0) valuesByKey.set(key, values);
      else valuesByKey.delete(key);
    },
  };
}

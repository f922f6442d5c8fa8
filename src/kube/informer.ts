import { SortedMap } from '../lib/sorted-map.ts';
import type { Millis } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';
import { gapIn } from '../ports/kube-failures.ts';
import {
  type Kube,
  type KubeChange,
  type KubeObject,
  objectKey,
  type KubeSelection,
  type KubeView,
} from '../ports/kube.ts';

/** Reason and start of a time in which a store may be out of date. */
export interface Gap {
  /** The text stays the same while the cause does. */
  readonly reason: string;
  /** On the monotonic clock. */
  readonly since: Millis;
}

/** Returns the index values of an object. */
type IndexOf = (object: KubeObject) => readonly string[];

/** The last seen objects of one selection, by name and by index. Reads send no request. */
export interface Informer<Index extends string = never> {
  readonly get: (name: string, namespace?: string) => KubeObject | undefined;
  /** Sorted by name. */
  readonly all: () => readonly KubeObject[];
  /** Objects with a value in an index, sorted by name. */
  readonly by: (index: Index, value: string) => readonly KubeObject[];
  /** Undefined while the store is up to date. The objects seen before stay throughout a gap. */
  readonly gap: () => Gap | undefined;
  /** Recomputes an index whose function reads more than the object. */
  readonly reindex: (index: Index) => void;
  /**
   * Called after each change of an object, also for objects that were created or deleted during a
   * gap.
   */
  readonly onChange: (handler: (change: KubeChange) => void) => void;
  /** Called when a gap begins, ends, or changes its reason. */
  readonly onGap: (handler: () => void) => void;
  /** Follows the selection until the signal aborts; then resolves. Called once. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Creates an informer that follows a selection. */
export function informer<Index extends string = never>(
  { kube, clock }: { readonly kube: Pick<Kube, 'follow'>; readonly clock: Pick<Clock, 'elapsed'> },
  selection: KubeSelection,
  indexes: Readonly<Record<Index, IndexOf>> = {} as Readonly<Record<Index, IndexOf>>,
): Informer<Index> {
  const tables = new Map(
    Object.entries<IndexOf>(indexes).map(([name, valuesOf]) => [name, indexTable(valuesOf)]),
  );
  const changed: ((change: KubeChange) => void)[] = [];
  const gapChanged: (() => void)[] = [];
  const objects = new SortedMap<KubeObject>();
  let isListed = false;
  const unlisted = gapIn({ isSynced: false }) ?? '';
  let gap: Gap | undefined = { reason: unlisted, since: clock.elapsed() };

  const enter = ({ before, after }: KubeChange): void => {
    const object = after ?? before;
    if (object === undefined) return;
    const key = objectKey(object.metadata);
    if (after === undefined) objects.delete(key);
    else objects.set(key, after);
    for (const table of tables.values()) table.change(key, after);
  };
  const take = (view: KubeView): void => {
    const all = (): readonly KubeChange[] =>
      view.objects.map((after) => ({ before: undefined, after }));
    const changes = isListed ? view.changes : all();
    isListed = true;
    for (const change of changes) enter(change);
    for (const change of changes) for (const handler of changed) handler(change);
  };
  const mind = (reason: string | undefined): void => {
    if (reason === gap?.reason) return;
    gap = reason === undefined ? undefined : { reason, since: gap?.since ?? clock.elapsed() };
    for (const handler of gapChanged) handler();
  };
  return {
    get: (name, namespace) => objects.get(objectKey({ name, namespace })),
    all: () => objects.list(),
    by: (index, value) => tables.get(index)?.get(value) ?? [],
    gap: () => gap,
    reindex: (index) => {
      const table = indexTable(indexes[index]);
      for (const [key, after] of objects) table.change(key, after);
      tables.set(index, table);
    },
    onChange: (handler) => void changed.push(handler),
    onGap: (handler) => void gapChanged.push(handler),
    run: async (signal) => {
      const seen = (view: KubeView): void => {
        // A kind that is no longer served has no objects to show: the objects seen before stay.
        if (view.isSynced) take(view);
        const isServed = view.isSynced || view.lastError !== undefined;
        mind(isServed ? gapIn(view) : `the API server does not serve ${selection.kind.plural}`);
      };
      await kube.follow(selection, seen, signal);
    },
  };
}

/** The objects by their values in one index. */
function indexTable(valuesOf: IndexOf) {
  const buckets = new Map<string, SortedMap<KubeObject>>();
  const valuesByKey = new Map<string, readonly string[]>();
  return {
    get: (value: string): readonly KubeObject[] => buckets.get(value)?.list() ?? [],
    /** Sets the object of a key; undefined for a deleted object. */
    change: (key: string, after: KubeObject | undefined): void => {
      const values = after === undefined ? [] : valuesOf(after);
      for (const value of valuesByKey.get(key) ?? []) {
        if (values.includes(value)) continue;
        const bucket = buckets.get(value);
        bucket?.delete(key);
        if (bucket?.size === 0) buckets.delete(value);
      }
      for (const value of values) {
        const bucket = buckets.get(value) ?? new SortedMap();
        if (after !== undefined) buckets.set(value, bucket.set(key, after));
      }
      if (values.length > 0) valuesByKey.set(key, values);
      else valuesByKey.delete(key);
    },
  };
}

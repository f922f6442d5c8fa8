import type { AgentError } from '../../model/failure.ts';
import type { KubeObject, KubeView } from '../../ports/kube.ts';

/** The objects of a selection, kept up to date. */
export interface KeptView {
  /** Puts all objects in the place of those that were kept; whether anything changed by that. */
  readonly replace: (objects: readonly KubeObject[]) => boolean;
  readonly put: (object: KubeObject) => void;
  readonly drop: (object: KubeObject) => void;
  /** Forgets everything, as before the first list. */
  readonly forget: () => void;
  readonly isSynced: () => boolean;
  /** The objects now, in the order of their names; later changes do not reach it. */
  readonly show: (trouble: AgentError | undefined) => KubeView;
}

/** An empty view, not synced yet. */
export function keptView(): KeptView {
  let objects = new Map<string, KubeObject>();
  let order: readonly string[] | undefined;
  let isSynced = false;
  const sorted = (): readonly string[] => (order ??= [...objects.keys()].sort());
  const replace = (all: readonly KubeObject[]): boolean => {
    const next = new Map(all.map((object) => [keyOf(object), object]));
    const isSame =
      isSynced &&
      next.size === objects.size &&
      [...next].every(([key, object]) => versionOf(objects.get(key)) === versionOf(object));
    objects = next;
    order = undefined;
    isSynced = true;
    return !isSame;
  };
  return {
    replace,
    put: (object) => {
      const key = keyOf(object);
      if (!objects.has(key)) order = undefined;
      objects.set(key, object);
    },
    drop: (object) => {
      if (objects.delete(keyOf(object))) order = undefined;
    },
    forget: () => {
      objects = new Map();
      order = undefined;
      isSynced = false;
    },
    isSynced: () => isSynced,
    show: (trouble) => ({
      isSynced,
      objects: sorted().flatMap((key) => objects.get(key) ?? []),
      ...(trouble === undefined ? {} : { trouble }),
    }),
  };
}

/** No name holds a space, so names come before namespaces in the order. */
const keyOf = ({ metadata }: KubeObject): string => `${metadata.name} ${metadata.namespace ?? ''}`;

const versionOf = (object: KubeObject | undefined): string =>
  object === undefined
    ? 'none'
    : `${object.metadata.uid ?? ''} ${object.metadata.resourceVersion ?? ''}`;

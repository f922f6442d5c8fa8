import type { Listing } from './list.ts';
import type { WatchEvent } from './watch.ts';
import type { AgentError } from '../../model/failure.ts';
import type { KubeObject, KubeView } from '../../ports/kube.ts';

/** An event that changes the view, or the point of history at least. */
type ViewEvent = Exclude<WatchEvent, { readonly type: 'error' }>;

/** What is known of a selection that is followed; each change of it is shown to `seen`. */
export interface Followed {
  /** Where a watch goes on; undefined when a list is needed first. */
  readonly version: () => string | undefined;
  readonly listed: (listing: Listing) => void;
  readonly happened: (event: ViewEvent) => void;
  /** The history is lost; what was seen stays until the next list. */
  readonly lose: () => void;
  /** The kind is not served: an empty view that is not synced. */
  readonly missing: () => void;
  /** The server cannot be reached, or answers again (undefined). */
  readonly lastError: (lastError: AgentError | undefined) => void;
}

/** Nothing is known yet, and nothing is shown before something is. */
export function followed(seen: (view: KubeView) => void): Followed {
  const view = keptView();
  let version: string | undefined;
  let lastError: AgentError | undefined;
  let isShown = false;
  const show = (): void => {
    isShown = true;
    seen(view.show(lastError));
  };
  return {
    version: () => version,
    listed: (listing) => {
      version = listing.version;
      const hadError = lastError !== undefined;
      lastError = undefined;
      if (view.replace(listing.objects) || hadError) show();
    },
    happened: (event) => {
      if (event.type === 'bookmark') {
        if (event.version !== '') version = event.version;
        return;
      }
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type === 'put') view.put(event.object);
      else view.drop(event.object);
      show();
    },
    lose: () => {
      version = undefined;
    },
    missing: () => {
      const isNews = view.isSynced() || lastError !== undefined || !isShown;
      version = undefined;
      lastError = undefined;
      view.forget();
      if (isNews) show();
    },
    lastError: (now) => {
      if (now?.code === lastError?.code && now?.message === lastError?.message) return;
      lastError = now;
      show();
    },
  };
}

/** The objects of a selection, kept up to date. */
interface KeptView {
  /** Puts all objects in the place of those that were kept; whether anything changed by that. */
  readonly replace: (objects: readonly KubeObject[]) => boolean;
  readonly put: (object: KubeObject) => void;
  readonly drop: (object: KubeObject) => void;
  /** Forgets everything, as before the first list. */
  readonly forget: () => void;
  readonly isSynced: () => boolean;
  /** The objects now, in the order of their names; later changes do not reach it. */
  readonly show: (lastError: AgentError | undefined) => KubeView;
}

/** An empty view, not synced yet. */
function keptView(): KeptView {
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
    show: (lastError) => ({
      isSynced,
      objects: sorted().flatMap((key) => objects.get(key) ?? []),
      ...(lastError === undefined ? {} : { lastError }),
    }),
  };
}

/** No name holds a space, so names come before namespaces in the order. */
const keyOf = ({ metadata }: KubeObject): string => `${metadata.name} ${metadata.namespace ?? ''}`;

const versionOf = (object: KubeObject | undefined): string =>
  object === undefined
    ? 'none'
    : `${object.metadata.uid ?? ''} ${object.metadata.resourceVersion ?? ''}`;

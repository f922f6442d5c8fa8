import { type Millis, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { KubeObject, KubeSelection, KubeView } from '../../ports/kube.ts';
import type { ApiError } from './api-error.ts';
import {
  acceptOf,
  type ApiServer,
  isApiError,
  type KubeTimeouts,
  objectPath,
} from './api-server.ts';
import { type Cluster, type Pauses, pauses } from './call.ts';
import { type Keep, listAll, type Listing, readObject } from './list.ts';
import { type WatchEvent, watchOnce } from './watch.ts';

/** What is followed, and who sees it. */
export interface Following {
  readonly selection: KubeSelection;
  readonly timeouts: KubeTimeouts;
  readonly seen: (view: KubeView) => void;
  readonly keep: Keep;
}

/** Where the server forbids to watch, the selection is listed this often. */
const listInterval: Millis = seconds(30);

/** A watch that ends sooner than this, with nothing said, is not asked for again at once. */
const shortest: Millis = seconds(1);

/**
 * List, then watch, until the signal aborts; see `Kube.follow`. No answer ends it: who waits decides
 * for how long.
 * @throws AgentError `kube.bad-credentials`; whatever `seen` throws
 */
export async function follow(
  cluster: Cluster,
  following: Following,
  signal: AbortSignal,
): Promise<void> {
  const course: Course = {
    ...cluster,
    following,
    signal,
    known: followed(following.seen),
    pace: pauses(cluster.random),
    absence: pauses(cluster.random, following.timeouts.missing),
    isHealthy: false,
    losses: 0,
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      const pause = await round(course).catch((error: unknown) => afterError(course, error));
      if (pause > 0) await cluster.clock.sleep(pause, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface Course extends Cluster {
  readonly following: Following;
  readonly signal: AbortSignal;
  readonly known: Followed;
  readonly pace: Pauses;
  /** Of a kind that is not served. */
  readonly absence: Pauses;
  /** The server has answered since the last error. */
  isHealthy: boolean;
  /** How often history was lost since something was heard. */
  losses: number;
}

/** Lists where that is needed, and watches once. Resolves with the pause before the next round. */
async function round(course: Course): Promise<Millis> {
  const { session, clock, random, following, known, pace, signal } = course;
  const server = await session.server(signal);
  if (known.version() === undefined) {
    const listing = await listed(server, following, signal);
    known.listed(listing);
    course.absence.reset();
    answered(course);
  }
  const since = clock.elapsed();
  const heard = { isAlive: false };
  let rereading: Promise<void> | undefined;
  const reread = async (): Promise<void> => {
    const listing = await readOne(server, following, signal);
    if (!heard.isAlive && listing?.objects.length === 0) known.listed(listing);
  };
  const listener = {
    opened: () => {
      answered(course);
      // Without a list the watch shows what is there when it begins, and not that something has gone just before.
      if (known.version() === '') rereading = reread().catch(() => undefined);
    },
    happened: (event: Parameters<Followed['happened']>[0]) => {
      heard.isAlive = true;
      known.happened(event);
    },
  };
  const { watch, watchSpread } = following.timeouts;
  const timeouts = {
    ...following.timeouts,
    watch: watchSpread === 0 ? watch : random.between(watch, watch + watchSpread),
  };
  const request = { ...following, timeouts, clock, version: known.version() ?? '' };
  try {
    const end = await watchOnce(server, { request, listener }, signal);
    if (end === 'expired') return lost(course);
  } catch (error) {
    if (!isDenial(error)) throw error;
    known.lose();
    return listInterval;
  } finally {
    await rereading;
    if (known.version() === '') known.lose();
    if (clock.elapsed() - since >= shortest) heard.isAlive = true;
    if (heard.isAlive) pace.reset();
  }
  course.losses = 0;
  return heard.isAlive ? 0 : pace.next();
}

/** Where the server forbids to list, one object that is named may be read all the same. */
async function listed(
  server: ApiServer,
  following: Following,
  signal: AbortSignal,
): Promise<Listing> {
  try {
    return await listAll(server, following, signal);
  } catch (error) {
    const listing = isDenial(error) ? await readOne(server, following, signal) : undefined;
    if (listing === undefined) throw error;
    return listing;
  }
}

/** The one object that a selection names, as a list of no point in history; undefined where it names none. */
async function readOne(
  server: ApiServer,
  { selection, keep }: Following,
  signal: AbortSignal,
): Promise<Listing | undefined> {
  const name = /^metadata\.name=([^,]+)$/.exec(selection.fieldSelector ?? '')?.[1];
  if (name === undefined) return undefined;
  const path = objectPath({ ...selection, name });
  const object = await server
    .ask({ method: 'GET', path, ...acceptOf(selection.kind) }, signal, readObject)
    .catch(noneWhereItIsMissing);
  return { objects: object === undefined ? [] : [keep(object)], version: '' };
}

/** The first list after a loss comes at once. */
function lost(course: Course): Millis {
  course.known.lose();
  course.losses += 1;
  return course.losses === 1 ? 0 : course.pace.next();
}

function answered(course: Course): void {
  course.isHealthy = true;
  course.health.answered();
  course.known.lastError(undefined);
}

/** What an error means for the view, and the pause after it. @throws what another round cannot cure */
function afterError(course: Course, error: unknown): Millis {
  const { signal, session, known, health, pace } = course;
  signal.throwIfAborted();
  if (!isApiError(error)) throw error;
  if (isDenial(error)) {
    known.lastError(error.failure);
    return listInterval;
  }
  if (isMissing(error)) {
    known.missing();
    answered(course);
    return course.absence.next();
  }
  if (error.worth === 'list') known.lose();
  if (error.isAboutCredentials) session.doubt();
  // A watch that breaks, or a kept connection that has ended, is no trouble if the next one begins.
  if (course.isHealthy) {
    course.isHealthy = false;
  } else {
    health.failed(error.failure);
    known.lastError(error.failure);
  }
  return Math.max(pace.next(), error.notBefore);
}

/** A refusal that is not asked again; see `KubeOptions.denials`. */
const isDenial = (error: unknown): boolean =>
  isApiError(error) && error.failure.code === 'kube.denied' && error.worth === 'none';

/** A kind that is not served is answered without a Status object. */
function noneWhereItIsMissing(error: unknown): undefined {
  const isNone =
    isApiError(error) && isMissing(error) && error.failure.context['reason'] === 'NotFound';
  if (!isNone) throw error;
}

const isMissing = ({ failure }: ApiError): boolean => failure.code === 'kube.not-found';

/** An event that changes the view, or the point of history at least. */
type ViewEvent = Exclude<WatchEvent, { readonly type: 'error' }>;

/** What is known of a selection that is followed; each change of it is shown to `seen`. */
export interface Followed {
  /** Where a watch continues; undefined when a list is needed first. */
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
    const before = objects;
    let isSame = isSynced && all.length === before.size;
    objects = new Map();
    for (const object of all) {
      const key = keyOf(object);
      isSame &&= versionOf(before.get(key)) === versionOf(object);
      objects.set(key, object);
    }
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
const keyOf = ({ metadata: { name, namespace } }: KubeObject): string =>
  namespace === undefined ? name : `${name} ${namespace}`;

const versionOf = (object: KubeObject | undefined): string | undefined =>
  object && `${object.metadata.uid ?? ''} ${object.metadata.resourceVersion ?? ''}`;

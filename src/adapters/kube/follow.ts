import { type Millis, seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { SortedMap } from '../../lib/sorted-map.ts';
import {
  type KubeChange,
  type KubeObject,
  type KubeSelection,
  type KubeView,
  objectKey,
} from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
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

/** The selection to follow, and its receiver. */
export interface Following {
  readonly selection: KubeSelection;
  readonly timeouts: KubeTimeouts;
  readonly seen: (view: KubeView) => void;
  readonly keep: Keep;
}

/** Interval of lists if the server forbids to watch, or of reads if it forbids to list. */
const listInterval: Millis = seconds(30);

/** If a watch ends sooner than this without an event, the next one begins after a pause. */
const shortest: Millis = seconds(1);

/**
 * Lists, then watches, until the signal aborts; see `Kube.follow`. No answer ends it: the caller
 * decides how long to wait.
 * @throws AgentError `kube.bad-credentials`; the error of `seen`
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
  readonly known: KnownObjects;
  readonly pace: Pauses;
  /** Pauses for a kind that is not served. */
  readonly absence: Pauses;
  /** The server has answered since the last error. */
  isHealthy: boolean;
}

/** Lists if needed, and watches once. Resolves with the pause before the next round. */
async function round(course: Course): Promise<Millis> {
  const { session, clock, random, following, known, pace, signal } = course;
  const server = await session.server(signal);
  if (known.version() === undefined) {
    const listing = await listed(server, course);
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
      // Without a list, the watch shows the objects at its start, but not that an object has gone
      // just before.
      if (known.version() === '') rereading = reread().catch(() => undefined);
    },
    happened: (event: Parameters<KnownObjects['happened']>[0]) => {
      heard.isAlive = true;
      known.happened(event);
    },
  };
  const { watch, watchSpread } = following.timeouts;
  const timeouts = {
    ...following.timeouts,
    watch: watchSpread === 0 ? watch : random.between(watch, watch + watchSpread),
  };
  const watching = { ...following, ...listener, timeouts, clock, version: known.version() ?? '' };
  try {
    const end = await watchOnce(server, watching, signal);
    if (end === 'expired') {
      known.lose();
      return pace.next();
    }
  } catch (error) {
    if (!isDenial(course, error)) throw error;
    known.lose();
    return listInterval;
  } finally {
    await rereading;
    if (known.version() === '') known.lose();
    if (clock.elapsed() - since >= shortest) heard.isAlive = true;
    if (heard.isAlive) pace.reset();
  }
  return heard.isAlive ? 0 : pace.next();
}

/** If the server forbids to list, a single named object may still be readable. */
async function listed(server: ApiServer, course: Course): Promise<Listing> {
  const { following, signal } = course;
  try {
    return await listAll(server, following, signal);
  } catch (error) {
    const listing = isDenial(course, error) ? await readOne(server, following, signal) : undefined;
    if (listing === undefined) throw error;
    return listing;
  }
}

/**
 * The named object of a selection, as a list without a resourceVersion; undefined if the selection
 * names none.
 */
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

function answered(course: Course): void {
  course.isHealthy = true;
  course.health.answered();
  course.known.lastError(undefined);
}

/**
 * Updates the view after an error, and returns the pause. @throws an error that another round
 * cannot solve
 */
function afterError(course: Course, error: unknown): Millis {
  const { signal, session, known, health, pace } = course;
  signal.throwIfAborted();
  if (!isApiError(error)) throw error;
  if (isDenial(course, error)) {
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
  // A broken watch, or a closed idle connection, does no harm if the next one begins.
  if (course.isHealthy) {
    course.isHealthy = false;
  } else {
    health.failed(error.failure);
    known.lastError(error.failure);
  }
  return Math.max(pace.next(), error.notBefore);
}

/** Whether a refusal is final, rather than a failure of the server. */
const isDenial = ({ denials }: Pick<Cluster, 'denials'>, error: unknown): boolean =>
  denials === 'final' && isApiError(error) && isForbidden(error.failure);

/** For a kind that is not served, the server answers without a Status object. */
function noneWhereItIsMissing(error: unknown): undefined {
  const isNone =
    isApiError(error) && isMissing(error) && error.failure.context['reason'] === 'NotFound';
  if (!isNone) throw error;
}

const isMissing = ({ failure }: ApiError): boolean => failure.code === 'kube.not-found';

/** The known objects of a followed selection; each change is passed to `seen`. */
export interface KnownObjects {
  /** resourceVersion from which a watch continues; undefined if a list is needed first. */
  readonly version: () => string | undefined;
  readonly listed: (listing: Listing) => void;
  /** An event that changes the view, or at least the resourceVersion. */
  readonly happened: (event: Exclude<WatchEvent, { readonly type: 'error' }>) => void;
  /** The history is lost; the view stays until the next list. */
  readonly lose: () => void;
  /**
   * The kind is not served: the view is empty and not synced. The last objects are compared with
   * the next list.
   */
  readonly missing: () => void;
  /** The server cannot be reached, or answers again (undefined). */
  readonly lastError: (lastError: AgentError | undefined) => void;
}

/** A view without objects; `seen` is not called before the first information. */
export function followed(seen: (view: KubeView) => void): KnownObjects {
  const objects = new SortedMap<KubeObject>();
  let isSynced = false;
  let version: string | undefined;
  let lastError: AgentError | undefined;
  let isShown = false;
  const show = (changes: readonly KubeChange[]): void => {
    isShown = true;
    const list = isSynced ? () => objects.list() : () => [];
    seen({
      isSynced,
      changes,
      ...(lastError === undefined ? {} : { lastError }),
      get objects() {
        return list();
      },
    });
  };
  return {
    version: () => version,
    listed: (listing) => {
      const isNews = !isSynced || lastError !== undefined;
      version = listing.version;
      lastError = undefined;
      isSynced = true;
      const changes = replaceAll(objects, listing.objects);
      if (isNews || changes.length > 0) show(changes);
    },
    happened: (event) => {
      if (event.type === 'bookmark') {
        if (event.version !== '') version = event.version;
        return;
      }
      const { type, object } = event;
      version = object.metadata.resourceVersion ?? version;
      const key = objectKey(object.metadata);
      const changes = changed(objects, key, type === 'put' ? object : undefined);
      if (changes.length > 0) show(changes);
    },
    lose: () => {
      version = undefined;
    },
    missing: () => {
      const isNews = isSynced || lastError !== undefined || !isShown;
      version = undefined;
      lastError = undefined;
      isSynced = false;
      if (isNews) show([]);
    },
    lastError: (now) => {
      if (now?.code === lastError?.code && now?.message === lastError?.message) return;
      lastError = now;
      show([]);
    },
  };
}

/** Replaces all objects by the objects of a list. */
function replaceAll(
  objects: SortedMap<KubeObject>,
  all: readonly KubeObject[],
): readonly KubeChange[] {
  const listed = new Map(all.map((object) => [objectKey(object.metadata), object]));
  const gone = [...objects.keys()].filter((key) => !listed.has(key));
  return [
    ...gone.flatMap((key) => changed(objects, key, undefined)),
    ...[...listed].flatMap(([key, object]) => changed(objects, key, object)),
  ];
}

/** Stores or removes one object; undefined if that changes nothing. */
function changed(
  objects: SortedMap<KubeObject>,
  key: string,
  after: KubeObject | undefined,
): readonly KubeChange[] {
  const before = objects.get(key);
  if (before === after || (before && after && isSame(before, after))) return [];
  if (after === undefined) objects.delete(key);
  else objects.set(key, after);
  return [{ before, after }];
}

const isSame = ({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean =>
  one.uid === other.uid &&
  one.resourceVersion !== undefined &&
  one.resourceVersion === other.resourceVersion;

import { type Millis, seconds } from '../../model/duration.ts';
import type { KubeSelection, KubeView } from '../../ports/kube.ts';
import type { ApiError } from './api-error.ts';
import { isApiError, type KubeTimeouts } from './api-server.ts';
import { type Cluster, type DenialWatch, denialWatch, type Pauses, pauses } from './call.ts';
import { type Followed, followed } from './followed.ts';
import { listAll } from './list.ts';
import { watchOnce } from './watch.ts';

/** What is followed, and who sees it. */
export interface Following {
  readonly selection: KubeSelection;
  readonly timeouts: KubeTimeouts;
  readonly seen: (view: KubeView) => void;
}

/** A kind that is not served yet is looked for this often. */
const missingPause: Millis = seconds(1);

/** A watch that ends sooner than this, with nothing said, is not asked for again at once. */
const shortest: Millis = seconds(1);

/**
 * List, then watch, until the signal aborts; see `Kube.follow`.
 * @throws AgentError `kube.denied`, `kube.bad-credentials`, `kube.invalid`; whatever `seen` throws
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
    denial: denialWatch(cluster.clock),
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
  readonly denial: DenialWatch;
  /** The server has answered since the last error. */
  isHealthy: boolean;
  /** How often history was lost since something was heard. */
  losses: number;
}

/** Lists where that is needed, and watches once. Resolves with the pause before the next round. */
async function round(course: Course): Promise<Millis> {
  const { session, clock, following, known, pace, signal } = course;
  const server = await session.server(signal);
  if (known.version() === undefined) {
    const listing = await listAll(server, following.selection, signal);
    known.listed(listing);
    answered(course);
  }
  const since = clock.elapsed();
  const heard = { isAlive: false };
  const listener = {
    opened: () => {
      answered(course);
    },
    happened: (event: Parameters<Followed['happened']>[0]) => {
      heard.isAlive = true;
      known.happened(event);
    },
  };
  const request = { ...following, clock, version: known.version() ?? '' };
  try {
    const end = await watchOnce(server, { request, listener }, signal);
    if (end === 'expired') return lost(course);
  } finally {
    if (clock.elapsed() - since >= shortest) heard.isAlive = true;
    if (heard.isAlive) pace.reset();
  }
  course.losses = 0;
  return heard.isAlive ? 0 : pace.next();
}

/** The first list after a loss comes at once. */
function lost(course: Course): Millis {
  course.known.lose();
  course.losses += 1;
  return course.losses === 1 ? 0 : course.pace.next();
}

function answered(course: Course): void {
  course.isHealthy = true;
  course.denial.reset();
  course.health.answered();
  course.known.lastError(undefined);
}

/** What an error means for the view, and the pause after it. @throws what another round cannot cure */
function afterError(course: Course, error: unknown): Millis {
  const { signal, session, known, denial, health, pace } = course;
  signal.throwIfAborted();
  if (!isApiError(error)) throw error;
  if (denial.isFinal(error)) throw error.failure;
  if (isMissing(error)) {
    known.missing();
    answered(course);
    return missingPause;
  }
  if (error.worth === 'none') throw error.failure;
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

const isMissing = ({ failure }: ApiError): boolean => failure.code === 'kube.not-found';

// What tells that something in the cluster may have changed, so that nobody has to ask in order to
// learn that it has not.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeSelection } from '../../src/ports/kube.ts';
import type { WatchEvent } from '../kube/transport.ts';
import type { ClusterState } from './cluster-state.ts';
import type { ClusterWork } from './site.ts';

/** Changes of some objects since somebody looked at them last. */
export interface Changes {
  /** Whether a look is worth while: something has changed, or the last look is a while ago. */
  readonly take: () => boolean;
  /** The last look failed: the next one is worth while, whatever happens. */
  readonly keep: () => void;
  /** Resolves when the cluster is closed and nothing is followed any more. */
  readonly ended: Promise<unknown>;
}

const POLL_AFTER_MILLIS = 2000;
const OPEN_AGAIN_MILLIS = 200;

/** What of a cluster the changes are read from. */
interface Watched {
  readonly kube: { readonly client: Pick<ClusterWork['kube']['client'], 'watch'> };
  readonly state: () => Pick<ClusterState, 'isApiUp'>;
  readonly signal: AbortSignal;
}

/**
 * Follows objects from when the API is up until the cluster is closed. Before anything is seen they
 * count as changed.
 */
export function followChanges(work: Watched, selections: readonly KubeSelection[]): Changes {
  let hasChanged = true;
  let lookedAt = 0;
  const change = (): void => {
    hasChanged = true;
  };
  return {
    take: () => {
      const now = Date.now();
      if (!hasChanged && now - lookedAt < POLL_AFTER_MILLIS) return false;
      // Before the look, so that what changes during it is looked at too.
      hasChanged = false;
      lookedAt = now;
      return true;
    },
    keep: change,
    ended: Promise.all(selections.map((selection) => followObjects(work, selection, change))),
  };
}

/**
 * Looks again and again until the signal; a look that fails, as when the API moves, makes the next
 * one worth while.
 */
export async function pollUntilClosed(
  signal: AbortSignal,
  { changes, everyMillis }: { readonly changes: Changes; readonly everyMillis: number },
  poll: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await poll().catch(changes.keep);
    await sleep(everyMillis, undefined, { signal }).catch(() => undefined);
  }
  await changes.ended;
}

/**
 * Calls back with what happens to objects from when the API is up until the cluster is closed. A
 * server that ends its watch, or dies, may have left out what happened; the next one begins with
 * all that there is.
 */
export async function followObjects(
  { kube, state, signal }: Watched,
  selection: KubeSelection,
  take: (event: WatchEvent) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      if (state().isApiUp) await readAll(kube.client.watch(selection, { signal }), take);
    } catch {
      // The API may be moving.
    }
    await sleep(OPEN_AGAIN_MILLIS, undefined, { signal }).catch(() => undefined);
  }
}

async function readAll<T>(events: AsyncIterable<T>, take: (event: T) => void): Promise<void> {
  for await (const event of events) take(event);
}

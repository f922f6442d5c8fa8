// What tells that something in the cluster may have changed, so that nobody has to ask in order to learn that it has not.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeSelection } from '../../src/ports/kube.ts';
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
 * Follows objects from when the API is up until the cluster is closed. Before anything is seen they count as
 * changed.
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
    ended: Promise.all(selections.map((selection) => follow(work, selection, change))),
  };
}

/** A server that ends its watch, or dies, may have left out what happened; the next one begins with all that there is. */
async function follow(
  { kube, state, signal }: Watched,
  selection: KubeSelection,
  change: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      if (state().isApiUp) await readAll(kube.client.watch(selection, { signal }), change);
    } catch {
      // The API may be moving.
    }
    await sleep(OPEN_AGAIN_MILLIS, undefined, { signal }).catch(() => undefined);
  }
}

async function readAll(events: AsyncIterable<unknown>, change: () => void): Promise<void> {
  const reading = events[Symbol.asyncIterator]();
  while ((await reading.next()).done !== true) change();
}

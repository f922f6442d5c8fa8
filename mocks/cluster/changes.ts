// Watches that report possible changes in the cluster, so that idle loops send no requests.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeSelection } from '../../src/ports/kube.ts';
import type { WatchEvent } from '../kube/transport.ts';
import type { ClusterState } from './cluster-state.ts';
import type { ClusterWork } from './site.ts';

/** Changes of some objects since the last poll. */
export interface Changes {
  /** Whether a poll is due: an object has changed, or the last poll is a while ago. */
  readonly take: () => boolean;
  /** The last poll failed: the next one is due in any case. */
  readonly keep: () => void;
  /** Resolves when the cluster is closed and all watches have ended. */
  readonly ended: Promise<unknown>;
}

const POLL_AFTER_MILLIS = 2000;
const OPEN_AGAIN_MILLIS = 200;

/** The parts of a cluster that the watches use. */
interface Watched {
  readonly kube: { readonly client: Pick<ClusterWork['kube']['client'], 'watch'> };
  readonly state: () => Pick<ClusterState, 'isApiUp'>;
  readonly signal: AbortSignal;
}

/**
 * Watches objects from the start of the API until the cluster is closed. At first they count as
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
      // Before the poll, so that a change during it makes the next one due.
      hasChanged = false;
      lookedAt = now;
      return true;
    },
    keep: change,
    ended: Promise.all(selections.map((selection) => followObjects(work, selection, change))),
  };
}

/** Polls until the signal. A failed poll, as when the API moves, makes the next one due. */
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
 * Calls back with the events of objects from the start of the API until the cluster is closed. A
 * server that ends its watch, or dies, may have missed events; the next watch begins with all
 * existing objects.
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

import { setTimeout as pause } from 'node:timers/promises';
import type { KubeClient } from '../../../mocks/kube/client.ts';
import { nodes as nodeKind } from '../../../src/kube/kinds.ts';
import { annotationOf, conditionOf, partOf } from '../../../src/kube/object.ts';
import { nodeKeys } from '../../../src/layering/api/node-keys.ts';
import type { KubeObject } from '../../../src/ports/kube.ts';

/** The fields of a node that show the progress of its switch. */
export interface SeenNode {
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly currentImage: string;
  readonly desiredImage: string;
  readonly desiredDrain: string;
  readonly isReady: boolean;
  readonly isCordoned: boolean;
}

/** All nodes that there are, after one of them has changed. */
export type Moment = readonly SeenNode[];

/** The nodes as a watch has seen them; each counts from when it was Ready first. */
export interface PoolRecord {
  readonly moments: readonly Moment[];
  readonly node: (name: string) => SeenNode | undefined;
  /** Waits until a node is so. */
  readonly until: (name: string, what: (node: SeenNode) => boolean) => Promise<void>;
}

const seenNode = (node: KubeObject): SeenNode => {
  const at = (key: keyof typeof nodeKeys): string => annotationOf(node, nodeKeys[key]);
  return {
    name: node.metadata.name,
    state: at('state'),
    reason: at('reason'),
    currentImage: at('currentImage'),
    desiredImage: at('desiredImage'),
    desiredDrain: at('desiredDrain'),
    isReady: conditionOf(node, 'Ready').status === 'True',
    isCordoned: partOf(node, 'spec', 'unschedulable') === true,
  };
};

/**
 * Records the nodes of a cluster until the signal aborts; with its reason every wait fails then.
 */
export function recordPool(client: KubeClient, signal: AbortSignal): PoolRecord {
  const moments: Moment[] = [];
  const latest = new Map<string, SeenNode>();
  const follow = async (): Promise<void> => {
    // The API server ends each watch after half an hour at the latest; the next one begins with
    // the current state.
    while (!signal.aborted)
      for await (const { type, object } of client.watch({ kind: nodeKind }, { signal })) {
        const seen = seenNode(object);
        if (type === 'BOOKMARK' || (!latest.has(seen.name) && !seen.isReady)) continue;
        latest.set(seen.name, seen);
        moments.push([...latest.values()]);
      }
  };
  const following = follow();
  following.catch(() => undefined);
  return {
    moments,
    node: (name) => latest.get(name),
    until: async (name, what) => {
      for (;;) {
        signal.throwIfAborted();
        const node = latest.get(name);
        if (node !== undefined && what(node)) return;
        await Promise.race([pause(100), following]);
      }
    },
  };
}

/**
 * Whether work is taken from a node: it may not come to it, or the system is another than before or
 * gone.
 */
export const isAway = ({ state, isReady, isCordoned, ...node }: SeenNode): boolean =>
  isCordoned || state !== 'Done' || !isReady || node.currentImage !== node.desiredImage;

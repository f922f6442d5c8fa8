// Record of nodes and of the pods of a workload, by watches, for every moment of the day after an
// installation.
import type { KubeObject, KubeSelection } from '../../../src/ports/kube.ts';
import { annotation, hasRole, partAt } from '../../layering/objects.ts';
import { isReady } from '../layering/controllers.ts';
import { followObjects } from '../changes.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';

/** A node at one moment. */
export interface SeenNode {
  readonly name: string;
  readonly pool: 'master' | 'worker';
  readonly isReady: boolean;
  readonly isCordoned: boolean;
  readonly state: string;
  readonly reason: string;
  /** Its current and its desired state: a MachineConfig, and an image. */
  readonly current: string;
  readonly desired: string;
  /** Its request to the controller, until it is done. */
  readonly request: string;
}

/** The record so far. */
export interface DayRecord {
  /** Every node at each moment. */
  readonly moments: readonly (readonly SeenNode[])[];
  readonly nodes: () => readonly SeenNode[];
  /** Number of Ready pods of the workload at each moment. */
  readonly ready: readonly number[];
}

/** A node by its annotations and its status. */
export function seenNode(node: KubeObject): SeenNode {
  const at = (name: string): string => annotation(node, name);
  const both = (word: string): string => `${at(`${word}Config`)} ${at(`${word}Image`)}`.trim();
  const asked = at('desiredDrain');
  return {
    name: node.metadata.name,
    pool: hasRole(node, 'master') ? 'master' : 'worker',
    isReady: isReady(node),
    isCordoned: partAt(node, 'spec', 'unschedulable') === true,
    state: at('state'),
    reason: at('reason'),
    current: both('current'),
    desired: both('desired'),
    request: asked === at('lastAppliedDrain') ? '' : asked,
  };
}

/** Whether a node is out of service, or about to be. */
export const isAway = ({ isCordoned, current, desired, ...node }: SeenNode): boolean =>
  isCordoned || !node.isReady || current !== desired;

/** The state of a node, for people; `before` is the image from the installation. */
export function whereIs(node: SeenNode, before: string): string {
  const { state, reason, request, current, desired, isCordoned } = node;
  if (!node.isReady) return 'reboots';
  if (state === 'Degraded') return `degraded: ${reason}`;
  if (request.startsWith('drain-')) return isCordoned ? 'is drained' : 'waits for its drain';
  if (request.startsWith('uncordon-')) return 'is uncordoned';
  if (current !== desired) return isCordoned ? 'is drained, and reboots' : 'stages its image';
  return current.endsWith(before) ? 'waits for its turn' : 'has what changed';
}

/** Records until the cluster is closed; calls back with each changed node. */
export function recordDay(
  work: ClusterWork,
  workload: KubeSelection,
  changed: (node: SeenNode) => void,
): DayRecord {
  const latest = new Map<string, SeenNode>();
  const pods = new Map<string, boolean>();
  const moments: (readonly SeenNode[])[] = [];
  const ready: number[] = [];
  void followObjects(work, { kind: kinds.Node }, ({ type, object }) => {
    if (type === 'BOOKMARK') return;
    const seen = seenNode(object);
    latest.set(seen.name, seen);
    moments.push([...latest.values()]);
    changed(seen);
  });
  void followObjects(work, workload, ({ type, object: { metadata }, object }) => {
    if (type === 'BOOKMARK') return;
    const isGone = type === 'DELETED' || metadata.deletionTimestamp !== undefined;
    pods.set(metadata.uid ?? '', !isGone && isReady(object));
    ready.push([...pods.values()].filter(Boolean).length);
  });
  return { moments, ready, nodes: () => [...latest.values()] };
}

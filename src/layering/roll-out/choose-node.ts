import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, nodeKeys, partOf } from '../api/cluster-object.ts';
import type { RollOutTarget } from './target.ts';

/** A pool at the moment of a choice. */
export interface PoolNodes {
  readonly pool: KubeObject;
  /** All nodes of the pool. */
  readonly nodes: readonly KubeObject[];
  readonly target: RollOutTarget;
}

/** The node that changes next, or why none does; without a reason every node has the target as its desired state. */
export type NodeChoice = { readonly node: KubeObject } | { readonly waitsFor: string | undefined };

/**
 * How many nodes of a pool may be unavailable at once, as the Machine Config Operator counts: 1 unless said, a percentage
 * rounded down, never 0.
 */
export function maxUnavailable(pool: KubeObject | undefined, nodes: number): number {
  const wanted = partOf(pool, 'spec', 'maxUnavailable');
  const share = typeof wanted === 'string' ? /^(\d+)%$/.exec(wanted)?.[1] : undefined;
  const count =
    share === undefined ? Number(wanted ?? 1) : Math.floor((Number(share) * nodes) / 100);
  return Number.isInteger(count) ? Math.max(1, count) : 1;
}

const desired = (node: KubeObject): RollOutTarget => ({
  config: annotationOf(node, nodeKeys.desiredConfig),
  image: annotationOf(node, nodeKeys.desiredImage) || undefined,
});

const isSame = (one: RollOutTarget, other: RollOutTarget): boolean =>
  one.config === other.config && one.image === other.image;

/** Whether a node has what it should have. */
const isDone = (node: KubeObject): boolean =>
  annotationOf(node, nodeKeys.state) === 'Done' &&
  isSame(desired(node), {
    config: annotationOf(node, nodeKeys.currentConfig),
    image: annotationOf(node, nodeKeys.currentImage) || undefined,
  });

/** Why a node counts as unavailable; undefined where it does not. */
function unavailableReason(node: KubeObject): string | undefined {
  if (!isDone(node)) return annotationOf(node, nodeKeys.state) || 'without an agent';
  if (conditionOf(node, 'Ready').status !== 'True') return 'not Ready';
  return partOf(node, 'spec', 'unschedulable') === true ? 'cordoned' : undefined;
}

/** A node at work ends that first; one without an agent would never begin. A degraded one may be given what helps it. */
const mayChange = (node: KubeObject): boolean =>
  isDone(node) || annotationOf(node, nodeKeys.state) === 'Degraded';

const zone = 'topology.kubernetes.io/zone';

const orderOf = ({ metadata }: KubeObject): string =>
  [metadata.labels?.[zone], metadata.creationTimestamp, metadata.name].join('\n');

/**
 * The node of a pool that gets the target next: by zone, then the oldest. A node is changed only while fewer others are
 * unavailable than may be, so that one which stays degraded holds the rest back. A paused pool begins nothing.
 */
export function chooseNode({ pool, nodes, target }: PoolNodes): NodeChoice {
  const open = nodes.filter((node) => !isSame(desired(node), target));
  if (open.length === 0) return { waitsFor: undefined };
  if (partOf(pool, 'spec', 'paused') === true) return { waitsFor: 'the pool is paused' };
  // With two masters away etcd loses its quorum.
  const limit = pool.metadata.name === 'master' ? 1 : maxUnavailable(pool, nodes.length);
  const away = nodes.flatMap((node) => {
    const reason = unavailableReason(node);
    return reason === undefined ? [] : [{ node, reason }];
  });
  const [node] = open
    .filter(mayChange)
    .filter((one) => away.filter((other) => other.node !== one).length < limit)
    .sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
  if (node !== undefined) return { node };
  const names = away.map(({ node: { metadata }, reason }) => `${metadata.name} (${reason})`);
  return { waitsFor: `${away.length} of at most ${limit} unavailable: ${names.join(', ')}` };
}

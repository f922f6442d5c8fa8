import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, partOf } from '../../kube/object.ts';
import { nodeKeys } from '../api/node-keys.ts';
import type { RollOutTarget } from './target.ts';

/**
 * How many nodes of a pool may be unavailable at once, as the Machine Config Operator computes it:
 * 1 by default, a percentage rounded down, never 0. The operator rolls nothing out for an invalid
 * value; here it counts as 1, which is as safe.
 */
export function maxUnavailable(pool: KubeObject | undefined, nodes: number): number {
  if (pool?.metadata.name === 'arbiter') return 1;
  const wanted = partOf(pool, 'spec', 'maxUnavailable');
  if (typeof wanted === 'number') return Number.isInteger(wanted) ? Math.max(1, wanted) : 1;
  const share = typeof wanted === 'string' ? /^(\d+)%$/.exec(wanted)?.[1] : undefined;
  const count = Math.floor((Number(share) * nodes) / 100);
  return Number.isInteger(count) ? Math.max(1, count) : 1;
}

/**
 * How many nodes of a pool Bootwright lets be unavailable: with two masters away etcd loses its
 * quorum, which the operator permits.
 */
export const ownLimit = (pool: KubeObject | undefined, nodes: number): number =>
  pool?.metadata.name === 'master' ? 1 : maxUnavailable(pool, nodes);

/** The desired configuration and image of a node. */
export const desiredOf = (node: KubeObject): RollOutTarget => ({
  config: annotationOf(node, nodeKeys.desiredConfig),
  image: annotationOf(node, nodeKeys.desiredImage) || undefined,
});

/** Whether two targets are equal. */
export const isSameTarget = (one: RollOutTarget, other: RollOutTarget): boolean =>
  one.config === other.config && one.image === other.image;

/** Whether a node has its desired state, whatever its agent reports. */
export const hasDesired = (node: KubeObject): boolean =>
  isSameTarget(desiredOf(node), {
    config: annotationOf(node, nodeKeys.currentConfig),
    image: annotationOf(node, nodeKeys.currentImage) || undefined,
  });

/** Whether a node has its desired state, and its agent reports `Done`. */
export const isDone = (node: KubeObject): boolean =>
  annotationOf(node, nodeKeys.state) === 'Done' && hasDesired(node);

/** Whether an agent reports `Degraded` or `Unreconcilable`. */
export const isDegraded = (node: KubeObject): boolean =>
  ['Degraded', 'Unreconcilable'].includes(annotationOf(node, nodeKeys.state));

export const isCordoned = (node: KubeObject): boolean =>
  partOf(node, 'spec', 'unschedulable') === true;

/** Conditions that make a node unready (machine-config-operator, `CheckNodeReady`). */
const hindrances = ['DiskPressure', 'NetworkUnavailable'] as const;

/** The reason why a node gets no workload; undefined for a ready node. */
export function unreadyReason(node: KubeObject): string | undefined {
  if (conditionOf(node, 'Ready').status !== 'True') return 'not Ready';
  const hindrance = hindrances.find(
    (type) => !['', 'False'].includes(conditionOf(node, type).status),
  );
  return hindrance ?? (isCordoned(node) ? 'cordoned' : undefined);
}

/**
 * The reason why a node counts as unavailable for the next choice; undefined for an available node.
 */
export function unavailableReason(node: KubeObject): string | undefined {
  if (isDone(node)) return unreadyReason(node);
  const state = annotationOf(node, nodeKeys.state);
  return state === 'Done' ? 'its agent has not begun' : state || 'without an agent';
}

import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf } from '../../kube/object.ts';
import { isPaused } from '../api/machine-config-pool.ts';
import { nodeKeys } from '../api/node-keys.ts';
import {
  desiredOf,
  isCordoned,
  isDone,
  isSameTarget,
  ownLimit,
  unavailableReason,
} from './node-state.ts';
import type { RollOutTarget } from './target.ts';

/**
 * Only a node that has finished its current change starts another; without an agent it would never
 * start. A cordoned node does not start, as with the operator (machine-config-operator 7ff337a4,
 * `getAllCandidateMachines`). A degraded node may get a target that helps it.
 */
const mayChange = (node: KubeObject): boolean =>
  (isDone(node) && !isCordoned(node)) || annotationOf(node, nodeKeys.state) === 'Degraded';

const zone = 'topology.kubernetes.io/zone';

const orderOf = ({ metadata }: KubeObject): string =>
  [metadata.labels?.[zone], metadata.creationTimestamp, metadata.name].join('\n');

/**
 * The node of a pool that gets the target next, or the reason why none does; without a reason every
 * node has it as its desired state. The order is by zone, then by age, oldest first. A node is
 * changed only while the number of other unavailable nodes is below the limit, so a node that stays
 * degraded blocks the rest. A paused pool begins nothing.
 * @param members all nodes with a member of etcd, in any pool, if the nodes of this pool have one:
 * one of them may be away
 */
export function chooseNode({
  pool,
  nodes,
  members,
  target,
}: {
  readonly pool: KubeObject;
  readonly nodes: readonly KubeObject[];
  readonly members?: readonly KubeObject[] | undefined;
  readonly target: RollOutTarget;
}): { readonly node: KubeObject } | { readonly waitsFor: string | undefined } {
  const open = nodes.filter((node) => !isSameTarget(desiredOf(node), target));
  if (open.length === 0) return { waitsFor: undefined };
  if (isPaused(pool)) return { waitsFor: 'the pool is paused' };
  const limit = members === undefined ? ownLimit(pool, nodes.length) : 1;
  const away = (members ?? nodes).flatMap((node) => {
    const reason = unavailableReason(node);
    return reason === undefined ? [] : [{ node, reason }];
  });
  const [node] = open
    .filter(mayChange)
    .filter(
      ({ metadata: { name } }) =>
        away.filter((other) => other.node.metadata.name !== name).length < limit,
    )
    .sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
  if (node !== undefined) return { node };
  const names = away.map(({ node: { metadata }, reason }) => `${metadata.name} (${reason})`);
  return { waitsFor: `${away.length} of at most ${limit} unavailable: ${names.join(', ')}` };
}

import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, partOf } from '../../kube/object.ts';
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

/** A pool at the moment of a choice. */
export interface PoolNodes {
  readonly pool: KubeObject;
  /** All nodes of the pool. */
  readonly nodes: readonly KubeObject[];
  /**
   * All that carry a member of etcd, whatever their pool, where those of the pool do: one of them
   * may be away.
   */
  readonly members?: readonly KubeObject[];
  readonly target: RollOutTarget;
}

/**
 * The node that changes next, or why none does; without a reason every node has the target as its
 * desired state.
 */
export type NodeChoice = { readonly node: KubeObject } | { readonly waitsFor: string | undefined };

/**
 * A node at work ends that first; one without an agent would never begin. None begins that somebody
 * has cordoned, as with the operator (machine-config-operator 7ff337a4, `getAllCandidateMachines`).
 * A degraded one may be given what helps it.
 */
const mayChange = (node: KubeObject): boolean =>
  (isDone(node) && !isCordoned(node)) || annotationOf(node, nodeKeys.state) === 'Degraded';

const zone = 'topology.kubernetes.io/zone';

const orderOf = ({ metadata }: KubeObject): string =>
  [metadata.labels?.[zone], metadata.creationTimestamp, metadata.name].join('\n');

/**
 * The node of a pool that gets the target next: by zone, then the oldest. A node is changed only
 * while fewer others are unavailable than may be, so that one which stays degraded holds the rest
 * back. A paused pool begins nothing.
 */
export function chooseNode({ pool, nodes, members, target }: PoolNodes): NodeChoice {
  const open = nodes.filter((node) => !isSameTarget(desiredOf(node), target));
  if (open.length === 0) return { waitsFor: undefined };
  if (partOf(pool, 'spec', 'paused') === true) return { waitsFor: 'the pool is paused' };
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

// What is seen of a pool whose nodes are switched.
import { machineConfigPools, nodes, pods } from '../../cluster/kinds.ts';
import type { EtcdStanding } from '../../cluster/etcd-conditions.ts';
import { readinessOf } from '../../cluster/node.ts';
import type { Watch } from '../../engine/wait.ts';
import { nodesOfPool } from '../../layering/invariants/pool-nodes.ts';
import { renderedNameOf } from '../../layering/machine-config-pool.ts';
import type { PoolStanding } from '../../layering/switching/next-act.ts';
import { nodeStanding, type SwitchTarget } from '../../layering/switching/node-standing.ts';
import { switchPodLabels } from '../../layering/switching/pods.ts';
import type { Kube, KubeObject, KubeSelection } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { leftNamespace } from '../after-pivot/record.ts';
import { followed, gapAmong, together } from '../cluster/cluster-wait.ts';
import { followMembers, readMembers } from '../cluster/three-members.ts';
import type { StepScope } from '../step.ts';

/** The pods by which nodes are switched. */
export const switchPods: KubeSelection = {
  kind: pods,
  namespace: leftNamespace,
  labelSelector: Object.entries(switchPodLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(','),
};

/** A pool, and what its nodes are to run. */
export interface PoolTarget extends SwitchTarget {
  readonly pool: string;
}

/** A pool as it is followed. */
export interface FollowedPool {
  /** How it stands as far as is known, or why it cannot be seen now. */
  readonly standing: () => PoolStanding | string;
  readonly watch: Watch;
}

/** Follows a pool. What is seen of its nodes may be older than what is seen of its pods, and the other way round. */
export function followPool(kube: Kube, target: PoolTarget): FollowedPool {
  const there = followed(kube, { kind: nodes });
  const pools = followed(kube, { kind: machineConfigPools });
  const own = followed(kube, switchPods);
  const members = followMembers(kube);
  return {
    standing: () =>
      gapAmong(there, pools, own) ??
      poolStanding(target, {
        nodes: there.view().objects,
        pools: pools.view().objects,
        pods: own.view().objects,
        members: members.standing(),
      }),
    watch: together(there.watch, pools.watch, own.watch, members.watch),
  };
}

/**
 * How a pool stands now, with all that was done to it before.
 * @throws AgentError `kube.*`; `kube.not-found` when the API server does not show the pool
 */
export async function readPool(
  { kube, signal }: StepScope<'kube'>,
  target: PoolTarget,
): Promise<PoolStanding> {
  // A pod tells of which start of its node it is, so a node that is seen later than its pods is understood.
  const own = await kube.list(switchPods, signal);
  const [there, pools, members] = await Promise.all([
    kube.list({ kind: nodes }, signal),
    kube.list({ kind: machineConfigPools }, signal),
    readMembers(kube, signal),
  ]);
  const standing = poolStanding(target, { nodes: there, pools, pods: own, members });
  if (typeof standing !== 'string') return standing;
  throw kubeFailure('kube.not-found', standing);
}

interface Sight {
  readonly nodes: readonly KubeObject[];
  readonly pools: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
  readonly members: EtcdStanding;
}

/** A kind that is not served yet reads as if there were no objects of it. */
function poolStanding({ pool, ...target }: PoolTarget, sight: Sight): PoolStanding | string {
  const { nodes: there, pools, pods: own, members } = sight;
  const found = pools.find(({ metadata }) => metadata.name === pool);
  if (found === undefined) return `the API server shows no pool ${pool}`;
  return {
    nodes: nodesOfPool(pool, { pools, nodes: there }).map((node) =>
      nodeStanding({ node, readiness: readinessOf(node), pods: own }, target),
    ),
    objection: members.isReached ? undefined : members.status,
    isOutdated: renderedNameOf(found) !== target.renderedConfig,
  };
}

import {
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes as nodeKind,
  pods as podKind,
} from '../../cluster/kinds.ts';
import type { Watch } from '../../engine/wait.ts';
import { nodesOfPool } from '../../layering/hand-over/pool-status.ts';
import { operatorReason, type OperatorObjects } from '../../layering/roll-out/ownership.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, followedOne, gapAmong, together } from '../cluster/kube-watch.ts';
import {
  operatorDeploymentRef,
  operatorLeaseRef,
  operatorReasonNow,
} from '../cluster/operator-now.ts';
import type { NodeControllerScope } from './world.ts';

/** The objects that roll-outs are about, as they were last seen. */
export interface PoolsView {
  readonly pools: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
  readonly osConfigs: readonly KubeObject[];
  readonly builds: readonly KubeObject[];
  readonly operator: OperatorObjects;
}

/** The view while its watch runs. */
export interface FollowedPools {
  /** Undefined with the reason while something is not known: nothing may be decided then. */
  readonly view: () => PoolsView | { readonly gap: string };
  readonly watch: Watch;
}

type PoolsScope = Pick<NodeControllerScope<'kube' | 'clock'>, 'kube' | 'clock' | 'config'>;

/** Follows all that decides about roll-outs; steps of the role share the watches. */
export function followedPools({ kube, clock, config: { namespace } }: PoolsScope): FollowedPools {
  const pools = followed(kube, { kind: machineConfigPools });
  const nodes = followed(kube, { kind: nodeKind });
  const osConfigs = followed(kube, { kind: machineOSConfigs });
  const builds = followed(kube, { kind: machineOSBuilds });
  const deployment = followedOne(kube, operatorDeploymentRef(namespace));
  const lease = followedOne(kube, operatorLeaseRef(namespace));
  const pods = followed(kube, { kind: podKind, namespace });
  const all = [pools, nodes, osConfigs, builds, deployment, lease, pods];
  return {
    view: () => {
      const gap = gapAmong(...all);
      if (gap !== undefined) return { gap };
      return {
        pools: pools.view().objects,
        nodes: nodes.view().objects,
        osConfigs: osConfigs.view().objects,
        builds: builds.view().objects,
        operator: {
          deployment: deployment.view().objects[0],
          lease: lease.view().objects[0],
          pods: pods.view().objects,
          now: clock.now(),
        },
      };
    },
    watch: together(...all.map(({ watch }) => watch)),
  };
}

/** Why the operator runs a pool, by what was last seen; undefined where it does not. */
export const operatorOfPool = (pool: string, view: PoolsView): string | undefined =>
  operatorReason(view.operator, nodesOfPool(pool, view));

/** The same for some nodes, or for none in particular, by a fresh reading right before a change. */
export const operatorNow = (
  { kube, clock, config: { namespace } }: PoolsScope,
  nodes: readonly KubeObject[],
  signal: AbortSignal,
): Promise<string | undefined> => {
  const names = nodes.map(({ metadata: { name } }) => name);
  return operatorReasonNow({ kube, clock, namespace, nodes: names }, signal);
};

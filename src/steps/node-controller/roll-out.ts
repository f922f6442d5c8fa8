import {
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes as nodeKind,
  pods as podKind,
} from '../../cluster/kinds.ts';
import { etcdCluster, etcdNamespace, maySpareMember } from '../../cluster/etcd.ts';
import { nodeKeys } from '../../layering/api/cluster-object.ts';
import { nodesOfPool, poolSnapshot } from '../../layering/hand-over/pool-status.ts';
import { chooseNode, type NodeChoice } from '../../layering/roll-out/choose-node.ts';
import { type RollOutTarget, rollOutTarget } from '../../layering/roll-out/target.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { poolEvent } from './pool-event.ts';
import { nodeControllerFailure } from './failures.ts';
import { followedPools, operatorNow, operatorOfPool, type PoolsView } from './pools-view.ts';
import { type NodeControllerScope, nodeControllerStep } from './world.ts';

/**
 * Gives the nodes of pools that the operator does not run their configuration and image, as many at once as may be
 * unavailable. All it knows is in the cluster: one that was killed goes on.
 */
export const rollOut = nodeControllerStep({
  id: 'node-controller/roll-out',
  title: 'Roll out configurations and images to the nodes of pools',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: it goes on as long as the controller runs',
  run: async (scope) => {
    const pools = followedPools(scope);
    await reconcile<PoolsView | { readonly gap: string }, PoolAction>(
      scope,
      'every node has the configuration and image of its pool',
      {
        watch: pools.watch,
        observe: pools.view,
        decide: rollOutsDue,
        apply: ({ pool }, signal) => changeNextNode(scope, pool, signal),
      },
    );
  },
});

interface PoolAction extends Action {
  readonly pool: string;
}

type Objects = Omit<PoolsView, 'operator'>;

/** The pools of which a node is due, by what was last seen; which one is found out again before it is changed. */
export function rollOutsDue(view: PoolsView | { readonly gap: string }): Decision<PoolAction> {
  if ('gap' in view) return { actions: [], missing: view.gap };
  const own = view.pools
    .map(({ metadata }) => metadata.name)
    .filter((name) => operatorOfPool(name, view) === undefined)
    .map((name) => ({ name, choice: choiceOf(name, view) }));
  const waiting = own.flatMap(({ name, choice }) =>
    'node' in choice || choice.waitsFor === undefined ? [] : [`pool ${name}: ${choice.waitsFor}`],
  );
  return {
    actions: own.flatMap(({ name, choice }) =>
      'node' in choice ? [{ key: `roll-out of pool ${name}`, pool: name }] : [],
    ),
    missing: waiting.length === 0 ? 'the pools have nothing to roll out' : waiting.join('; '),
  };
}

/** The pools other than those of all masters and all workers; a node may be in one of them. */
const isCustom = ({ metadata: { name } }: KubeObject): boolean =>
  name !== 'master' && name !== 'worker';

/** Nodes that two pools of some nodes select: the operator refuses them (`pkg/helpers`, getPoolsForNode). */
function inTwoPools(pool: string, { pools, nodes }: Objects): readonly string[] {
  const custom = pools.filter(isCustom);
  if (!custom.some(({ metadata }) => metadata.name === pool)) return [];
  const selectedBy = (one: string): readonly KubeObject[] => {
    const alone = pools.filter(({ metadata: { name } }) => name === 'master' || name === one);
    return nodesOfPool(one, { pools: alone, nodes });
  };
  const own = new Set(selectedBy(pool));
  return custom
    .filter(({ metadata }) => metadata.name !== pool)
    .flatMap(({ metadata }) => selectedBy(metadata.name))
    .filter((node) => own.has(node))
    .map(({ metadata }) => metadata.name);
}

type PoolChoice = NodeChoice & { readonly target?: RollOutTarget };

function choiceOf(name: string, view: Objects): PoolChoice {
  const pool = view.pools.find(({ metadata }) => metadata.name === name);
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined)
    return { waitsFor: 'the pool is being deleted' };
  const doubled = inTwoPools(name, view);
  if (doubled.length > 0)
    return { waitsFor: `${doubled.join(', ')} in two pools: change their labels` };
  const snapshot = poolSnapshot(name, { ...view, jobs: [] });
  const found = rollOutTarget(snapshot);
  if (!('target' in found)) return found;
  const { target } = found;
  return { ...chooseNode({ pool, nodes: snapshot.nodes, target }), target };
}

/** Objects by a reading of their own: what a watch shows may be late, and two nodes would change at once. */
async function readObjects(
  { kube }: NodeControllerScope<'kube'>,
  signal: AbortSignal,
): Promise<Objects> {
  const kinds = [machineConfigPools, nodeKind, machineOSConfigs, machineOSBuilds];
  const [pools = [], nodes = [], osConfigs = [], builds = []] = await Promise.all(
    kinds.map((kind) => kube.list({ kind }, signal)),
  );
  return { pools, nodes, osConfigs, builds };
}

async function changeNextNode(
  scope: NodeControllerScope<'kube' | 'clock'>,
  pool: string,
  signal: AbortSignal,
): Promise<void> {
  const { kube, note } = scope;
  const objects = await readObjects(scope, signal);
  const choice = choiceOf(pool, objects);
  if (!('node' in choice) || choice.target === undefined) return;
  const { node, target } = choice;
  const { name, resourceVersion } = node.metadata;
  const members = nodesOfPool(pool, objects);
  if (pool === 'master') await requireEtcd(scope, members.length, signal);
  if ((await operatorNow(scope, [node], signal)) !== undefined) return;
  const { config, image = null } = target;
  const annotations = { [nodeKeys.desiredConfig]: config, [nodeKeys.desiredImage]: image };
  const body = { metadata: { resourceVersion, annotations } };
  await kube.patch({ kind: nodeKind, name }, { type: 'merge', body }, signal);
  const message = `node ${name} is to have MachineConfig ${config}${image === null ? '' : ` and image ${image}`}`;
  note('info', `pool ${pool}: ${message}`);
  const reason = 'SetDesiredConfigAndOSImage';
  await poolEvent(scope, { pool, type: 'Normal', reason, message }, signal);
}

/** With fewer members there is no quorum to lose. */
const withQuorum = 3;

/** @throws AgentError `node-controller.etcd-not-healthy` where the cluster shows its etcd, and no quorum without one of its members */
async function requireEtcd(
  { kube }: NodeControllerScope<'kube'>,
  masters: number,
  signal: AbortSignal,
): Promise<void> {
  if (masters < withQuorum) return;
  const etcd = await kube.get(etcdCluster, signal);
  const pods = await kube.list({ kind: podKind, namespace: etcdNamespace }, signal);
  // A cluster that is not run by OpenShift's operators shows neither.
  if (etcd === undefined && pods.length === 0) return;
  const { isReached, status } = maySpareMember(etcd, pods, masters);
  if (!isReached) throw nodeControllerFailure('node-controller.etcd-not-healthy', status);
}

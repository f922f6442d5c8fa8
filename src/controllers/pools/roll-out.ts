import {
  etcdCluster,
  etcdNamespace,
  keepsQuorumWithout,
  maySpareMember,
} from '../../cluster/etcd.ts';
import { nodes as nodeKind, pods as podKind } from '../../kube/kinds.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { chooseNode } from '../../layering/roll-out/choose-node.ts';
import { isDegraded } from '../../layering/roll-out/node-state.ts';
import { type RollOutTarget, rollOutTarget } from '../../layering/roll-out/target.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { Controller } from '../../kube/manager.ts';
import { patchOf } from '../../kube/object.ts';
import {
  isOperatedNow,
  operatorOf,
  poolEvent,
  type PoolScope,
  type PoolStores,
  type PoolView,
  readView,
  storedView,
} from './stores.ts';

/** Failures of the node controller. */
export const nodeControllerFailures = {
  'node-controller.etcd-not-healthy': {
    kind: 'cluster',
    title: 'No further node with a member of etcd is changed while etcd could lose its quorum',
    hint: 'look at the pods of etcd in openshift-etcd; the roll-out continues once a quorum remains without one of them',
  },
} as const satisfies FailureTable;

const nodeControllerFailure = failuresOf(nodeControllerFailures);

/**
 * Sets the configuration and image of a pool on its nodes, if the operator does not run the pool;
 * as many nodes change at once as may be unavailable. All its state is in the cluster: a killed
 * controller continues. Only one pool at a time chooses nodes, because several pools may have
 * members of etcd.
 */
export function rollOutController(
  scope: PoolScope,
  stores: PoolStores,
): Pick<Controller, 'atOnce' | 'reconcile'> {
  const reportOwner = ownerReports(scope);
  return {
    atOnce: 1,
    reconcile: async (pool, signal) => {
      const seen = storedView(pool, stores);
      const operator = operatorOf(seen.snapshot.nodes, stores, scope);
      const isThere = seen.snapshot.machineConfigPool !== undefined;
      await reportOwner(pool, isThere ? (operator ?? '') : undefined, signal);
      if (operator !== undefined) return {};
      const choice = choiceOf(seen);
      if (!('node' in choice))
        return choice.waitsFor === undefined ? {} : { status: `pool ${pool}: ${choice.waitsFor}` };
      // A watch may be late: the choice is made again by fresh requests, right before the write.
      const view = await readView(scope, pool, signal);
      const again = choiceOf(view);
      if (!('node' in again)) return {};
      await requireEtcd(scope, again.node, view.members?.length ?? 0, signal);
      if (!(await isOperatedNow(scope, [again.node], signal)))
        await requestTarget(scope, pool, again.node, again.target, signal);
      return {};
    },
  };
}

/**
 * Reports the program that runs each pool in the log and by an event, at each change: the reason
 * why the operator does, empty if this controller does, undefined for a deleted pool.
 */
function ownerReports(scope: PoolScope) {
  const reported = new Map<string, string>();
  return async (pool: string, owner: string | undefined, signal: AbortSignal): Promise<void> => {
    if (owner === undefined) {
      reported.delete(pool);
      return;
    }
    const before = reported.get(pool);
    // The operator's pods are replaced now and then: the owner of the pool stays the same.
    if (before !== undefined && (before === '') === (owner === '')) return;
    // It counts as reported even if its event is refused.
    reported.set(pool, owner);
    const message =
      owner === '' ? 'bootwright node controller runs this pool' : `hands off: ${owner}`;
    scope.note('info', `pool ${pool}: ${message}`);
    await poolEvent(scope, pool, { type: 'Normal', reason: 'PoolOwner', message }, signal);
  };
}

/** The node of the pool that changes next and its target, or the reason why none does. */
function choiceOf({
  snapshot,
  doubled,
  members,
}: PoolView):
  | { readonly node: KubeObject; readonly target: RollOutTarget }
  | { readonly waitsFor: string | undefined } {
  const { machineConfigPool: pool, nodes } = snapshot;
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined)
    return { waitsFor: 'the pool is being deleted' };
  if (doubled.length > 0)
    return { waitsFor: `${doubled.join(', ')} in two pools: change their labels` };
  const found = rollOutTarget(snapshot);
  if (!('target' in found)) return found;
  const { target } = found;
  const choice = chooseNode({ pool, nodes, target, members });
  return 'node' in choice ? { ...choice, target } : choice;
}

async function requestTarget(
  scope: PoolScope,
  pool: string,
  node: KubeObject,
  target: RollOutTarget,
  signal: AbortSignal,
): Promise<void> {
  const { config, image = null } = target;
  const { name } = node.metadata;
  const annotations = { [nodeKeys.desiredConfig]: config, [nodeKeys.desiredImage]: image };
  const patch = patchOf(node, { metadata: { annotations } });
  await scope.kube.patch({ kind: nodeKind, name }, patch, signal);
  const message = `node ${name} is to have MachineConfig ${config}${image === null ? '' : ` and image ${image}`}`;
  scope.note('info', `pool ${pool}: ${message}`);
  const reason = 'SetDesiredConfigAndOSImage';
  await poolEvent(scope, pool, { type: 'Normal', reason, message }, signal);
}

/** A single member has no quorum to lose. */
const withQuorum = 2;

/**
 * A degraded node may be the one whose member has failed; then its new target helps etcd.
 * @throws AgentError `node-controller.etcd-not-healthy` if the cluster shows its etcd, and one of
 * its members cannot be spared
 */
async function requireEtcd(
  { kube }: PoolScope,
  node: KubeObject,
  members: number,
  signal: AbortSignal,
): Promise<void> {
  if (members < withQuorum) return;
  const etcd = await kube.get(etcdCluster, signal);
  const pods = await kube.list({ kind: podKind, namespace: etcdNamespace }, signal);
  // A cluster without OpenShift's operators shows neither.
  if (etcd === undefined && pods.length === 0) return;
  if (isDegraded(node) && keepsQuorumWithout(node.metadata.name, pods, members)) return;
  const { isReached, status } = maySpareMember(etcd, pods, members);
  if (!isReached) throw nodeControllerFailure('node-controller.etcd-not-healthy', status);
}

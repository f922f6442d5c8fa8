import { isDeepStrictEqual } from 'node:util';
import {
  events,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes as nodeKind,
  pods as podKind,
} from '../../kube/kinds.ts';
import { listAt, partOf, textAt } from '../../kube/object.ts';
import { selectorText } from '../../kube/selector.ts';
import type { PoolSnapshot } from '../../layering/hand-over/invariants.ts';
import { poolsOfNode } from '../../layering/hand-over/pool-status.ts';
import {
  isOperatorController,
  type leaseObserver,
  operatorReason,
  operatorReasonNow,
  operatorRefs,
} from '../../layering/roll-out/ownership.ts';
import {
  type KubeChange,
  type KubeKind,
  type KubeObject,
  type KubeRef,
  selectionOf,
} from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Informer, informer } from '../../kube/informer.ts';
import type { Queue } from '../../kube/queue.ts';
import type { Note } from '../../engine/events.ts';
import { asAgentError } from '../../engine/failures.ts';

/** Label of the pods of this controller. */
export const controllerApp = 'bootwright-node-controller';

/** Ports and settings of the controllers of pools. */
export interface PoolScope extends Pick<Ports, 'kube' | 'clock'> {
  /** The controller's namespace, also of the Machine Config Operator. */
  readonly namespace: string;
  readonly note: Note;
  /** Observer that reports since when the leases of the operator have not changed. */
  readonly observed: ReturnType<typeof leaseObserver>;
}

/** The last seen objects of roll-outs. */
export interface PoolStores {
  readonly pools: Informer;
  /**
   * By the pool that rolls out to the node, by custom pools if several select it, and nodes with a
   * member of etcd.
   */
  readonly nodes: Informer<'pool' | 'doubled' | 'etcd'>;
  readonly osConfigs: Informer;
  /** By their MachineOSConfig. */
  readonly builds: Informer<'osConfig'>;
  readonly deployments: readonly Informer[];
  readonly leases: readonly Informer[];
  /** Pods of the operator's namespace, by their node, and the pods of the operator's controller. */
  readonly pods: Informer<'node' | 'controller'>;
}

const memberRoles = ['master', 'control-plane', 'arbiter'].map(
  (role) => `node-role.kubernetes.io/${role}`,
);

/** Whether a node has a member of etcd. */
const carriesMember = ({ metadata: { labels = {} } }: KubeObject): boolean =>
  memberRoles.some((role) => labels[role] !== undefined);

/** Creates the stores of all objects that decide about roll-outs. */
export function poolStores(scope: Omit<PoolScope, 'note' | 'observed'>): PoolStores {
  const { namespace } = scope;
  const one = (ref: KubeRef): Informer => informer(scope, selectionOf(ref));
  const pools = informer(scope, { kind: machineConfigPools });
  const selecting = (node: KubeObject): readonly string[] => poolsOfNode(node, pools.all());
  const nodes = informer(
    scope,
    { kind: nodeKind },
    {
      pool: (node) => selecting(node).slice(0, 1),
      doubled: (node) => doubledIn(selecting(node)),
      etcd: (node) => (carriesMember(node) ? [''] : []),
    },
  );
  pools.onChange(({ before, after }) => {
    const selector = (pool: KubeObject | undefined): unknown =>
      pool && partOf(pool, 'spec', 'nodeSelector');
    const isSame = before !== undefined && isDeepStrictEqual(selector(before), selector(after));
    if (!isSame) for (const index of ['pool', 'doubled'] as const) nodes.reindex(index);
  });
  const refs = operatorRefs(namespace);
  return {
    pools,
    nodes,
    osConfigs: informer(scope, { kind: machineOSConfigs }),
    builds: informer(
      scope,
      { kind: machineOSBuilds },
      { osConfig: (build) => [textAt(build, 'spec', 'machineOSConfig', 'name')] },
    ),
    deployments: refs.deployments.map(one),
    leases: refs.leases.map(one),
    pods: informer(
      scope,
      { kind: podKind, namespace },
      {
        node: (pod) => [textAt(pod, 'spec', 'nodeName')],
        controller: (pod) => (isOperatorController(pod) ? [''] : []),
      },
    ),
  };
}

/** One pool at one moment, from the stores or by fresh requests. */
export interface PoolView {
  readonly snapshot: Omit<PoolSnapshot, 'jobs'>;
  /** Its nodes that another custom pool selects too. */
  readonly doubled: readonly string[];
  /** All nodes with a member of etcd, if a node of the pool has one. */
  readonly members: readonly KubeObject[] | undefined;
}

/**
 * Whether a pool is neither of all masters nor of all workers; a node may be in only one such pool.
 */
const isCustom = (name: string): boolean => name !== 'master' && name !== 'worker';

/**
 * The pools that select a node, if several do: the operator refuses such a node (`pkg/helpers`,
 * getPoolsForNode).
 */
function doubledIn(selecting: readonly string[]): readonly string[] {
  const custom = selecting[0] === 'master' ? [] : selecting.filter(isCustom);
  return custom.length > 1 ? custom : [];
}

/** A pool in the stores. */
export function storedView(pool: string, stores: PoolStores): PoolView {
  const { pools, nodes, osConfigs, builds } = stores;
  const own = nodes.by('pool', pool);
  return {
    snapshot: {
      pool,
      nodes: own,
      builds: builds.by('osConfig', pool),
      machineConfigPool: pools.get(pool),
      osConfig: osConfigs.get(pool),
    },
    doubled: nodes.by('doubled', pool).map(({ metadata: { name } }) => name),
    members: own.some(carriesMember) ? nodes.by('etcd', '') : undefined,
  };
}

/** The same by requests: a watch may be late, and two nodes would change at once. */
export async function readView(
  { kube }: Pick<PoolScope, 'kube'>,
  pool: string,
  signal: AbortSignal,
): Promise<PoolView> {
  const list = (kind: KubeKind, more: object = {}): Promise<readonly KubeObject[]> =>
    kube.list({ kind, ...more }, signal);
  const [pools, osConfigs, builds] = await Promise.all([
    list(machineConfigPools),
    list(machineOSConfigs),
    list(machineOSBuilds),
  ]);
  const machineConfigPool = pools.find(({ metadata: { name } }) => name === pool);
  const selector = selectorText(partOf(machineConfigPool, 'spec', 'nodeSelector'));
  const selected = selector === undefined ? [] : await list(nodeKind, { labelSelector: selector });
  const poolsOf = (node: KubeObject): readonly string[] => poolsOfNode(node, pools);
  const nodes = selected.filter((node) => poolsOf(node)[0] === pool);
  const roles = nodes.some(carriesMember) ? memberRoles : [];
  const members = await Promise.all(roles.map((role) => list(nodeKind, { labelSelector: role })));
  const byName = new Map(members.flat().map((node) => [node.metadata.name, node]));
  return {
    snapshot: {
      pool,
      nodes,
      machineConfigPool,
      osConfig: osConfigs.find(({ metadata: { name } }) => name === pool),
      builds: builds.filter((build) => textAt(build, 'spec', 'machineOSConfig', 'name') === pool),
    },
    doubled: selected
      .filter((node) => doubledIn(poolsOf(node)).includes(pool))
      .map(({ metadata: { name } }) => name),
    members: roles.length === 0 ? undefined : [...byName.values()],
  };
}

/**
 * The reason why the operator runs these nodes or their pool, from the stores; undefined where it
 * does not.
 */
export function operatorOf(
  nodes: readonly KubeObject[],
  { deployments, leases, pods }: PoolStores,
  { clock, observed }: Pick<PoolScope, 'clock' | 'observed'>,
): string | undefined {
  const daemons = nodes.flatMap(({ metadata: { name } }) => pods.by('node', name));
  const objects = {
    deployments: deployments.flatMap((one) => one.all()),
    leases: leases.flatMap((one) => one.all()).map(observed),
    now: clock.elapsed(),
    pods: [...pods.by('controller', ''), ...daemons],
  };
  return operatorReason(objects, nodes);
}

/** The same for some nodes, or for none in particular, by fresh requests right before a change. */
export const isOperatedNow = async (
  scope: PoolScope,
  nodes: readonly KubeObject[],
  signal: AbortSignal,
): Promise<boolean> => {
  const names = nodes.map(({ metadata: { name } }) => name);
  return (await operatorReasonNow({ ...scope, nodes: names }, signal)) !== undefined;
};

/** Adds pools to a queue; its keys are names of pools. */
export function watchPools(stores: PoolStores, add: Queue['add']): void {
  const { pools, nodes, osConfigs, builds, pods } = stores;
  const addAll = (): void => {
    for (const { metadata } of pools.all()) add(metadata.name);
  };
  const addPoolsOf = (node: KubeObject | undefined): void => {
    for (const pool of node === undefined ? [] : poolsOfNode(node, pools.all())) add(pool);
  };
  const nameOf = ({ before, after }: KubeChange): string => (after ?? before)?.metadata.name ?? '';
  nodes.onChange((change) => {
    if (!isNews(change)) return;
    const both = [change.before, change.after].filter((node) => node !== undefined);
    // A node with a member of etcd counts for all pools with members.
    if (both.some(carriesMember)) addAll();
    else for (const node of both) addPoolsOf(node);
  });
  pools.onChange((change) => {
    add(nameOf(change));
    addAll();
  });
  osConfigs.onChange((change) => add(nameOf(change)));
  builds.onChange(({ before, after }) =>
    add(textAt(after ?? before, 'spec', 'machineOSConfig', 'name')),
  );
  pods.onChange(({ before, after }) => {
    const pod = after ?? before;
    const maker = listAt(pod, 'metadata', 'ownerReferences')[0];
    const isOfDaemon = partOf(maker as KubeObject | undefined, 'kind') === 'DaemonSet';
    if (isOfDaemon) addPoolsOf(nodes.get(textAt(pod, 'spec', 'nodeName')));
    else addAll();
  });
  for (const store of [...stores.deployments, ...stores.leases]) store.onChange(addAll);
}

/** Whether a node has changed in more than the heartbeats of its kubelet. */
function isNews({ before, after }: KubeChange): boolean {
  const read = (node: KubeObject | undefined): unknown => [
    node?.metadata.uid,
    node?.metadata.labels,
    node?.metadata.annotations,
    node?.['spec'],
    listAt(node, 'status', 'conditions').map((one) =>
      ['type', 'status', 'reason'].map((part) => partOf(one as KubeObject, part)),
    ),
  ];
  return !isDeepStrictEqual(read(before), read(after));
}

/** Namespace of events about cluster-scoped objects (client-go, `record.makeEvent`). */
export const eventNamespace = 'default';

/**
 * Creates an event of a pool, shown by `kubectl describe`. Events are for people: a failure is
 * logged, and no caller waits for it.
 * @throws the signal's reason
 */
export async function poolEvent(
  { kube, clock, note }: PoolScope,
  pool: string,
  event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  // client-go names events by their time, so that each is a separate event.
  const time = (BigInt(Math.round(now)) * 1_000_000n).toString(16);
  const apiVersion = 'machineconfiguration.openshift.io/v1';
  const object = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${pool}.${time}.${event.reason.toLowerCase()}`,
      namespace: eventNamespace,
    },
    involvedObject: { apiVersion, kind: 'MachineConfigPool', name: pool },
    ...event,
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
    source: { component: controllerApp },
  };
  try {
    await kube.create({ kind: events, namespace: eventNamespace }, object, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message: reason } = asAgentError(error);
    note('info', `an event of MachineConfigPool ${pool} could not be made`, { code, reason });
  }
}

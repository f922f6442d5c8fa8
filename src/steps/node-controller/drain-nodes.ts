import { nodes as nodeKind, pods as podKind } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { annotationOf, nodeKeys } from '../../layering/api/cluster-object.ts';
import { poolOfNode } from '../../layering/hand-over/pool-status.ts';
import { isDraining, mustLeave, placeOf } from '../../layering/roll-out/blocked-drain.ts';
import { isCordoned } from '../../layering/roll-out/node-state.ts';
import { operatorReason } from '../../layering/roll-out/ownership.ts';
import { hours, type Millis, seconds } from '../../model/duration.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { poolEvent } from './pool-event.ts';
import { followedPools, operatorNow, type PoolsView } from './pools-view.ts';
import { type NodeControllerScope, nodeControllerStep } from './world.ts';

/** On a node: this controller has cordoned it. One that a person has cordoned stays so after its reboot. */
const cordonedKey = 'bootwright.io/cordoned';

/** A drain that takes so long is said as an event of the pool; it goes on (machine-config-operator, `drain_controller.go`). */
const longDrain: Millis = hours(1);

/** How often pods of a node are read while it is drained. */
const readPodsEvery: Millis = seconds(5);

/**
 * Cordons and drains nodes that ask for it, and uncordons them after their reboot. Pods leave by eviction, as budgets allow:
 * all but those of daemon sets, those of files of the node, and those that have ended.
 */
export const drainNodes = nodeControllerStep({
  id: 'node-controller/drain-nodes',
  title: 'Drain and uncordon nodes that ask for it',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: it goes on as long as the controller runs',
  run: async (scope) => {
    const { clock } = scope;
    const pools = followedPools(scope);
    const since = new Map<string, Millis>();
    const blocked = new Map<string, string>();
    const toLeave = new Map<string, ReadonlySet<string | undefined>>();
    await reconcile<DrainsSeen, DrainAction>(scope, 'nodes ask for no drain', {
      watch: pools.watch,
      every: readPodsEvery,
      observe: async (signal) => {
        const view = pools.view();
        const pods = new Map<string, readonly KubeObject[]>();
        const asking = 'gap' in view ? [] : view.nodes.filter(isDraining);
        for (const node of asking) {
          pods.set(node.metadata.name, await podsOf(scope, { node, toLeave }, signal));
        }
        for (const drain of [toLeave, since]) forgetBut(drain, new Set(asking.map(idOf)));
        const uids = new Set([...pods.values()].flat().map(({ metadata }) => metadata.uid ?? ''));
        forgetBut(blocked, uids);
        const now = clock.elapsed();
        for (const id of asking.map(idOf)) if (!since.has(id)) since.set(id, now);
        const late = asking.filter((node) => now - (since.get(idOf(node)) ?? now) >= longDrain);
        return {
          ...{ view, pods, blocked },
          late: new Map(late.map((node) => [node.metadata.name, since.get(idOf(node)) ?? now])),
        };
      },
      decide: drainsDue,
      apply: (action, signal) => carryOut({ ...scope, blocked }, action, signal),
    });
  },
});

interface DrainsSeen {
  readonly view: PoolsView | { readonly gap: string };
  /** The pods of each node that is being drained. */
  readonly pods: ReadonlyMap<string, readonly KubeObject[]>;
  /** Why pods could not be evicted, by their uid. */
  readonly blocked: ReadonlyMap<string, string>;
  /** Nodes that have been draining for an hour, with the moment when that began. */
  readonly late: ReadonlyMap<string, number>;
}

interface NodeAction extends Action {
  readonly type: 'cordon' | 'drained' | 'uncordon';
  readonly asked: Asked;
}

/** A node as it was seen, and the request of it that is answered. */
interface Asked {
  readonly node: KubeObject;
  readonly request: string;
}

interface Eviction extends Action {
  readonly type: 'evict';
  readonly pod: KubeObject;
  readonly asked: Asked;
}

function forgetBut(map: Map<string, unknown>, kept: ReadonlySet<string>): void {
  for (const key of map.keys()) if (!kept.has(key)) map.delete(key);
}

/** One that was installed again has its name from the one before, and nothing else. */
const idOf = ({ metadata: { name, uid = name } }: KubeObject): string => uid;

interface Leaving {
  readonly node: KubeObject;
  /** By id of the node, the pods that were there when it was cordoned. */
  readonly toLeave: Map<string, ReadonlySet<string | undefined>>;
}

/** What comes to a cordoned node tolerates that, and would come again after each eviction: it is left out. */
async function podsOf(
  { kube }: NodeControllerScope<'kube'>,
  { node, toLeave }: Leaving,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { name } = node.metadata;
  const fieldSelector = `spec.nodeName=${name}`;
  const listed = await kube.list({ kind: podKind, fieldSelector }, signal);
  const uids = toLeave.get(idOf(node)) ?? new Set(listed.map(({ metadata }) => metadata.uid));
  if (isCordoned(node)) toLeave.set(idOf(node), uids);
  // To one that somebody has uncordoned pods come that may go again.
  else toLeave.delete(idOf(node));
  return listed.filter(({ metadata }) => uids.has(metadata.uid));
}

interface LateDrain extends Action {
  readonly type: 'late';
  readonly pool: string;
  readonly message: string;
}

type DrainAction = NodeAction | Eviction | LateDrain;

const requestOf = (node: KubeObject): string => {
  const request = annotationOf(node, nodeKeys.desiredDrain);
  return request === annotationOf(node, nodeKeys.lastAppliedDrain) ? '' : request;
};

/** How many pods are named in a status. */
const mostNamed = 3;

/** What is due for nodes that ask for a drain, or for its end, and that the operator does not run. */
export function drainsDue({ view, pods, blocked, late }: DrainsSeen): Decision<DrainAction> {
  if ('gap' in view) return { actions: [], missing: view.gap };
  const due = view.nodes.flatMap((node): readonly (Decision<DrainAction> | undefined)[] => {
    const { name } = node.metadata;
    const request = requestOf(node);
    if (request === '') return [];
    const pool = poolOfNode(node, view);
    const members = pool === undefined ? [node] : pool.nodes;
    if (operatorReason(view.operator, members) !== undefined) return [];
    const of = (type: NodeAction['type']): Decision<DrainAction> => ({
      actions: [{ type, key: `${type} node ${name}`, asked: { node, request } }],
      missing: undefined,
    });
    if (request.startsWith('uncordon-')) return [of('uncordon')];
    if (!request.startsWith('drain-')) return [];
    if (!isCordoned(node)) return [of('cordon')];
    const listed = pods.get(name);
    // Its pods are read with the next observation.
    if (listed === undefined) return [];
    // Pods of a single node have nowhere to go, and the one that drains is among them.
    const left = view.nodes.length === 1 ? [] : listed.filter(mustLeave);
    if (left.length === 0) return [of('drained')];
    const status = leftText(name, left, blocked);
    const since = late.get(name);
    return [
      {
        actions: [
          ...left
            .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
            .map((pod) => evictionOf(pod, { node, request })),
          ...(since === undefined || pool === undefined
            ? []
            : [lateDrain(pool.name, { name, since: String(since), status })]),
        ],
        missing: status,
      },
    ];
  });
  const missing = due.flatMap((one) => (one?.missing === undefined ? [] : [one.missing]));
  return {
    actions: due.flatMap((one) => one?.actions ?? []),
    missing: missing.length === 0 ? 'no node asks for a drain' : missing.join('; '),
  };
}

const evictionOf = (pod: KubeObject, asked: Asked): Eviction => ({
  type: 'evict',
  key: `eviction of pod ${placeOf(pod)} from node ${asked.node.metadata.name}`,
  ...{ pod, asked },
});

const lateDrain = (
  pool: string,
  { name, since, status }: Readonly<Record<'name' | 'since' | 'status', string>>,
): LateDrain => ({
  ...{ type: 'late', key: `late drain of node ${name}`, once: `${name} ${since}`, pool },
  message: `the drain has taken more than an hour; it goes on, and the node is not rebooted: ${status}`,
});

function leftText(
  node: string,
  left: readonly KubeObject[],
  blocked: ReadonlyMap<string, string>,
): string {
  const why = (pod: KubeObject): string => blocked.get(pod.metadata.uid ?? '') ?? '';
  // First those that only a person can help.
  const sorted = [...left].sort((a, b) => Number(why(b) !== '') - Number(why(a) !== ''));
  const named = sorted.slice(0, mostNamed).map((pod) => {
    const reason = why(pod);
    return reason === '' ? placeOf(pod) : `${placeOf(pod)} (${reason})`;
  });
  const more = left.length > mostNamed ? [`${left.length - mostNamed} more`] : [];
  return `node ${node} still has ${[...named, ...more].join(', ')}`;
}

interface Draining extends NodeControllerScope<'kube' | 'clock'> {
  readonly blocked: Map<string, string>;
}

async function carryOut(scope: Draining, action: DrainAction, signal: AbortSignal): Promise<void> {
  if (action.type === 'evict') return evict(scope, action, signal);
  if (action.type === 'late') {
    const { pool, message } = action;
    scope.note('warn', `pool ${pool}: ${message}`);
    return poolEvent(scope, { pool, type: 'Warning', reason: 'FailedToDrain', message }, signal);
  }
  return changeNode(scope, action, signal);
}

/** The node as it is now; undefined where it is another one, asks for something else, or is the operator's. */
async function reread(
  scope: Draining,
  { node: seen, request }: Asked,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const node = await scope.kube.get({ kind: nodeKind, name: seen.metadata.name }, signal);
  if (node === undefined || idOf(node) !== idOf(seen) || requestOf(node) !== request) return;
  return (await operatorNow(scope, [node], signal)) === undefined ? node : undefined;
}

/** Changes the node only as it is now: a node that asks for something else meanwhile is left. */
async function changeNode(
  scope: Draining,
  { type, asked }: NodeAction,
  signal: AbortSignal,
): Promise<void> {
  const { kube, note } = scope;
  const node = await reread(scope, asked, signal);
  if (node === undefined) return;
  const { request } = asked;
  const { name } = node.metadata;
  const ref: KubeRef = { kind: nodeKind, name };
  if (type === 'cordon' && isCordoned(node)) return;
  // Whoever has uncordoned it since wants pods there: it is cordoned again first.
  if (type === 'drained' && !isCordoned(node)) return;
  const isOurs = annotationOf(node, cordonedKey) !== '';
  const applied = { [nodeKeys.lastAppliedDrain]: request };
  const change = {
    // An answer of an earlier round must not count for the end of this one.
    cordon: {
      annotations: { [cordonedKey]: 'true', [nodeKeys.lastAppliedDrain]: null },
      spec: { unschedulable: true },
    },
    drained: { annotations: applied, spec: {} },
    uncordon: {
      annotations: { ...applied, [cordonedKey]: null },
      spec: isOurs ? { unschedulable: null } : {},
    },
  }[type];
  const { resourceVersion } = node.metadata;
  const body = {
    metadata: { resourceVersion, annotations: change.annotations },
    ...(Object.keys(change.spec).length === 0 ? {} : { spec: change.spec }),
  };
  await kube.patch(ref, { type: 'merge', body }, signal);
  note('info', `node ${name}: ${type}`, { request });
}

async function evict(
  scope: Draining,
  { pod, asked }: Eviction,
  signal: AbortSignal,
): Promise<void> {
  const { kube, note, blocked } = scope;
  const node = await reread(scope, asked, signal);
  // From a node that somebody has uncordoned nothing is evicted: it would come again.
  if (node === undefined || !isCordoned(node)) return;
  const { name, namespace = '', uid = '' } = pod.metadata;
  try {
    await kube.evict({ namespace, name, uid }, signal);
    blocked.delete(uid);
    note('info', `pod ${placeOf(pod)} is evicted`, { node: node.metadata.name });
  } catch (error) {
    blocked.set(uid, asAgentError(error).message);
    throw error;
  }
}

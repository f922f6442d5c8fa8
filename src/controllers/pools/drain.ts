import { isDeepStrictEqual } from 'node:util';
import { nodes as nodeKind, pods as podKind } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { annotationOf, listAt, partOf, patchOf, readAgain } from '../../kube/object.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { fieldsOf } from '../../lib/fields.ts';
import { poolsOfNode } from '../../layering/hand-over/pool-status.ts';
import {
  isDraining,
  mustLeave,
  placeOf,
  requestOf,
} from '../../layering/roll-out/blocked-drain.ts';
import { isCordoned, unreadyReason } from '../../layering/roll-out/node-state.ts';
import { hours, type Millis, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { Controller } from '../../kube/manager.ts';
import type { Queue } from '../../kube/queue.ts';
import {
  controllerApp,
  isOperatedNow,
  operatorOf,
  poolEvent,
  type PoolScope,
  type PoolStores,
} from './stores.ts';

/**
 * Annotation of a node: `true` if this controller has cordoned it, `false` if a person had cordoned
 * it before the drain, so that it stays cordoned after its reboot.
 */
const cordonedKey = 'bootwright.io/cordoned';

/**
 * The operator's taint on nodes that are still to change, which it removes afterwards
 * (machine-config-operator 7ff337a4, `NodeUpdateInProgressTaint`). A taint that it has left behind
 * is removed at the end of the change here.
 */
const operatorTaint = 'UpdateInProgress';

/**
 * A drain that takes this long is reported as an event of the pool, and continues
 * (machine-config-operator, `drain_controller.go`).
 */
const longDrain: Millis = hours(1);

/** Interval of reads of a node's pods during its drain. */
const readPodsEvery: Millis = seconds(5);

/** A change of a node for its request, or the eviction of one of its pods. */
type DrainAction = { readonly request: string } & (
  { readonly type: keyof typeof nodePatches } | { readonly type: 'evict'; readonly pod: KubeObject }
);

/** A node that requests a drain, or an uncordon. */
interface DrainView {
  readonly node: KubeObject;
  /** The pods that have to leave it. */
  readonly leaving: readonly KubeObject[];
  /** The pods of `leaving` that are to be evicted now. */
  readonly due: readonly KubeObject[];
  /** The node was cordoned for this request while the operator existed. */
  readonly isInherited: boolean;
}

/** State of a request in memory; after a restart of the controller the hour begins again. */
interface Drain {
  /** Uid of the node: a reinstalled node has only the name of its predecessor. */
  readonly node: string;
  readonly request: string;
  readonly since: Millis;
  /** Reasons why pods could not be evicted, by their uid. */
  readonly blocked: Map<string, BlockedPod>;
  /** Uids of the pods that were on the node when it was cordoned. */
  toLeave: ReadonlySet<string | undefined> | undefined;
  isReported: boolean;
}

interface BlockedPod {
  readonly message: string;
  readonly pause: Millis;
  readonly until: Millis;
}

/** The pause before another eviction of a blocked pod is doubled up to this limit. */
const longestPause: Millis = seconds(30);

/** Adds nodes to the queue of drains; its keys are names of nodes. */
export function watchDrains({ nodes }: PoolStores, add: Queue['add']): void {
  nodes.onChange(({ before, after }) => add((after ?? before)?.metadata.name ?? ''));
}

/**
 * Cordons and drains a node on request, and uncordons it after its reboot. Pods leave by eviction,
 * as budgets allow: all but pods of daemon sets, static pods, and pods that have ended.
 */
export function drainController(
  scope: PoolScope,
  stores: PoolStores,
): Pick<Controller, 'reconcile'> {
  const { kube, clock } = scope;
  const drains = new Map<string, Drain>();
  /** Requests of nodes that were cordoned while the operator existed. */
  const ofOperator = new Map<string, string>();
  return {
    reconcile: async (name, signal) => {
      const node = stores.nodes.get(name);
      if (node === undefined || !isDraining(node)) {
        drains.delete(name);
        ofOperator.delete(name);
      }
      if (node === undefined || requestOf(node) === '') return {};
      const [pool] = poolsOfNode(node, stores.pools.all());
      const members = pool === undefined ? [node] : stores.nodes.by('pool', pool);
      if (operatorOf(members, stores, scope) !== undefined) {
        if (isCordoned(node)) ofOperator.set(name, requestOf(node));
        return { after: readPodsEvery };
      }
      const drain = drainOf(drains, node, clock.elapsed());
      const leaving =
        isDraining(node) && isCordoned(node)
          ? await leavingPods(scope, node, drain, stores.nodes.all(), signal)
          : [];
      const view: DrainView = {
        node,
        isInherited: ofOperator.get(name) === requestOf(node),
        leaving,
        due: leaving.filter((pod) => isDue(pod, drain, clock.elapsed())),
      };
      const perform = async (action: DrainAction): Promise<void> => {
        // Another client may have changed the node since the stores were read.
        const now = await readAgain(kube, { kind: nodeKind, name }, node, signal);
        if (now === undefined || (await isOperatedNow(scope, [now], signal))) return;
        const again = drainActions({ ...view, node: now });
        if (!again.some((one) => isDeepStrictEqual(one, action))) return;
        if (action.type === 'evict') await evict(scope, name, action.pod, drain, signal);
        else await patchNode(scope, now, action.type, signal);
      };
      await eachOf(drainActions(view), perform, signal);
      if (leaving.length === 0) return { after: readPodsEvery };
      const status = leftText(name, leaving, drain.blocked);
      if (pool !== undefined) await reportLate(scope, pool, drain, status, signal);
      return { after: readPodsEvery, status };
    },
  };
}

function drainOf(drains: Map<string, Drain>, node: KubeObject, now: Millis): Drain {
  const { name, uid = name } = node.metadata;
  const known = drains.get(name);
  const request = requestOf(node);
  const drain: Drain =
    known?.node === uid && known.request === request
      ? known
      : {
          node: uid,
          request,
          since: now,
          blocked: new Map(),
          toLeave: undefined,
          isReported: false,
        };
  drains.set(name, drain);
  // New pods may have come to a node that was uncordoned, and have to leave it again.
  if (!isCordoned(node)) drain.toLeave = undefined;
  return drain;
}

/**
 * The pods that have to leave a cordoned node. A pod that came after the cordon tolerates it, and
 * would come again after each eviction: it is skipped.
 * @param all all nodes of the cluster
 */
async function leavingPods(
  { kube, namespace }: PoolScope,
  node: KubeObject,
  drain: Drain,
  all: readonly KubeObject[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const { name } = node.metadata;
  const fieldSelector = `spec.nodeName=${name}`;
  const listed = await kube.list({ kind: podKind, fieldSelector }, signal);
  const uids = (drain.toLeave ??= new Set(listed.map(({ metadata }) => metadata.uid)));
  // The pods of a single node have no other node, and the controller's own pod is among them.
  if (all.length === 1) return [];
  // The node itself is cordoned, and takes none.
  return listed
    .filter(({ metadata }) => uids.has(metadata.uid))
    .filter(mustLeave)
    .filter((pod) => !isController(pod, namespace) || all.some((one) => mayTake(one, pod)));
}

/** Whether a pod is to be evicted now. */
const isDue = (
  { metadata: { uid = '', deletionTimestamp } }: KubeObject,
  drain: Drain,
  now: Millis,
) => deletionTimestamp === undefined && (drain.blocked.get(uid)?.until ?? 0) <= now;

const isController = ({ metadata }: KubeObject, namespace: string): boolean =>
  metadata.namespace === namespace && metadata.labels?.['app'] === controllerApp;

/**
 * Whether a pod may run on a node; if no other node accepts this controller's pod, the controller
 * would evict itself and never end the drain.
 */
const mayTake = (node: KubeObject, pod: KubeObject): boolean =>
  unreadyReason(node) === undefined &&
  Object.entries(Object(partOf(pod, 'spec', 'nodeSelector')) as Record<string, string>).every(
    ([key, value]) => node.metadata.labels?.[key] === value,
  );

/**
 * Whether the cordon of a node ends with its present round. Our cordon removes the answer of the
 * round before, so our mark beside the end of an earlier round is outdated: another client has
 * cordoned the node since. A node that was drained without our annotation was drained by the
 * operator, which was removed then: the operator ends each cordon with its round
 * (machine-config-operator 7ff337a4, `drain_controller.go`), and no other program would.
 */
function endsWithRound(node: KubeObject): boolean {
  const mark = annotationOf(node, cordonedKey);
  const answer = annotationOf(node, nodeKeys.lastAppliedDrain);
  return mark === ''
    ? answer.startsWith('drain-')
    : mark === 'true' && !answer.startsWith('uncordon-');
}

/** The due actions for a node, by its own annotations. */
function drainActions({ node, leaving, due, isInherited }: DrainView): readonly DrainAction[] {
  const request = requestOf(node);
  if (request.startsWith('uncordon-')) return [{ type: 'uncordon', request }];
  if (!request.startsWith('drain-')) return [];
  // An uncordon since then asks for pods there: the node is cordoned again first.
  if (!isCordoned(node) || (isInherited && !endsWithRound(node)))
    return [{ type: 'cordon', request }];
  if (leaving.length === 0) return [{ type: 'drained', request }];
  return due.map((pod) => ({ type: 'evict', request, pod }));
}

/** The most actions that run at once. */
const mostAtOnce = 8;

/**
 * Performs actions; a failed one does not delay the others.
 * @throws the first failure, after all have ended; the signal's reason
 */
async function eachOf(
  actions: readonly DrainAction[],
  perform: (action: DrainAction) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  const left = [...actions];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      try {
        await perform(next);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: mostAtOnce }, work));
  if (failures.length > 0) throw failures[0];
}

/** The merge patch of each change of a node. */
const nodePatches = {
  // An answer of an earlier round must not count for the end of this one.
  cordon: () => ({
    metadata: { annotations: { [cordonedKey]: 'true', [nodeKeys.lastAppliedDrain]: null } },
    spec: { unschedulable: true },
  }),
  drained: (node, request) => ({
    metadata: {
      annotations: {
        [nodeKeys.lastAppliedDrain]: request,
        ...(endsWithRound(node) ? {} : { [cordonedKey]: 'false' }),
      },
    },
  }),
  uncordon: (node, request) => {
    const taints = listAt(node, 'spec', 'taints');
    const others = taints.filter((one) => fieldsOf(one)['key'] !== operatorTaint);
    return {
      metadata: { annotations: { [nodeKeys.lastAppliedDrain]: request, [cordonedKey]: null } },
      spec: {
        ...(endsWithRound(node) ? { unschedulable: null } : {}),
        ...(others.length < taints.length ? { taints: others } : {}),
      },
    };
  },
} as const satisfies Readonly<
  Record<string, (node: KubeObject, request: string) => Parameters<typeof patchOf>[1]>
>;

async function patchNode(
  { kube, note }: PoolScope,
  node: KubeObject,
  type: keyof typeof nodePatches,
  signal: AbortSignal,
): Promise<void> {
  const { name } = node.metadata;
  const request = requestOf(node);
  const patch = patchOf(node, nodePatches[type](node, request));
  await kube.patch({ kind: nodeKind, name }, patch, signal);
  note('info', `node ${name}: ${type}`, { request });
}

async function evict(
  { kube, clock, note }: PoolScope,
  node: string,
  pod: KubeObject,
  { blocked }: Drain,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid = '' } = pod.metadata;
  try {
    await kube.evict({ namespace, name, uid }, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    const before = blocked.get(uid);
    if (before?.message !== message)
      note('warn', `pod ${placeOf(pod)} cannot be evicted`, { code, reason: message });
    const pause = Math.min(longestPause, (before?.pause ?? readPodsEvery / 2) * 2);
    blocked.set(uid, { message, pause, until: clock.elapsed() + pause });
    return;
  }
  blocked.delete(uid);
  note('info', `pod ${placeOf(pod)} is evicted`, { node });
}

/** The most pods that a status names. */
const mostNamed = 3;

function leftText(
  node: string,
  left: readonly KubeObject[],
  blocked: ReadonlyMap<string, BlockedPod>,
): string {
  const why = (pod: KubeObject): string => blocked.get(pod.metadata.uid ?? '')?.message ?? '';
  // Pods that only a person can help come first.
  const sorted = [...left].sort((a, b) => Number(why(b) !== '') - Number(why(a) !== ''));
  const named = sorted.slice(0, mostNamed).map((pod) => {
    const reason = why(pod);
    return reason === '' ? placeOf(pod) : `${placeOf(pod)} (${reason})`;
  });
  const more = left.length > mostNamed ? [`${left.length - mostNamed} more`] : [];
  return `node ${node} still has ${[...named, ...more].join(', ')}`;
}

async function reportLate(
  scope: PoolScope,
  pool: string,
  drain: Drain,
  status: string,
  signal: AbortSignal,
): Promise<void> {
  if (drain.isReported || scope.clock.elapsed() - drain.since < longDrain) return;
  drain.isReported = true;
  const message = `the drain has taken more than an hour; it continues, and the node is not rebooted: ${status}`;
  scope.note('warn', `pool ${pool}: ${message}`);
  await poolEvent(scope, pool, { type: 'Warning', reason: 'FailedToDrain', message }, signal);
}

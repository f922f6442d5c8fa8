import { nodes as nodeKind, pods as podKind } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { annotationOf, listAt, partOf } from '../../kube/object.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { fieldsOf } from '../../lib/fields.ts';
import { poolsOfNode } from '../../layering/hand-over/pool-status.ts';
import { isDraining, mustLeave, placeOf } from '../../layering/roll-out/blocked-drain.ts';
import { isCordoned, unreadyReason } from '../../layering/roll-out/node-state.ts';
import { hours, type Millis, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type Action, type ActionTable, performActions } from '../../kube/actions.ts';
import type { Controller } from '../../kube/manager.ts';
import type { Queue } from '../../kube/queue.ts';
import { patchOf, readAgain } from '../../kube/write.ts';
import {
  controllerApp,
  isOperatedNow,
  operatorOf,
  poolEvent,
  type PoolScope,
  type PoolStores,
} from './stores.ts';

/**
 * On a node: `true` where this controller has cordoned it, `false` where a person had before it was
 * drained here, so that it stays cordoned after its reboot.
 */
const cordonedKey = 'bootwright.io/cordoned';

/**
 * The operator puts it on nodes that are still to change, and takes it off once they have
 * (machine-config-operator 7ff337a4, `NodeUpdateInProgressTaint`). One that it has left behind ends
 * with the change here.
 */
const operatorTaint = 'UpdateInProgress';

/**
 * A drain that takes so long is reported as an event of the pool; it continues
 * (machine-config-operator, `drain_controller.go`).
 */
const longDrain: Millis = hours(1);

/** How often pods of a node are read while it is drained. */
const readPodsEvery: Millis = seconds(5);

interface NodeChange extends Action {
  readonly type: 'cordon' | 'disown-cordon' | 'drained' | 'uncordon';
  readonly node: KubeObject;
}

interface Eviction extends Action {
  readonly type: 'evict';
  readonly node: KubeObject;
  readonly pod: KubeObject;
}

type DrainAction = NodeChange | Eviction;

/** A node that asks for a drain, or for its end. */
interface DrainView {
  readonly node: KubeObject;
  /** The pods that have to leave it. */
  readonly leaving: readonly KubeObject[];
  /** Those of them that are to be evicted now. */
  readonly due: readonly KubeObject[];
  /** It was cordoned for this request while the operator was there. */
  readonly isInherited: boolean;
}

/** What is remembered of a drain; a controller that starts again begins its hour again. */
interface Drain {
  /**
   * The node by its uid: one that was installed again has its name from the one before, and nothing
   * else.
   */
  readonly node: string;
  readonly request: string;
  readonly since: Millis;
  /** Why pods could not be evicted, by their uid. */
  readonly blocked: Map<string, Blocked>;
  /** The pods that were there when the node was cordoned, by their uid. */
  toLeave: ReadonlySet<string | undefined> | undefined;
  isReported: boolean;
}

interface Blocked {
  readonly message: string;
  readonly pause: Millis;
  readonly until: Millis;
}

/** A pod that may not go is asked to go again after twice the time. */
const longestPause: Millis = seconds(30);

/** What a node asks for and has not been answered; empty for nothing. */
const requestOf = (node: KubeObject): string => {
  const request = annotationOf(node, nodeKeys.desiredDrain);
  return request === annotationOf(node, nodeKeys.lastAppliedDrain) ? '' : request;
};

/** What adds nodes to the queue of drains, whose keys they are. */
export function watchDrains({ nodes }: PoolStores, add: Queue['add']): void {
  nodes.onChange(({ before, after }) => {
    const isAsking = [before, after].some((node) => node !== undefined && requestOf(node) !== '');
    if (isAsking) add((after ?? before)?.metadata.name ?? '');
  });
}

/** The nodes that ask for something now. */
export const askingNodes = ({ nodes }: PoolStores): readonly string[] =>
  nodes
    .all()
    .filter((node) => requestOf(node) !== '')
    .map(({ metadata: { name } }) => name);

/**
 * Cordons and drains a node that asks for it, and uncordons it after its reboot. Pods leave by
 * eviction, as budgets allow: all but those of daemon sets, those of files of the node, and those
 * that have ended.
 */
export function drainController(
  scope: PoolScope,
  stores: PoolStores,
): Pick<Controller, 'reconcile'> {
  const { kube, clock } = scope;
  const drains = new Map<string, Drain>();
  /** What nodes asked for that were cordoned while the operator was there. */
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
      const drain = isDraining(node) ? drainOf(drains, node, clock.elapsed()) : undefined;
      const leaving =
        drain === undefined || !isCordoned(node)
          ? []
          : await leavingPods(scope, node, drain, stores.nodes.all(), signal);
      const view: DrainView = {
        node,
        isInherited: ofOperator.get(name) === requestOf(node),
        leaving,
        due: leaving.filter((pod) => drain && isDue(pod, drain, clock.elapsed())),
      };
      const fresh = async (): Promise<DrainView | undefined> => {
        const now = await readAgain(kube, { kind: nodeKind, name }, node, signal);
        if (now === undefined || (await isOperatedNow(scope, [now], signal))) return undefined;
        return { ...view, node: now };
      };
      const table = drainTable(scope, drain);
      await performActions({ seen: view, decide: drainActions, readAgain: fresh, table }, signal);
      if (drain === undefined || leaving.length === 0) return { after: readPodsEvery };
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
  // To one that somebody has uncordoned pods come that may go again.
  if (!isCordoned(node)) drain.toLeave = undefined;
  return drain;
}

/**
 * The pods that have to leave a cordoned node. What comes to it tolerates that, and would come
 * again after each eviction: it is left out.
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
  // Pods of a single node have nowhere to go, and the one that drains is among them.
  if (all.length === 1) return [];
  const mayGo = (pod: KubeObject): boolean =>
    all.some((one) => one.metadata.name !== name && mayTake(one, pod));
  return listed
    .filter(({ metadata }) => uids.has(metadata.uid))
    .filter(mustLeave)
    .filter((pod) => !isController(pod, namespace) || mayGo(pod));
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
 * Whether a pod may come to a node; without one, this controller would evict itself and never end
 * the drain.
 */
const mayTake = (node: KubeObject, pod: KubeObject): boolean =>
  unreadyReason(node) === undefined &&
  Object.entries(Object(partOf(pod, 'spec', 'nodeSelector')) as Record<string, string>).every(
    ([key, value]) => node.metadata.labels?.[key] === value,
  );

/**
 * Whether the cordon of a node ends with its present round. Our own takes the answer of the round
 * before away, so one that stands beside the end of an earlier round was left behind: somebody else
 * has cordoned the node since. What was drained without our annotation, the operator drained, which
 * then went away: it ends each cordon with its round (machine-config-operator 7ff337a4,
 * `drain_controller.go`), and nobody else would.
 */
function endsWithRound(node: KubeObject): boolean {
  const mark = annotationOf(node, cordonedKey);
  const answer = annotationOf(node, nodeKeys.lastAppliedDrain);
  return mark === ''
    ? answer.startsWith('drain-')
    : mark === 'true' && !answer.startsWith('uncordon-');
}

/** What is due for a node, by its own annotations. */
function drainActions({ node, leaving, due, isInherited }: DrainView): readonly DrainAction[] {
  const request = requestOf(node);
  const { name } = node.metadata;
  const of = (type: NodeChange['type']): DrainAction => ({ type, target: request, node });
  if (request.startsWith('uncordon-')) return [of('uncordon')];
  if (!request.startsWith('drain-')) return [];
  // Whoever has uncordoned it since wants pods there: it is cordoned again first.
  const isOurs = annotationOf(node, cordonedKey) === 'true';
  if (!isCordoned(node) || (isInherited && !isOurs)) return [of('cordon')];
  if (annotationOf(node, cordonedKey) !== '' && !endsWithRound(node)) return [of('disown-cordon')];
  if (leaving.length === 0) return [of('drained')];
  return due.map((pod) => ({
    type: 'evict',
    target: `${name} ${pod.metadata.uid ?? ''}`,
    node,
    pod,
  }));
}

function drainTable(scope: PoolScope, drain: Drain | undefined): ActionTable<DrainAction> {
  const { kube, clock, note } = scope;
  const change =
    (bodyOf: (node: KubeObject, request: string) => Parameters<typeof patchOf>[1]) =>
    async ({ type, node }: NodeChange, signal: AbortSignal): Promise<void> => {
      const { name } = node.metadata;
      const request = requestOf(node);
      const patch = patchOf(node, bodyOf(node, request));
      await kube.patch({ kind: nodeKind, name }, patch, signal);
      note('info', `node ${name}: ${type}`, { request });
    };
  return {
    // An answer of an earlier round must not count for the end of this one.
    cordon: change(() => ({
      metadata: { annotations: { [cordonedKey]: 'true', [nodeKeys.lastAppliedDrain]: null } },
      spec: { unschedulable: true },
    })),
    'disown-cordon': change(() => ({ metadata: { annotations: { [cordonedKey]: null } } })),
    drained: change((node, request) => ({
      metadata: {
        annotations: {
          [nodeKeys.lastAppliedDrain]: request,
          ...(endsWithRound(node) ? {} : { [cordonedKey]: 'false' }),
        },
      },
    })),
    uncordon: change((node, request) => {
      const taints = listAt(node, 'spec', 'taints');
      const others = taints.filter((one) => fieldsOf(one)['key'] !== operatorTaint);
      return {
        metadata: { annotations: { [nodeKeys.lastAppliedDrain]: request, [cordonedKey]: null } },
        spec: {
          ...(endsWithRound(node) ? { unschedulable: null } : {}),
          ...(others.length < taints.length ? { taints: others } : {}),
        },
      };
    }),
    evict: async ({ node, pod }, signal) => {
      const { name, namespace = '', uid = '' } = pod.metadata;
      try {
        await kube.evict({ namespace, name, uid }, signal);
      } catch (error) {
        signal.throwIfAborted();
        const { code, message } = asAgentError(error);
        const before = drain?.blocked.get(uid);
        if (before?.message !== message)
          note('warn', `pod ${placeOf(pod)} cannot be evicted`, { code, reason: message });
        const pause = Math.min(longestPause, (before?.pause ?? readPodsEvery / 2) * 2);
        drain?.blocked.set(uid, { message, pause, until: clock.elapsed() + pause });
        return;
      }
      drain?.blocked.delete(uid);
      note('info', `pod ${placeOf(pod)} is evicted`, { node: node.metadata.name });
    },
  };
}

/** How many pods are named in a status. */
const mostNamed = 3;

function leftText(
  node: string,
  left: readonly KubeObject[],
  blocked: ReadonlyMap<string, Blocked>,
): string {
  const why = (pod: KubeObject): string => blocked.get(pod.metadata.uid ?? '')?.message ?? '';
  // First those that only a person can help.
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
  await poolEvent(scope, pool, { type: 'Warning', reason: 'FailedToDrain', message })(signal);
}

import { isSettled, type NodeStanding } from './node-standing.ts';
import type { PodAct, PodStanding } from './pods.ts';

/** Something that is done about a pool; everything that was done before can be seen in the cluster. */
export type SwitchAct =
  | { readonly kind: 'start-pod'; readonly node: NodeStanding; readonly act: PodAct }
  /** So that it can be started anew. */
  | { readonly kind: 'remove-pod'; readonly node: NodeStanding; readonly pod: PodStanding }
  | { readonly kind: 'ask-drain'; readonly node: NodeStanding }
  /** Both annotations of the image are written, so that the daemon finds nothing to do when it starts. */
  | { readonly kind: 'tell-image'; readonly node: NodeStanding }
  | { readonly kind: 'remove-pods'; readonly node: NodeStanding }
  | { readonly kind: 'wait'; readonly why: string }
  | { readonly kind: 'done' };

/** A pool at one moment. */
export interface PoolStanding {
  /** In the order of their names. */
  readonly nodes: readonly NodeStanding[];
  /** Why no node may be taken out of work now; undefined when one may. */
  readonly objection: string | undefined;
  /** The pool has another MachineConfig than the image was built for: no further node is begun. */
  readonly isOutdated: boolean;
}

/**
 * What is to be done next about a pool. Every node stages its image as soon as it can, for that takes nothing away;
 * only one is drained and restarted at a time, and none while another is not at rest.
 */
export function nextSwitchAct({ nodes, objection, isOutdated }: PoolStanding): SwitchAct {
  const acts = nodes.map((node) => ({ node, act: actOn(node) }));
  const staging = acts.find(({ act }) => act.kind === 'start-pod' && act.act === 'stage');
  if (staging !== undefined && !isOutdated) return staging.act;
  const away = acts.find(({ node, act }) => isOnItsWay(node) && act.kind !== 'done')?.act;
  if (away !== undefined)
    return isRestart(away) && objection !== undefined ? wait(objection) : away;
  if (isOutdated) return { kind: 'done' };
  const due = acts.map(({ act }) => act);
  const drain = due.find(({ kind }) => kind === 'ask-drain');
  if (drain === undefined) return due.find(({ kind }) => kind !== 'done') ?? { kind: 'done' };
  const restless = nodes.find((node) => !isAtRest(node));
  const why = restless === undefined ? objection : `${restless.name} ${restlessness(restless)}`;
  return why === undefined ? drain : wait(why);
}

const wait = (why: string): SwitchAct => ({ kind: 'wait', why });

const isRestart = (act: SwitchAct): boolean => act.kind === 'start-pod' && act.act === 'restart';

/** The node is out of work, or has been. */
const isOnItsWay = ({ drain, isTold, pods: { record, restart, check } }: NodeStanding): boolean =>
  drain !== 'none' || isTold || [record, restart, check].some((pod) => pod !== undefined);

const isAtRest = ({ readiness, state, hasConfig, drain }: NodeStanding): boolean =>
  readiness.isReady && state === 'Done' && hasConfig && drain === 'none';

function restlessness({ readiness, state, reason, hasConfig }: NodeStanding): string {
  if (!readiness.isReady) return `is NotReady: ${readiness.reason}`;
  if (state !== 'Done') return `is ${state === '' ? 'without a state' : state}${because(reason)}`;
  return hasConfig ? 'is being drained' : 'has another MachineConfig than its pool';
}

const because = (reason: string): string => (reason === '' ? '' : `: ${reason}`);

function actOn(node: NodeStanding): SwitchAct {
  const { bootId, drain, pods } = node;
  const { restart } = pods;
  if (restart !== undefined) {
    // One that is through without a restart found that the node runs the image already.
    const isPending = restart.bootId === bootId && !restart.isDone;
    return isPending ? onPod(node, 'restart') : actOnReturned(node);
  }
  switch (drain) {
    case 'drained':
      return actOnDrained(node);
    case 'draining':
      return wait(`${node.name} is being drained`);
    case 'returning':
      return wait(`${node.name} is being given back to its work`);
    case 'none':
      return actOnFree(node);
  }
}

function actOnFree(node: NodeStanding): SwitchAct {
  const { isTold, state, pods } = node;
  const { stage, record, check } = pods;
  if (isTold && (record === undefined || check !== undefined)) return actOnTold(node);
  if (check !== undefined || hasRestartedByItself(node)) return actOnStray(node);
  if (record !== undefined) return { kind: 'ask-drain', node };
  if (stage === undefined) {
    const canStage = node.readiness.isReady && state === 'Done' && node.hasConfig;
    return canStage ? start(node, 'stage') : wait(`${node.name} ${restlessness(node)}`);
  }
  return stage.isDone ? { kind: 'ask-drain', node } : onPod(node, 'stage');
}

/** Somebody restarted it once its image was staged, and the daemon finds what nobody has told it. */
const hasRestartedByItself = ({ bootId, state, pods: { stage } }: NodeStanding): boolean =>
  stage?.isDone === true && stage.bootId !== bootId && state === 'Degraded';

/** Once it is certain that the node runs the image, its daemon and the cluster are told. */
function actOnStray(node: NodeStanding): SwitchAct {
  const { check, record } = node.pods;
  if (check?.isDone !== true)
    return check === undefined ? start(node, 'check') : onPod(node, 'check');
  if (record?.isDone !== true) {
    return record === undefined ? start(node, 'record') : onPod(node, 'record');
  }
  return { kind: 'tell-image', node };
}

function actOnDrained(node: NodeStanding): SwitchAct {
  const { isTold, state, hasConfig, pods } = node;
  const { record } = pods;
  if (record === undefined) {
    // A daemon that works has asked for the drain itself, to change something else.
    const isOurs = hasConfig && state !== 'Working';
    return isOurs ? start(node, 'record') : wait(`${node.name} ${restlessness(node)}`);
  }
  if (!record.isDone) return onPod(node, 'record');
  return isTold ? start(node, 'restart') : { kind: 'tell-image', node };
}

/** The node was switched, by us or whoever it was, and takes part in the work. */
function actOnTold(node: NodeStanding): SwitchAct {
  if (!isSettled(node)) return wait(`${node.name} names its image and ${restlessness(node)}`);
  return Object.keys(node.pods).length > 0 ? { kind: 'remove-pods', node } : { kind: 'done' };
}

/**
 * The node runs again. What its daemon says may be of before, so a pod looks what runs; that the daemon has looked
 * too is known when it gives the node back to its work.
 */
function actOnReturned(node: NodeStanding): SwitchAct {
  const { readiness, isTold, drain, pods } = node;
  if (!readiness.isReady) return wait(`${node.name} has restarted and ${restlessness(node)}`);
  if (pods.check === undefined) return start(node, 'check');
  if (!pods.check.isDone) return onPod(node, 'check');
  if (!isTold) return { kind: 'tell-image', node };
  if (!isSettled(node)) return wait(`${node.name} runs its image and ${restlessness(node)}`);
  return drain === 'none'
    ? { kind: 'remove-pods', node }
    : wait(`${node.name} runs its image, and its daemon has not given it back to its work`);
}

const start = (node: NodeStanding, act: PodAct): SwitchAct =>
  node.leaving.includes(act)
    ? wait(`${node.name}: an earlier pod is being removed`)
    : { kind: 'start-pod', node, act };

const verbs: Readonly<Record<PodAct, string>> = {
  stage: 'that stages its image',
  record: 'that records its image',
  restart: 'that restarts it',
  check: 'that looks what it runs',
};

function onPod(node: NodeStanding, act: PodAct): SwitchAct {
  const pod = node.pods[act];
  if (pod?.hasFailed === true) return { kind: 'remove-pod', node, pod };
  return wait(`${node.name}: the pod ${verbs[act]} ${pod?.status ?? 'is not there'}`);
}

import type { NodeStanding } from './node-standing.ts';
import type { PodAct } from './pods.ts';

/** Something that is done about a pool; everything that was done before can be seen in the cluster. */
export type SwitchAct =
  | { readonly kind: 'start-pod'; readonly node: NodeStanding; readonly act: PodAct }
  | { readonly kind: 'ask-drain'; readonly node: NodeStanding; readonly verb: 'drain' | 'uncordon' }
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
}

/**
 * What is to be done next about a pool. Every node stages its image as soon as it can, for that takes nothing away;
 * only one is drained and restarted at a time, and none while another is not at rest.
 */
export function nextSwitchAct({ nodes, objection }: PoolStanding): SwitchAct {
  const acts = nodes.map((node) => ({ node, act: actOn(node) }));
  const staging = acts.find(({ act }) => act.kind === 'start-pod' && act.act === 'stage');
  if (staging !== undefined) return staging.act;
  const away = acts.find(({ node, act }) => isOnItsWay(node) && act.kind !== 'done');
  if (away !== undefined) return away.act;
  const next = acts.find(({ act }) => act.kind === 'ask-drain');
  const waiting = acts.find(({ act }) => act.kind === 'wait')?.act;
  if (next === undefined) return waiting ?? { kind: 'done' };
  const restless = nodes.find((node) => !isAtRest(node));
  if (restless !== undefined) return wait(`${restless.name} ${restlessness(restless)}`);
  return objection === undefined ? next.act : wait(objection);
}

const wait = (why: string): SwitchAct => ({ kind: 'wait', why });

/** The node is out of work, or about to be. */
const isOnItsWay = ({ drain, isTold, pods: { record, restart } }: NodeStanding): boolean =>
  drain !== 'none' || record !== undefined || restart !== undefined || isTold;

const isAtRest = ({ readiness, state, hasConfig, drain }: NodeStanding): boolean =>
  readiness.isReady && state === 'Done' && hasConfig && drain === 'none';

function restlessness({ readiness, state, reason, hasConfig }: NodeStanding): string {
  if (!readiness.isReady) return `is NotReady: ${readiness.reason}`;
  if (state !== 'Done') return `is ${state === '' ? 'without a state' : state}${because(reason)}`;
  return hasConfig ? 'is being drained' : 'has another MachineConfig than its pool';
}

const because = (reason: string): string => (reason === '' ? '' : `: ${reason}`);

function actOn(node: NodeStanding): SwitchAct {
  const { bootId, drain, isTold, pods } = node;
  const { stage, record, restart } = pods;
  if (restart !== undefined) {
    return restart.bootId === bootId ? podWait(node, 'restart') : actOnReturned(node);
  }
  switch (drain) {
    case 'drained':
      return actOnDrained(node);
    case 'draining':
      return wait(`${node.name} is being drained`);
    case 'returning':
      return wait(`${node.name} is being given back to its work`);
    case 'none':
      if (record !== undefined) return { kind: 'ask-drain', node, verb: 'drain' };
      if (isTold) return actOnTold(node);
      if (stage === undefined) return start(node, 'stage');
      return stage.isDone ? { kind: 'ask-drain', node, verb: 'drain' } : podWait(node, 'stage');
  }
}

function actOnDrained(node: NodeStanding): SwitchAct {
  const { record } = node.pods;
  if (record === undefined) return start(node, 'record');
  if (!record.isDone) return podWait(node, 'record');
  return node.isTold ? start(node, 'restart') : { kind: 'tell-image', node };
}

/** The node was switched, by us or whoever it was, and takes part in the work. */
function actOnTold(node: NodeStanding): SwitchAct {
  if (!isSettled(node)) return wait(notSettled(node));
  return Object.keys(node.pods).length > 0 ? { kind: 'remove-pods', node } : { kind: 'done' };
}

/** The node runs again. Its daemon may not have looked at it yet: what it says can be of before. */
function actOnReturned(node: NodeStanding): SwitchAct {
  if (!isSettled(node)) return wait(notSettled(node));
  if (node.pods.check === undefined) return start(node, 'check');
  if (!node.pods.check.isDone) return podWait(node, 'check');
  if (node.drain === 'drained') return { kind: 'ask-drain', node, verb: 'uncordon' };
  return node.drain === 'none'
    ? { kind: 'remove-pods', node }
    : wait(`${node.name} is being given back to its work`);
}

const isSettled = ({ readiness, state, isTold }: NodeStanding): boolean =>
  readiness.isReady && state === 'Done' && isTold;

const notSettled = (node: NodeStanding): string =>
  node.isTold || !node.readiness.isReady || node.state !== 'Done'
    ? `${node.name} has started with the image and ${restlessness(node)}`
    : `${node.name} no longer names the image`;

const start = (node: NodeStanding, act: PodAct): SwitchAct => ({ kind: 'start-pod', node, act });

const verbs: Readonly<Record<PodAct, string>> = {
  stage: 'that stages its image',
  record: 'that records its image',
  restart: 'that restarts it',
  check: 'that looks what it runs',
};

const podWait = ({ name, pods }: NodeStanding, act: PodAct): SwitchAct =>
  wait(`${name}: the pod ${verbs[act]} ${pods[act]?.status ?? 'is not there'}`);

import { nodes } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { leaseObserver } from '../../layering/roll-out/ownership.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { selectionOf } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { informer } from '../../kube/informer.ts';
import { type Emit, notesOf, type Progress } from '../../engine/events.ts';
import type { Controller, Controllers } from '../../kube/manager.ts';
import type { Result } from '../../kube/queue.ts';
import { readNodeView } from './read-node.ts';
import { changeNode } from './change-node.ts';
import { isAtRest } from './decide.ts';
import { nodeAgentFailure } from './failures.ts';
import {
  annotate,
  isOperators,
  changedAnnotations,
  type NodeState,
  nodeState,
  type NodeAgentScope,
} from './node-object.ts';

/** Times on the clock that decide when the next pass is due. */
interface Pace {
  /** The last failure, until the desired state changes; `at` is the time of the next attempt. */
  failing?:
    | {
        readonly desired: string;
        readonly count: number;
        readonly at: Millis;
        readonly reason: string;
      }
    | undefined;
  /** When the host, which was asked to reboot, should be down. */
  leavesBy?: Millis | undefined;
  /** Status of a node that has its desired state; undefined while a change may have begun. */
  rests?: string | undefined;
}

/**
 * Poll interval for changes without notifications: a pod of the operator that ends, a pause that
 * ends.
 */
const every: Millis = seconds(10);
const longestPause: Millis = minutes(5);
/** Longer than pods and the host's own services may take to stop. */
const rebootLimit: Millis = minutes(30);

const id = 'node-agent/keep-node';

/**
 * Keeps a node of a cluster at the image and configuration that its pool desires, until it is
 * stopped.
 */
export function nodeAgent({
  emit,
  nodeName,
  ...ports
}: Pick<Ports, 'kube' | 'host' | 'clock'> & {
  readonly nodeName: string;
  readonly emit: Emit;
}): Controllers {
  const node = informer(ports, selectionOf({ kind: nodes, name: nodeName }));
  const pace: Pace = {};
  const common = {
    ...ports,
    nodeName,
    observed: leaseObserver(ports.clock),
    note: notesOf(emit, id),
    progress: (progress: Progress) => emit({ type: 'step.progress', step: id, progress }),
  };
  const controller: Controller = {
    id,
    title: 'Keep the node as its pool desires',
    about: (name) => `node ${name}`,
    idle: 'the node is watched',
    reads: [node],
    keys: () => [nodeName],
    watch: (add) => node.onChange(() => add(nodeName)),
    reconcile: async (name, signal) => {
      const object = node.get(name);
      if (object === undefined) return { status: 'there is no such node' };
      return pass({ ...common, signal, uid: object.metadata.uid }, pace, nodeState(object));
    },
  };
  return { name: 'node-agent', controllers: [controller] };
}

/** One pass for a node; nothing is read for a node that has its desired state. */
async function pass(scope: NodeAgentScope, pace: Pace, state: NodeState): Promise<Result> {
  const now = scope.clock.elapsed();
  const after = every;
  if (now < (pace.leavesBy ?? 0)) return { after, status: 'the host reboots' };
  if (pace.rests !== undefined && isAtRest(state)) return { after, status: pace.rests };
  const desired = [state.desiredConfig, state.desiredImage].join(' ');
  const { failing } = pace;
  if (failing?.desired === desired && now < failing.at) return { after, status: failing.reason };
  pace.rests = undefined;
  try {
    return await attempt(scope, pace, state);
  } catch (error) {
    scope.signal.throwIfAborted();
    const count = failing?.desired === desired ? failing.count + 1 : 0;
    const reason = await reportFailure(scope, state, error);
    const pause = Math.min(longestPause, every * 2 ** count);
    pace.failing = { desired, count, at: scope.clock.elapsed() + pause, reason };
    return { after, status: reason };
  }
}

/** Takes the next step towards the desired state. */
async function attempt(scope: NodeAgentScope, pace: Pace, state: NodeState): Promise<Result> {
  const { clock } = scope;
  const view = await readNodeView(scope, state);
  if (pace.leavesBy !== undefined && !view.isOperated) throw notRebooted(pace);
  const { status, rests, done } = await changeNode(scope, view);
  if (done !== undefined && done !== 'reboot') return { after: 0, status };
  if (done === 'reboot') pace.leavesBy = clock.elapsed() + rebootLimit;
  if (rests === true) pace.rests = status;
  pace.failing = undefined;
  return { after: every, status };
}

function notRebooted(pace: Pace): Error {
  pace.leavesBy = undefined;
  return nodeAgentFailure(
    'node-agent.not-rebooted',
    'the host was asked to reboot 30 minutes ago and still runs',
  );
}

/**
 * Reports a failure on the node. An error of the API server is not a failure of the node, and
 * cannot be written there.
 */
async function reportFailure(
  scope: NodeAgentScope,
  state: NodeState,
  error: unknown,
): Promise<string> {
  const { code, message } = asAgentError(error);
  const reason = `${code}: ${message}`;
  if (code.startsWith('kube.')) return reason;
  try {
    if (await isOperators(scope)) return reason;
    await annotate(scope, changedAnnotations(state, { state: 'Degraded', reason }));
  } catch (thrown) {
    scope.signal.throwIfAborted();
    const { code: cause } = asAgentError(thrown);
    scope.note('warn', 'the state of the node could not be written', { code: cause });
  }
  return reason;
}

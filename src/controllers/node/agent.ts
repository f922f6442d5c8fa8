import { nodes } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Ports } from '../../ports/ports.ts';
import { informer } from '../../reconcile/informer.ts';
import { type Controller, type Controllers, type Emit, notesOf } from '../../reconcile/manager.ts';
import type { Progress } from '../../engine/events.ts';
import { changeNode, isAtRest } from './change-node.ts';
import { nodeAgentFailure } from './failures.ts';
import {
  annotate,
  isOperators,
  type NodeState,
  nodeState,
  type NodeAgentScope,
} from './node-object.ts';
import { daemonRuns, isRebooting, isSettled } from './prepare.ts';

/** What failed last, until something else is desired. */
interface Failing {
  readonly desired: string;
  readonly count: number;
  /** When it is tried again, by the clock. */
  readonly at: Millis;
  readonly reason: string;
}

/** When what is done next, by the clock. */
interface Pace {
  failing?: Failing | undefined;
  /** The host was asked to reboot, and should be gone by then. */
  leavesBy?: Millis | undefined;
  /** When a node that nobody changes is looked at. */
  checkAt: Millis;
  /** What a node waits for that has what it should have; undefined while anything may have been begun for it. */
  rests?: string | undefined;
}

/** Where nobody notifies: a pod of the operator that goes, a pause that ends. */
const every: Millis = seconds(10);
const longestPause: Millis = minutes(5);
/** No file event of the host reaches a pod. */
const checkEvery: Millis = minutes(10);
/** Longer than pods and the host's own services may take to end. */
const rebootLimit: Millis = minutes(30);

const id = 'node-agent/keep-node';

/** Keeps a node of a cluster at the image and configuration that its pool desires, until it is stopped. */
export function nodeAgent({
  emit,
  nodeName,
  ...ports
}: Pick<Ports, 'kube' | 'host' | 'clock'> & {
  readonly nodeName: string;
  readonly emit: Emit;
}): Controllers {
  const node = informer(ports, { kind: nodes, fieldSelector: `metadata.name=${nodeName}` });
  const pace: Pace = { checkAt: 0 };
  const common = {
    ...ports,
    config: { nodeName },
    note: notesOf(emit, id),
    progress: (progress: Progress) => emit({ type: 'step.progress', step: id, progress }),
  };
  const controller: Controller = {
    ...{ id, title: 'Keep the node as its pool desires', about: (name) => `node ${name}` },
    ...{ idle: 'the node is watched', reads: [node], keys: () => [nodeName] },
    watch: (add) => node.onChange(() => add(nodeName)),
    reconcile: async (name, signal) => {
      const object = node.get(name);
      const status =
        object === undefined
          ? 'there is no such node'
          : await pass({ ...common, signal, uid: object.metadata.uid }, pace, nodeState(object));
      return { after: every, status };
    },
  };
  return { name: 'node-agent', controllers: [controller] };
}

/** What is done for a node now; of one that has all that it should have, nothing is asked before it is to be checked. */
function pass(scope: NodeAgentScope, pace: Pace, state: NodeState): Promise<string> {
  const now = scope.clock.elapsed();
  if (now < (pace.leavesBy ?? 0)) return Promise.resolve(isRebooting);
  return pace.rests === undefined || now >= pace.checkAt || !isAtRest(state)
    ? attempt(scope, pace, state)
    : Promise.resolve(pace.rests);
}

/** Takes the node nearer to what it should have, unless that failed just now. */
async function attempt(scope: NodeAgentScope, pace: Pace, state: NodeState): Promise<string> {
  const { kube, clock, config, signal } = scope;
  const desired = [state.desiredConfig, state.desiredImage].join(' ');
  const { failing } = pace;
  if (failing?.desired === desired && clock.elapsed() < failing.at) return failing.reason;
  const reread = async (): Promise<NodeState> => {
    const found = await kube.get({ kind: nodes, name: config.nodeName }, signal);
    return found === undefined || found.metadata.uid !== scope.uid ? {} : nodeState(found);
  };
  const checks = clock.elapsed() >= pace.checkAt;
  pace.rests = undefined;
  try {
    const status = await change(scope, pace, { node: state, reread, checks });
    pace.failing = undefined;
    if (status === daemonRuns || status === isSettled) pace.rests = status;
    if (checks) pace.checkAt = clock.elapsed() + checkEvery;
    if (status === isRebooting) pace.leavesBy = clock.elapsed() + rebootLimit;
    return status;
  } catch (error) {
    signal.throwIfAborted();
    const count = failing?.desired === desired ? failing.count + 1 : 0;
    const reason = await reportFailure(scope, state, error);
    const pause = Math.min(longestPause, every * 2 ** count);
    pace.failing = { desired, count, at: clock.elapsed() + pause, reason };
    return reason;
  }
}

/** Who runs the node is asked before the host: what fails there is no matter of a node that the operator runs. */
async function change(
  scope: NodeAgentScope,
  pace: Pace,
  asked: Parameters<typeof changeNode>[1],
): Promise<string> {
  if (await isOperators(scope)) {
    await takeBackState(scope, await asked.reread());
    return daemonRuns;
  }
  if (pace.leavesBy !== undefined) throw notRebooted(pace);
  return changeNode(scope, asked);
}

/** What an agent shows at its node begins with the code of a failure; the daemon of the operator writes sentences. */
const ofAgent = /^[a-z-]+\.[a-z-]+: /;

/** A daemon that has nothing to change leaves the state as it finds it: nobody else would take this one back. */
async function takeBackState(scope: NodeAgentScope, now: NodeState): Promise<void> {
  if (now.state !== 'Degraded' || !ofAgent.test(now.reason ?? '')) return;
  await annotate(scope, now, { state: 'Done', reason: undefined });
}

function notRebooted(pace: Pace): Error {
  pace.leavesBy = undefined;
  return nodeAgentFailure(
    'node-agent.not-rebooted',
    'the host was asked to reboot 30 minutes ago and still runs',
  );
}

/** Shows a failure at the node. What the API server refuses is no failure of the node, and cannot be shown there. */
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
    await annotate(scope, state, { state: 'Degraded', reason });
  } catch (thrown) {
    scope.signal.throwIfAborted();
    const { code: cause } = asAgentError(thrown);
    scope.note('warn', 'the state of the node could not be written', { code: cause });
  }
  return reason;
}

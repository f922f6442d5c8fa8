import { isDeepStrictEqual } from 'node:util';
import { nodes } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import { leaseObserver } from '../../layering/roll-out/ownership.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { nextOf } from '../../os/status.ts';
import { selectionOf } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import { informer } from '../../kube/informer.ts';
import { type Emit, notesOf, type Progress } from '../../engine/events.ts';
import type { Controller, Controllers } from '../../kube/manager.ts';
import type { Result } from '../../kube/queue.ts';
import { recordPath, restartArgv, stageImage } from '../../steps/os/apply.ts';
import { lockHost, machineConfigFile, readHost } from '../../steps/os/read-host.ts';
import type { NodeRequest } from '../../steps/os/request.ts';
import { dropNextBoot } from '../../steps/os/stage.ts';
import {
  argumentChange,
  argumentsAfter,
  hasArguments,
  needsStaging,
  type NodeChange,
} from './change.ts';
import { applyChange, hostChange, run } from './host-files.ts';
import { type Marker, removeMarker, writeMarker } from './marker.ts';
import { type NodeView, readNodeView } from './read-node.ts';
import {
  decide,
  hasBegunReboot,
  isAtRest,
  type NodeAction,
  type NodeDecision,
  stagedFor,
} from './decide.ts';
import { nodeAgentFailure } from './failures.ts';
import {
  annotate,
  changedAnnotations,
  isOperators,
  type NodeAgentScope,
  type NodeState,
  nodeState,
  readNode,
  readPool,
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
    title: 'Apply the config and image of the pool to the node',
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

/**
 * Performs the due action of a node, at most one, and returns it with the condition that the node
 * waits for. A second decision by a fresh reading comes right before the action. The function may
 * be stopped anywhere and called again.
 * @throws AgentError for an action that is impossible
 */
async function changeNode(
  scope: NodeAgentScope,
  seen: NodeView,
): Promise<Omit<NodeDecision, 'action'> & { readonly done?: NodeAction['type'] }> {
  const { action: first, ...decision } = decide(seen);
  const view = first && (await viewAgain(scope, seen));
  if (view === undefined) return decision;
  const { action, ...again } = decide(view);
  if (action === undefined || !isDeepStrictEqual(action, first)) return again;
  await perform(scope, view, action);
  return { ...again, done: action.type };
}

/**
 * Reads again, right before a write to the node or its host, everything that may have changed:
 * whether it is the same node with the same desired state, the program that runs it, its cordon and
 * drain, its pool, the pause of the pool, and whether the pool has set the desired state.
 */
async function viewAgain(scope: NodeAgentScope, seen: NodeView): Promise<NodeView | undefined> {
  const { change } = seen;
  const object = await readNode(scope);
  if (object === undefined) return undefined;
  const node = nodeState(object);
  const isSame = (
    ['desiredConfig', 'desiredImage', 'currentConfig', 'currentImage'] as const
  ).every((name) => node[name] === seen.node[name]);
  if (!isSame) return undefined;
  const isOperated = await isOperators(scope);
  const pool = change && (await readPool(scope, object, change));
  return { ...seen, node, isOperated, ...pool };
}

async function perform(scope: NodeAgentScope, view: NodeView, action: NodeAction): Promise<void> {
  const { marker, change } = view;
  if (action.type === 'annotate') return annotate(scope, action.annotations);
  if (action.type === 'adopt')
    await annotate(scope, { currentConfig: marker?.config, currentImage: marker?.image });
  if (action.type === 'adopt' || action.type === 'forget')
    return removeMarker(scope.host, scope.signal);
  if (action.type === 'give-up') return giveUp(scope, view, action);
  if (change !== undefined) await steps[action.type](scope, change, view);
}

/** Implementations of the actions of a change, in their order. */
const steps = {
  stage,
  begin: (scope, change) => {
    const phase = hasBegunReboot(change) ? 'rebooting' : 'staged';
    return mark(scope, change, { phase, isUncordoned: undefined });
  },
  'withdraw-drain': async (scope, change) => {
    await mark(scope, change, { phase: change.marker?.phase ?? 'staged', isUncordoned: true });
    await annotate(scope, { desiredDrain: `uncordon-${change.target.config}` });
  },
  reboot,
  complete,
  'take-back': takeBack,
} as const satisfies Readonly<
  Record<string, (scope: NodeAgentScope, change: NodeChange, view: NodeView) => Promise<void>>
>;

async function giveUp(
  scope: NodeAgentScope,
  { change, marker }: NodeView,
  { restores, reason }: Extract<NodeAction, { readonly type: 'give-up' }>,
): Promise<void> {
  if (restores && change?.before !== undefined)
    await applyChange(scope, hostChange(change.host, change.before, change.wanted));
  if (marker !== undefined)
    await writeMarker(scope.host, { ...marker, failed: reason }, scope.signal);
}

/** Records the progress of the change on the host, so that it survives a stop. */
function mark(
  { host, signal }: NodeAgentScope,
  change: NodeChange,
  step: Pick<Marker, 'phase'> & Partial<Pick<Marker, 'boots' | 'object' | 'isUncordoned'>>,
): Promise<void> {
  const { target, marker } = change;
  const { bootId } = change.host;
  const stages = needsStaging(change) ? { stages: stagedFor(change) } : {};
  const after = hasArguments(change) ? {} : { arguments: argumentsAfter(change) };
  const next = { boots: 0, ...marker, ...target, bootId, ...stages, ...after, ...step };
  return writeMarker(host, next, signal);
}

async function stage(scope: NodeAgentScope, change: NodeChange): Promise<void> {
  const kernelArguments = hasArguments(change) ? undefined : argumentChange(change);
  await mark(scope, change, { phase: 'staging' });
  // The arguments of a change that has begun may be set already: setting them again would be
  // another change.
  const isBegun = kernelArguments !== undefined && nextOf(change.host.os.status) !== undefined;
  if (isBegun) await dropNextBoot(scope, change.host.os);
  await stageForNextBoot(scope, {
    image: stagedFor(change),
    kernelArguments: kernelArguments ?? { append: [], remove: [] },
    records: false,
    reboots: false,
  });
  await mark(scope, change, { phase: 'staged' });
}

/**
 * Makes an image boot next, with the steps of `node apply`, for a program that repeats them. The
 * image that ran before is deployed again too: its old deployment would boot with its earlier /etc.
 * @throws AgentError `os.*`
 */
async function stageForNextBoot(scope: NodeAgentScope, request: NodeRequest): Promise<void> {
  const lock = await lockHost(scope);
  try {
    const commands = { ...scope, config: request };
    await stageImage(commands, await readHost(commands, request.kernelArguments));
  } finally {
    await lock.release();
  }
}

async function reboot(scope: NodeAgentScope, change: NodeChange): Promise<void> {
  const { target, marker, object, files } = change;
  const boots = (marker?.boots ?? 0) + (hasBegunReboot(change) ? 0 : 1);
  await mark(scope, change, { phase: 'rebooting', boots, object });
  await applyChange(scope, files);
  scope.note('info', `rebooting the host into ${target.config}`, { image: target.image ?? '' });
  await scope.host.exec(restartArgv, { signal: scope.signal, limit: minutes(2) });
}

/** Folder of the Machine Config Daemon's records. */
const recordFolder = '/etc/machine-config-daemon';

/** Records on the host and in the cluster that the node has its desired state. */
async function complete(scope: NodeAgentScope, { target, object }: NodeChange): Promise<void> {
  const { host, signal } = scope;
  await run(scope, ['mkdir', '-p', recordFolder]);
  await host.writeFile(machineConfigFile, JSON.stringify(object), { signal, mode: 0o600 });
  if (target.image === undefined) await host.remove(recordPath, signal);
  else await host.writeFile(recordPath, target.image, { signal, mode: 0o644 });
  await annotate(scope, { currentConfig: target.config, currentImage: target.image });
}

/** Also reverts the files of an earlier reboot that a power cut interrupted. */
async function takeBack(
  scope: NodeAgentScope,
  change: NodeChange,
  { marker, begun }: NodeView,
): Promise<void> {
  if (marker === undefined) return;
  scope.note('info', `${marker.config} is no longer desired: what was begun is taken back`);
  const next = nextOf(change.host.os.status)?.image;
  if (next !== undefined && next === marker.stages) await dropNextBoot(scope, change.host.os);
  const { before, wanted } = change;
  if (begun !== undefined && marker.boots > 0)
    await applyChange(scope, hostChange(change.host, before ?? wanted, begun));
  await removeMarker(scope.host, scope.signal);
}

import { isDeepStrictEqual } from 'node:util';
import { minutes } from '../../model/duration.ts';
import { nextOf } from '../../os/status.ts';
import { recordPath, restartArgv, stageImage } from '../../steps/os/apply.ts';
import { lockHost, machineConfigFile, readHost } from '../../steps/os/read-host.ts';
import { dropNextBoot } from '../../steps/os/stage.ts';
import type { NodeRequest } from '../../steps/os/request.ts';
import {
  argumentChange,
  needsStaging,
  argumentsAfter,
  type NodeChange,
  hasArguments,
} from './change.ts';
import { type NodeDecision, decide, hasBegunReboot, type NodeAction, stagedFor } from './decide.ts';
import { applyChange, hostChange, run } from './host-files.ts';
import { type Marker, removeMarker, writeMarker } from './marker.ts';
import {
  annotate,
  isOperators,
  type NodeAgentScope,
  nodeState,
  readNode,
  readPool,
} from './node-object.ts';
import type { NodeView } from './read-node.ts';

/**
 * Performs the due action of a node, at most one, and returns it with the condition that the node
 * waits for. A second decision by a fresh reading comes right before the action. The function may
 * be stopped anywhere and called again.
 * @throws AgentError for an action that is impossible
 */
export async function changeNode(
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

import { describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { isSameTarget } from '../../layering/roll-out/node-state.ts';
import { nextOf } from '../../os/status.ts';
import { hasArguments, needsStaging, type NodeChange } from './change.ts';
import { nodeAgentFailure } from './failures.ts';
import { changedNames, isChange } from './host-files.ts';
import type { HostSnapshot } from './host-snapshot.ts';
import { arrivalOf, type Marker, mayReboot } from './marker.ts';
import {
  type Annotations,
  has,
  changedAnnotations,
  type NodeState,
  ofAgent,
  targetOf,
} from './node-object.ts';
import type { NodeView } from './read-node.ts';

/** The next action for a node, with the data of its decision. */
export type NodeAction =
  /** Reports the progress on the node, or requests a drain or an uncordon from the controller. */
  | { readonly type: 'annotate'; readonly annotations: Annotations }
  /** `withdraw-drain`: an uncordoned node is only rebooted after another drain. */
  | { readonly type: 'stage' | 'begin' | 'withdraw-drain' | 'reboot' | 'complete' }
  /** For a target that is no longer desired. */
  | { readonly type: 'adopt' | 'take-back' }
  | { readonly type: 'forget' }
  | {
      readonly type: 'give-up';
      readonly reason: string;
      /** Whether the previous files are restored. */
      readonly restores: boolean;
    };

/** The next action, or the condition that the node waits for. */
export interface NodeDecision {
  readonly action?: NodeAction;
  readonly status: string;
  /** No action is due until the desired state changes. */
  readonly rests?: boolean;
}

/**
 * Decides the next action for a node, by one reading of node, pool, host and marker.
 * @throws AgentError `node-agent.*`, `os.staged-by-another`: a failure that the node cannot resolve
 * itself
 */
export function decide(view: NodeView): NodeDecision {
  const { node, target, marker, change } = view;
  if (view.isOperated) return leaveToOperator(view);
  // The controller sets a target on a node only once an agent has reported there.
  if (target === undefined) return annotated(view, done) ?? waits('nothing is desired of it yet');
  const isOther = marker !== undefined && !isSameTarget(marker, target);
  if (!isOther && has(node, target)) return finish(view);
  if (!isOther && marker?.failed !== undefined)
    return annotated(view, { state: 'Degraded', reason: marker.failed }) ?? waits(marker.failed);
  if (change === undefined) throw new Error('a change was decided on before it was read');
  return isOther ? leaveOther(view, change) : proceed(view, change);
}

/** Whether a node has its desired state, and no drain is requested. */
export function isAtRest(node: NodeState): boolean {
  const { state, desiredDrain = '' } = node;
  const target = targetOf(node.desiredConfig, node.desiredImage);
  const isQuiet = state === 'Done' && !desiredDrain.startsWith('drain-');
  return target !== undefined && has(node, target) && isQuiet;
}

const done: Annotations = { state: 'Done', reason: undefined };
const working: Annotations = { state: 'Working', reason: undefined };

const waits = (status: string): NodeDecision => ({ status });

/** Writes annotations that the node lacks; undefined if it has all of them. */
function annotated(
  { node }: NodeView,
  wanted: Annotations,
  status = 'the node is written',
): NodeDecision | undefined {
  const annotations = changedAnnotations(node, wanted);
  if (Object.keys(annotations).length === 0) return undefined;
  return { action: { type: 'annotate', annotations }, status };
}

/** A daemon without a change leaves the state unchanged: no other program would clear this one. */
function leaveToOperator(view: NodeView): NodeDecision {
  const { state, reason = '' } = view.node;
  const isOwn = state === 'Degraded' && ofAgent.test(reason);
  const rests = { status: 'the Machine Config Operator runs this node', rests: true };
  return (isOwn ? annotated(view, done) : undefined) ?? rests;
}

/**
 * Reverts an earlier change that is no longer desired. The node adopts an image that the host has
 * already booted.
 */
function leaveOther({ node, marker, begun }: NodeView, { before, host }: NodeChange): NodeDecision {
  const image = marker?.image ?? begun?.osImageURL;
  const had = node.currentImage ?? before?.osImageURL;
  const isRunning =
    image !== undefined && (image === host.os.status.booted?.image || image === had);
  return isBack(marker, host) && isRunning
    ? { action: { type: 'adopt' }, status: `the host runs ${marker?.config}` }
    : { action: { type: 'take-back' }, status: `${marker?.config} was taken back` };
}

/** Whether the host has rebooted for the change of the marker. */
const isBack = (marker: Marker | undefined, { bootId }: HostSnapshot): boolean =>
  marker?.phase === 'rebooting' && marker.bootId !== bootId;

function proceed(view: NodeView, change: NodeChange): NodeDecision {
  const { marker, host } = change;
  // The target of that reboot was checked then.
  if (marker?.phase !== 'rebooting') requireOfPool(view);
  const isFailing = view.node.state === 'Degraded';
  const says = isFailing ? undefined : annotated(view, working);
  if (says !== undefined) return says;
  return isBack(marker, host) ? arrive(view, change) : prepare(view, change);
}

/**
 * Refuses a target that the controller of pools would not have set: any other writer of the
 * annotations could boot the node into anything.
 */
function requireOfPool({ refusal }: NodeView): void {
  if (refusal !== undefined) throw refusal;
}

/** The host is back: with the staged image, or without. */
function arrive(view: NodeView, change: NodeChange): NodeDecision {
  const { image, host, before, target, rest, marker } = change;
  const { booted } = host.os.status;
  const { boots = 0 } = marker ?? {};
  const arrival = image === undefined ? 'arrived' : arrivalOf(host.os.status, image, boots);
  // An error while a deployment is finalized occurs only during shutdown, and would recur.
  if (arrival === 'again' && host.notFinalized === undefined) return prepare(view, change);
  if (arrival !== 'arrived') {
    const runs = booted === undefined ? 'nothing known' : describe(booted);
    const why =
      host.notFinalized === undefined
        ? ''
        : `: ostree-finalize-staged.service said "${host.notFinalized}"`;
    const text = `the host runs ${runs} instead of ${image ?? ''}${why}`;
    return givesUp('node-agent.came-back', text, before !== undefined);
  }
  if (!isChange(rest) && hasArguments(change)) return completeChange(change);
  if (mayReboot(boots)) return prepare(view, change);
  const names = isChange(rest) ? changedNames(rest) : 'kernel arguments';
  const text = `of ${target.config} the host does not keep: ${names}`;
  return givesUp('node-agent.not-kept', text, false);
}

/** No further attempt until the desired state changes. */
function givesUp(
  code: 'node-agent.came-back' | 'node-agent.not-kept',
  text: string,
  restores: boolean,
): NodeDecision {
  const reason = `${code}: ${nodeAgentFailure(code, text).message}`;
  return { action: { type: 'give-up', reason, restores }, status: reason };
}

const completeChange = ({ target }: NodeChange): NodeDecision => ({
  action: { type: 'complete' },
  status: `the node has ${target.config}`,
});

/** Stages, requests the drain, writes the files, and reboots. */
function prepare(view: NodeView, change: NodeChange): NodeDecision {
  const { target, files, marker } = change;
  const { drain, uncordon } = requestsFor(target.config);
  const isDue = needsStaging(change);
  const mayHaveWritten = marker?.phase === 'rebooting';
  if (!isDue && !isChange(files) && !mayHaveWritten) return completeChange(change);
  requireOfPool(view);
  checkNextBoot(change, isDue);
  // A drain of an earlier change to another image: the node may have pods again. Only the
  // controller may write the applied drain.
  if (view.marker === undefined && view.node.lastAppliedDrain === drain)
    return (
      annotated(view, { state: 'Working', desiredDrain: uncordon }) ??
      waits('an earlier drain does not count')
    );
  const isUnstaged = isDue && !isStaged(change);
  const paused = waits('its pool is paused');
  // Drained now, the node would take no pods until the end of the pause.
  if (view.isPaused && (isUnstaged || view.node.desiredDrain !== drain)) return paused;
  if (isUnstaged) return { action: { type: 'stage' }, status: `${target.config} is staged` };
  const drains = decideDrain(view, change);
  if (drains !== undefined) return drains;
  return view.isPaused ? paused : { action: { type: 'reboot' }, status: 'the host reboots' };
}

const requestsFor = (config: string) => ({
  drain: `drain-${config}`,
  uncordon: `uncordon-${config}`,
});

const begins: NodeDecision = { action: { type: 'begin' }, status: 'the change begins' };

/**
 * The drain before the files are written. A node that was uncordoned since may have pods again: it
 * stays unchanged until it is cordoned, and is drained once more. Undefined once the drain is
 * complete.
 */
function decideDrain(view: NodeView, change: NodeChange): NodeDecision | undefined {
  const { node } = view;
  const { marker, host, target } = change;
  const { drain, uncordon } = requestsFor(target.config);
  if (marker?.isUncordoned === true) {
    const asks = annotated(view, { desiredDrain: uncordon });
    if (asks !== undefined) return asks;
    if (node.lastAppliedDrain !== uncordon) return waits('the controller takes the drain back');
    if (node.isCordoned === true) return begins;
    throw nodeAgentFailure('node-agent.uncordoned', `it was uncordoned after ${drain}`);
  }
  const isAgain = hasBegunReboot(change);
  if (!isAgain && (marker?.phase !== 'staged' || marker.bootId !== host.bootId)) return begins;
  const isAnswered = node.lastAppliedDrain === drain;
  if (isAnswered && node.isCordoned !== true)
    return {
      action: { type: 'withdraw-drain' },
      status: 'the node was uncordoned after its drain',
    };
  // A host that does not reboot stays degraded while it is asked again.
  const state = isAgain ? {} : working;
  const asks = annotated(view, { ...state, desiredDrain: drain });
  return asks ?? (isAnswered ? undefined : waits(`the controller drains this node: ${drain}`));
}

/**
 * Our reboot would boot a deployment of another program; an unstaged deployment has its own /etc.
 */
function checkNextBoot(change: NodeChange, isDue: boolean): void {
  const { status } = change.host.os;
  const next = nextOf(status);
  if (next === undefined) return;
  if (isDue && status.staged !== undefined && next.image === stagedFor(change)) return;
  throw osFailure('os.staged-by-another', `${describe(next)} boots next`);
}

/** The staged image of a change; for a change of kernel arguments alone, the running one. */
export const stagedFor = ({ image, wanted, host }: NodeChange): string =>
  image ?? host.os.status.booted?.image ?? wanted.osImageURL;

/**
 * The marker records the kernel arguments of the staged deployment: not every driver shows them.
 */
function isStaged(change: NodeChange): boolean {
  const { marker, host } = change;
  const wasStaged = marker?.bootId === host.bootId && marker.phase !== 'staging';
  return wasStaged && host.os.status.staged?.image === stagedFor(change);
}

/** Whether a reboot was requested in the current boot of the host. */
export const hasBegunReboot = ({ marker, host }: NodeChange): boolean =>
  marker?.phase === 'rebooting' && marker.bootId === host.bootId;

/** Requests an uncordon of a drained node, and ends. */
function finish(view: NodeView): NodeDecision {
  const { desiredDrain = '', lastAppliedDrain, desiredConfig = '' } = view.node;
  const { uncordon } = requestsFor(desiredConfig);
  if (view.marker !== undefined)
    return { action: { type: 'forget' }, status: 'the change has ended' };
  const status = `the controller uncordons this node: ${uncordon}`;
  if (desiredDrain.startsWith('drain-'))
    return annotated(view, { desiredDrain: uncordon }, status) ?? waits(status);
  if (desiredDrain === uncordon && lastAppliedDrain !== uncordon) return waits(status);
  return annotated(view, done) ?? { status: 'the node has what it should have', rests: true };
}

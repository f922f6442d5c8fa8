import { describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { nextOf, type OsStatus } from '../../os/status.ts';
import type { Action } from '../../kube/actions.ts';
import { hasArguments, needsStaging, type NodeChange } from './change.ts';
import { nodeAgentFailure } from './failures.ts';
import { changedNames, isChange } from './host-files.ts';
import { arrivalOf, isSame, mayReboot, type Target } from './marker.ts';
import {
  type Annotations,
  has,
  lacking,
  type NodeState,
  ofAgent,
  targetOf,
} from './node-object.ts';
import type { NodeView } from './read-node.ts';

/** What is done for a node next; its target is what the node should have. */
export type NodeAction =
  /** Says at the node how far it is, or what it asks the controller for. */
  | (Action & { readonly type: 'annotate'; readonly annotations: Annotations })
  | (Action & {
      readonly type: 'stage' | 'begin' | 'reboot' | 'complete';
      readonly change: NodeChange;
    })
  /** An uncordoned node is rebooted after another drain alone. */
  | (Action & { readonly type: 'withdraw-drain'; readonly change: NodeChange })
  | (Action & {
      readonly type: 'give-up';
      readonly change: NodeChange;
      readonly reason: string;
      /** The files of before are written again. */
      readonly restores: boolean;
    })
  /** Of a target that is no longer desired. */
  | (Action & { readonly type: 'adopt' | 'take-back'; readonly change: NodeChange })
  | (Action & { readonly type: 'forget' });

/** What is done next, or what the node waits for. */
export interface NodeDecision {
  readonly action?: NodeAction;
  readonly status: string;
  /** There is nothing to do before something else is desired. */
  readonly rests?: boolean;
}

/**
 * Decides what is done for a node next, by one reading of node, pool, host and marker.
 * @throws AgentError `node-agent.*`, `os.staged-by-another`: what the node cannot get over by
 * itself
 */
export function decide(view: NodeView): NodeDecision {
  const { node, target, marker } = view;
  if (view.isOperated) return leaveToOperator(view);
  const done = { state: 'Done', reason: undefined };
  // The controller gives something to a node only once an agent says that it is there.
  if (target === undefined) return annotated(view, done) ?? waits('nothing is desired of it yet');
  if (marker !== undefined && !isSame(marker, target)) return leaveOther(view);
  if (has(node, target)) return finish(view, node);
  return marker?.failed === undefined
    ? goOn(view, changeOf(view))
    : (annotated(view, { state: 'Degraded', reason: marker.failed }) ?? waits(marker.failed));
}

function goOn(view: NodeView, change: NodeChange): NodeDecision {
  // What it was rebooted into was checked then.
  if (change.marker?.phase !== 'rebooting') requireOfPool(view);
  const isFailing = view.node.state === 'Degraded';
  const working = isFailing ? undefined : annotated(view, { state: 'Working', reason: undefined });
  return working ?? (isBack(change) ? arrive(view, change) : prepare(view, change));
}

/** Whether a node has what it should have, and nothing is asked of it. */
export function isAtRest(node: NodeState): boolean {
  const { state, desiredDrain = '' } = node;
  const target = targetOf(node.desiredConfig, node.desiredImage);
  const isQuiet = state === 'Done' && !desiredDrain.startsWith('drain-');
  return target !== undefined && has(node, target) && isQuiet;
}

/** Whether the host was rebooted for this change. */
const isBack = ({ marker, host }: NodeChange): boolean =>
  marker?.phase === 'rebooting' && marker.bootId !== host.bootId;

const waits = (status: string): NodeDecision => ({ status });

const targetText = ({ target }: NodeView): string =>
  target === undefined ? '' : [target.config, target.image].join(' ');

/** Writes what the node does not say yet; undefined where it says all of it. */
function annotated(
  view: NodeView,
  annotations: Annotations,
  status = 'the node is written',
): NodeDecision | undefined {
  const after = lacking(view.node, annotations);
  if (Object.keys(after).length === 0) return undefined;
  const target = JSON.stringify(Object.entries(after));
  return { action: { type: 'annotate', target, annotations: after }, status };
}

const changeOf = ({ change }: NodeView): NodeChange => {
  if (change === undefined) throw new Error('a change was decided on before it was read');
  return change;
};

/**
 * A daemon that has nothing to change leaves the state as it finds it: nobody else would take this
 * one back.
 */
function leaveToOperator(view: NodeView): NodeDecision {
  const { state, reason = '' } = view.node;
  const rests = { status: 'the Machine Config Operator runs this node', rests: true };
  const isOwn = state === 'Degraded' && ofAgent.test(reason);
  return (isOwn ? annotated(view, { state: 'Done', reason: undefined }) : undefined) ?? rests;
}

/**
 * Takes back what an earlier change left that is no longer desired. What the host came back with
 * already, it has now.
 */
function leaveOther(view: NodeView): NodeDecision {
  const change = changeOf(view);
  const { marker } = view;
  const isRebooted = marker?.phase === 'rebooting' && marker.bootId !== change.host.bootId;
  return isRebooted && runsOther(view, change)
    ? { action: actionOf('adopt', view, change), status: `the host runs ${marker.config}` }
    : { action: actionOf('take-back', view, change), status: `${marker?.config} was taken back` };
}

function runsOther({ marker, begun }: NodeView, { node, before, host }: NodeChange): boolean {
  const image = marker?.image ?? begun?.osImageURL;
  const had = node.currentImage ?? before?.osImageURL;
  return image !== undefined && (image === host.os.status.booted?.image || image === had);
}

const actionOf = <T extends 'stage' | 'begin' | 'reboot' | 'complete' | 'adopt' | 'take-back'>(
  type: T,
  view: NodeView,
  change: NodeChange,
) => ({ type, target: targetText(view), change });

/**
 * Refuses what the controller of pools would not have asked for: whoever else can write the
 * annotations would boot it into anything.
 */
function requireOfPool({ refusal }: NodeView): void {
  if (refusal !== undefined) throw refusal;
}

/** The host came back: with the image that was staged, or without. */
function arrive(view: NodeView, change: NodeChange): NodeDecision {
  const { image, host, before, target, rest, marker } = change;
  const { status } = host.os;
  const { boots = 0 } = marker ?? {};
  const arrival = image === undefined ? 'arrived' : arrivalOf(status, image, boots);
  if (arrival === 'again' && host.notFinalized === undefined) return prepare(view, change);
  if (arrival !== 'arrived') {
    const reason = reasonOf(
      'node-agent.came-back',
      `the host ${runsInstead(status, image)}${said(host.notFinalized)}`,
    );
    return givesUp(view, { change, reason, restores: before !== undefined });
  }
  if (!isChange(rest) && hasArguments(change)) return completes(view, change);
  if (mayReboot(boots)) return prepare(view, change);
  const names = isChange(rest) ? changedNames(rest) : 'kernel arguments';
  const text = `of ${target.config} the host does not keep: ${names}`;
  return givesUp(view, { change, reason: reasonOf('node-agent.not-kept', text), restores: false });
}

/** What is written on the way down fails there alone, and would again. */
const said = (notFinalized: string | undefined): string =>
  notFinalized === undefined ? '' : `: ostree-finalize-staged.service said "${notFinalized}"`;

function reasonOf(code: 'node-agent.came-back' | 'node-agent.not-kept', text: string): string {
  const { message } = nodeAgentFailure(code, text);
  return `${code}: ${message}`;
}

/** Nothing is tried again until something else is desired. */
const givesUp = (
  view: NodeView,
  given: { readonly change: NodeChange; readonly reason: string; readonly restores: boolean },
): NodeDecision => ({
  action: { type: 'give-up', target: targetText(view), ...given },
  status: given.reason,
});

const completes = (view: NodeView, change: NodeChange): NodeDecision => ({
  action: actionOf('complete', view, change),
  status: `the node has ${change.target.config}`,
});

/** Stages, has the node drained, writes the files, and reboots. */
function prepare(view: NodeView, change: NodeChange): NodeDecision {
  const { target, files, marker } = change;
  const isDue = needsStaging(change);
  const mayHaveWritten = marker?.phase === 'rebooting';
  if (!isDue && !isChange(files) && !mayHaveWritten) return completes(view, change);
  requireOfPool(view);
  checkNextBoot(change, isDue);
  if (isOfEarlier(view, change)) {
    const { uncordon } = requestsFor(target);
    const status = 'an earlier drain does not count';
    return annotated(view, { state: 'Working', desiredDrain: uncordon }) ?? waits(status);
  }
  const paused = view.isPaused ? waits('its pool is paused') : undefined;
  if (isDue && !isStaged(change))
    return (
      paused ?? { action: actionOf('stage', view, change), status: `${target.config} is staged` }
    );
  const reboots = { action: actionOf('reboot', view, change), status: 'the host reboots' };
  return drained(view, change) ?? paused ?? reboots;
}

/**
 * A drain of an earlier change to another image: the node may have pods again. What was applied
 * only the controller may write.
 */
const isOfEarlier = ({ node, marker }: NodeView, { target }: NodeChange): boolean =>
  marker === undefined && node.lastAppliedDrain === requestsFor(target).drain;

const requestsFor = ({ config }: Target) => ({
  drain: `drain-${config}`,
  uncordon: `uncordon-${config}`,
});

/**
 * What is done before the files are written: the node is drained. One that somebody has uncordoned
 * since may have pods again: it stays unchanged until it is cordoned, and is drained once more.
 * Undefined where all of that is done.
 */
function drained(view: NodeView, change: NodeChange): NodeDecision | undefined {
  const { marker, host } = change;
  if (marker?.isUncordoned === true) return drainedAgain(view, change);
  // A host that does not reboot stays degraded while it is asked again.
  const isAgain = hasBegunReboot(change);
  if (!isAgain && (marker?.phase !== 'staged' || marker.bootId !== host.bootId))
    return begins(view, change);
  const state = isAgain ? {} : { state: 'Working', reason: undefined };
  return drainedBy(view, change, state);
}

function drainedBy(
  view: NodeView,
  change: NodeChange,
  state: Annotations,
): NodeDecision | undefined {
  const { node } = view;
  const { drain } = requestsFor(change.target);
  const isAnswered = node.lastAppliedDrain === drain;
  if (isAnswered && node.isCordoned !== true)
    return {
      action: { type: 'withdraw-drain', target: drain, change },
      status: 'the node was uncordoned after its drain',
    };
  const asks = annotated(view, { ...state, desiredDrain: drain });
  return asks ?? (isAnswered ? undefined : waits(`the controller drains this node: ${drain}`));
}

const begins = (view: NodeView, change: NodeChange): NodeDecision => ({
  action: actionOf('begin', view, change),
  status: 'the change begins',
});

function drainedAgain(view: NodeView, change: NodeChange): NodeDecision {
  const { node } = view;
  const { drain, uncordon } = requestsFor(change.target);
  const asks = annotated(view, { desiredDrain: uncordon });
  if (asks !== undefined) return asks;
  if (node.lastAppliedDrain !== uncordon) return waits('the controller takes the drain back');
  if (node.isCordoned === true) return begins(view, change);
  throw nodeAgentFailure('node-agent.uncordoned', `it was uncordoned after ${drain}`);
}

/**
 * Somebody else's deployment would be booted by our reboot; one that is not staged has an /etc of
 * its own.
 */
function checkNextBoot(change: NodeChange, isDue: boolean): void {
  const { status } = change.host.os;
  const next = nextOf(status);
  if (next === undefined) return;
  if (isDue && status.staged !== undefined && next.image === stagedFor(change)) return;
  throw osFailure('os.staged-by-another', `${describe(next)} boots next`);
}

/** What is staged for a change: for kernel arguments alone what runs. */
export const stagedFor = ({ image, wanted, host }: NodeChange): string =>
  image ?? host.os.status.booted?.image ?? wanted.osImageURL;

/**
 * That kernel arguments were set for what is staged is in the marker: not every driver shows them.
 */
function isStaged(change: NodeChange): boolean {
  const { marker, host } = change;
  const wasStaged = marker?.bootId === host.bootId && marker.phase !== 'staging';
  return wasStaged && host.os.status.staged?.image === stagedFor(change);
}

/** Whether the host was asked to reboot in this boot. */
export const hasBegunReboot = ({ marker, host }: NodeChange): boolean =>
  marker?.phase === 'rebooting' && marker.bootId === host.bootId;

/** Has the node uncordoned where it was drained, and ends. */
function finish(view: NodeView, node: NodeState): NodeDecision {
  const { desiredDrain = '', lastAppliedDrain, desiredConfig = '' } = node;
  const uncordon = `uncordon-${desiredConfig}`;
  if (view.marker !== undefined)
    return { action: { type: 'forget', target: targetText(view) }, status: 'the change has ended' };
  const status = `the controller uncordons this node: ${uncordon}`;
  if (desiredDrain.startsWith('drain-'))
    return annotated(view, { desiredDrain: uncordon }, status) ?? waits(status);
  if (desiredDrain === uncordon && lastAppliedDrain !== uncordon) return waits(status);
  const rests = { status: 'the node has what it should have', rests: true };
  return annotated(view, { state: 'Done', reason: undefined }) ?? rests;
}

const runsInstead = ({ booted }: OsStatus, image = ''): string =>
  `runs ${booted === undefined ? 'nothing known' : describe(booted)} instead of ${image}`;

import { describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { nextOf } from '../../os/status.ts';
import { hasArguments, needsStaging, type NodeChange } from './change.ts';
import { nodeAgentFailure } from './failures.ts';
import { changedNames, isChange } from './host-files.ts';
import type { HostSnapshot } from './host-snapshot.ts';
import { arrivalOf, isSame, type Marker, mayReboot } from './marker.ts';
import {
  type Annotations,
  has,
  lacking,
  type NodeState,
  ofAgent,
  targetOf,
} from './node-object.ts';
import type { NodeView } from './read-node.ts';

/** What is done for a node next, by the view that it was decided on. */
export type NodeAction =
  /** Says at the node how far it is, or what it asks the controller for. */
  | { readonly type: 'annotate'; readonly annotations: Annotations }
  /** `withdraw-drain`: an uncordoned node is rebooted after another drain alone. */
  | { readonly type: 'stage' | 'begin' | 'withdraw-drain' | 'reboot' | 'complete' }
  /** Of a target that is no longer desired. */
  | { readonly type: 'adopt' | 'take-back' }
  | { readonly type: 'forget' }
  | {
      readonly type: 'give-up';
      readonly reason: string;
      /** The files of before are written again. */
      readonly restores: boolean;
    };

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
  const { node, target, marker, change } = view;
  if (view.isOperated) return leaveToOperator(view);
  // The controller gives something to a node only once an agent says that it is there.
  if (target === undefined) return annotated(view, done) ?? waits('nothing is desired of it yet');
  const isOther = marker !== undefined && !isSame(marker, target);
  if (!isOther && has(node, target)) return finish(view);
  if (!isOther && marker?.failed !== undefined)
    return annotated(view, { state: 'Degraded', reason: marker.failed }) ?? waits(marker.failed);
  if (change === undefined) throw new Error('a change was decided on before it was read');
  return isOther ? leaveOther(view, change) : proceed(view, change);
}

/** Whether a node has what it should have, and nothing is asked of it. */
export function isAtRest(node: NodeState): boolean {
  const { state, desiredDrain = '' } = node;
  const target = targetOf(node.desiredConfig, node.desiredImage);
  const isQuiet = state === 'Done' && !desiredDrain.startsWith('drain-');
  return target !== undefined && has(node, target) && isQuiet;
}

const done: Annotations = { state: 'Done', reason: undefined };
const working: Annotations = { state: 'Working', reason: undefined };

const waits = (status: string): NodeDecision => ({ status });

/** Writes what the node does not say yet; undefined where it says all of it. */
function annotated(
  { node }: NodeView,
  wanted: Annotations,
  status = 'the node is written',
): NodeDecision | undefined {
  const annotations = lacking(node, wanted);
  if (Object.keys(annotations).length === 0) return undefined;
  return { action: { type: 'annotate', annotations }, status };
}

/**
 * A daemon that has nothing to change leaves the state as it finds it: nobody else would take this
 * one back.
 */
function leaveToOperator(view: NodeView): NodeDecision {
  const { state, reason = '' } = view.node;
  const isOwn = state === 'Degraded' && ofAgent.test(reason);
  const rests = { status: 'the Machine Config Operator runs this node', rests: true };
  return (isOwn ? annotated(view, done) : undefined) ?? rests;
}

/**
 * Takes back what an earlier change left that is no longer desired. What the host came back with
 * already, it has now.
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

/** Whether the host was rebooted for what was begun. */
const isBack = (marker: Marker | undefined, { bootId }: HostSnapshot): boolean =>
  marker?.phase === 'rebooting' && marker.bootId !== bootId;

function proceed(view: NodeView, change: NodeChange): NodeDecision {
  const { marker, host } = change;
  // What it was rebooted into was checked then.
  if (marker?.phase !== 'rebooting') requireOfPool(view);
  const isFailing = view.node.state === 'Degraded';
  const says = isFailing ? undefined : annotated(view, working);
  if (says !== undefined) return says;
  return isBack(marker, host) ? arrive(view, change) : prepare(view, change);
}

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
  const { booted } = host.os.status;
  const { boots = 0 } = marker ?? {};
  const arrival = image === undefined ? 'arrived' : arrivalOf(host.os.status, image, boots);
  // What is written on the way down fails there alone, and would again.
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
  if (!isChange(rest) && hasArguments(change)) return completed(change);
  if (mayReboot(boots)) return prepare(view, change);
  const names = isChange(rest) ? changedNames(rest) : 'kernel arguments';
  const text = `of ${target.config} the host does not keep: ${names}`;
  return givesUp('node-agent.not-kept', text, false);
}

/** Nothing is tried again until something else is desired. */
function givesUp(
  code: 'node-agent.came-back' | 'node-agent.not-kept',
  text: string,
  restores: boolean,
): NodeDecision {
  const reason = `${code}: ${nodeAgentFailure(code, text).message}`;
  return { action: { type: 'give-up', reason, restores }, status: reason };
}

const completed = ({ target }: NodeChange): NodeDecision => ({
  action: { type: 'complete' },
  status: `the node has ${target.config}`,
});

/** Stages, has the node drained, writes the files, and reboots. */
function prepare(view: NodeView, change: NodeChange): NodeDecision {
  const { target, files, marker } = change;
  const { drain, uncordon } = requestsFor(target.config);
  const isDue = needsStaging(change);
  const mayHaveWritten = marker?.phase === 'rebooting';
  if (!isDue && !isChange(files) && !mayHaveWritten) return completed(change);
  requireOfPool(view);
  checkNextBoot(change, isDue);
  // A drain of an earlier change to another image: the node may have pods again. What was applied
  // only the controller may write.
  if (view.marker === undefined && view.node.lastAppliedDrain === drain)
    return (
      annotated(view, { state: 'Working', desiredDrain: uncordon }) ??
      waits('an earlier drain does not count')
    );
  const paused = view.isPaused ? waits('its pool is paused') : undefined;
  if (isDue && !isStaged(change))
    return paused ?? { action: { type: 'stage' }, status: `${target.config} is staged` };
  return (
    drained(view, change) ?? paused ?? { action: { type: 'reboot' }, status: 'the host reboots' }
  );
}

const requestsFor = (config: string) => ({
  drain: `drain-${config}`,
  uncordon: `uncordon-${config}`,
});

const begins: NodeDecision = { action: { type: 'begin' }, status: 'the change begins' };

/**
 * What is done before the files are written: the node is drained. One that somebody has uncordoned
 * since may have pods again: it stays unchanged until it is cordoned, and is drained once more.
 * Undefined where all of that is done.
 */
function drained(view: NodeView, change: NodeChange): NodeDecision | undefined {
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

import { describe } from '../../os/decide.ts';
import { areInForce, without } from '../../os/driver.ts';
import { nextOf, type OsStatus } from '../../os/status.ts';
import { readHost } from '../../steps/os/read-host.ts';
import { dropNextBoot } from '../../steps/os/roll-back.ts';
import {
  type Asked,
  type Change,
  hasArguments,
  mayRun,
  presentArguments,
  readChange,
  readCurrent,
} from './change.ts';
import { readDisruption } from './disruption.ts';
import { nodeAgentFailure } from './failures.ts';
import { applyChange, hostChange, isChange, changedNames } from './host-files.ts';
import {
  arrivalOf,
  isSame,
  type Marker,
  type Target,
  mayReboot,
  readMarker,
  removeMarker,
  writeMarker,
} from './marker.ts';
import {
  annotate,
  checkTarget,
  findConfig,
  type NodeState,
  targetOf,
  type NodeAgentScope,
} from './node-object.ts';
import { complete, finish, prepare, runArgvs } from './prepare.ts';
import { type WantedHost, wantedHost } from './wanted-host.ts';

/**
 * Takes a node nearer to what it should have, by one look at node, host and marker, and resolves with what it then waits
 * for. It may be stopped anywhere and called again. `checks` has a node looked at that nobody changes.
 */
export async function changeNode(
  scope: NodeAgentScope,
  asked: Pick<Change, 'node' | 'reread'> & { readonly checks: boolean },
): Promise<string> {
  const { node, reread, checks } = asked;
  const target = targetOf(node.desiredConfig, node.desiredImage);
  if (target === undefined) return awaitDesire(scope, node);
  const marker = await readMarker(scope.host, scope.signal);
  const isThere = has(node, target);
  const begun = { target, node, reread, marker };
  if (marker !== undefined && !isSame(marker, target)) return leaveOther(scope, begun, marker);
  if (!isThere) return goOn(scope, begun);
  if (checks || node.state === 'Degraded') await checkDrift(scope, target);
  return finish(scope, node);
}

/** Whether a node has what it should have, and nothing is asked of it. */
export function isAtRest(node: NodeState): boolean {
  const target = targetOf(node.desiredConfig, node.desiredImage);
  return target !== undefined && has(node, target) && isQuiet(node);
}

function has({ currentConfig, currentImage }: NodeState, target: Target): boolean {
  const current = targetOf(currentConfig, currentImage);
  return current !== undefined && isSame(current, target);
}

/** The controller gives something to a node only once an agent says that it is there. */
async function awaitDesire(scope: NodeAgentScope, node: NodeState): Promise<string> {
  await annotate(scope, node, { state: 'Done', reason: undefined });
  return 'nothing is desired of this node yet';
}

const isQuiet = ({ state, desiredDrain = '' }: NodeState): boolean =>
  state === 'Done' && !desiredDrain.startsWith('drain-');

async function goOn(scope: NodeAgentScope, asked: Asked): Promise<string> {
  const { node, marker } = asked;
  if (marker?.failed !== undefined) {
    await annotate(scope, node, { state: 'Degraded', reason: marker.failed });
    return marker.failed;
  }
  const change = await readChange(scope, asked);
  // What it was rebooted into was checked then.
  if (marker?.phase !== 'rebooting') await checkTarget(scope, change);
  if (node.state !== 'Degraded') {
    await annotate(scope, node, { state: 'Working', reason: undefined });
  }
  return marker?.phase === 'rebooting' && marker.bootId !== change.bootId
    ? arrive(scope, change, marker)
    : prepare(scope, change);
}

/**
 * Takes back what an earlier change left that is no longer desired. What the host came back with already, it has now.
 */
async function leaveOther(scope: NodeAgentScope, asked: Asked, marker: Marker): Promise<string> {
  const { host, signal } = scope;
  const change = await readChange(scope, asked);
  const object = marker.object ?? (await findConfig(scope, marker.config));
  const begun = object === undefined ? undefined : wantedHost(object);
  if (runsOther(change, marker, begun?.osImageURL)) {
    const { config: currentConfig, image: currentImage } = marker;
    await annotate(scope, change.node, { currentConfig, currentImage });
    await removeMarker(host, signal);
    return `the host runs ${marker.config}: going on from there`;
  }
  scope.note('info', `${marker.config} is no longer desired: what was begun is taken back`);
  const next = nextOf(change.snapshot.status)?.image;
  if (next !== undefined && next === marker.stages) await dropNextBoot(scope, change.snapshot);
  if (begun !== undefined) await takeBackFiles(scope, change, { marker, begun });
  await removeMarker(host, signal);
  return `${marker.config} was taken back`;
}

/** Of an earlier reboot too, which a power cut had stopped; of what was written without one, services have to take it back too. */
async function takeBackFiles(
  scope: NodeAgentScope,
  { before, wanted }: Change,
  { marker, begun }: { readonly marker: Marker; readonly begun: WantedHost },
): Promise<void> {
  const isLive = marker.phase === 'live';
  if (marker.boots === 0 && !isLive) return;
  const step = { before: begun, wanted: before ?? wanted };
  const lacks = await hostChange(scope, step.wanted, begun);
  await applyChange(scope, lacks);
  if (isLive) await runArgvs(scope, await readDisruption(scope, { ...step, lacks }));
}

function runsOther(change: Change, marker: Marker, osImageURL: string | undefined): boolean {
  const isRebooted = marker.phase === 'rebooting' && marker.bootId !== change.bootId;
  const image = marker.image ?? osImageURL;
  const had = change.node.currentImage ?? change.before?.osImageURL;
  const runs = change.snapshot.status.booted?.image;
  return isRebooted && image !== undefined && (image === runs || image === had);
}

const runsInstead = ({ booted }: OsStatus, image = ''): string =>
  `runs ${booted === undefined ? 'nothing known' : describe(booted)} instead of ${image}`;

/**
 * Compares a host that nobody changes with what it was given.
 * @throws AgentError `node-agent.drifted`
 */
async function checkDrift(scope: NodeAgentScope, { config, image }: Target): Promise<void> {
  const wanted = wantedHost(await readCurrent(scope, config));
  const snapshot = await readHost(scope);
  const { status } = snapshot;
  const os = image ?? wanted.osImageURL;
  const given = wanted.kernelArguments;
  const present = given.length === 0 ? [] : await presentArguments(scope, snapshot);
  const files = await hostChange(scope, wanted, undefined);
  const found = [
    ...(os === '' || mayRun(status, os) ? [] : [`it ${runsInstead(status, os)}`]),
    ...(areInForce(present, given) ? [] : [wrongArguments(given, present)]),
    ...(isChange(files) ? [`these differ: ${changedNames(files)}`] : []),
  ];
  if (found.length === 0) return;
  throw nodeAgentFailure('node-agent.drifted', `not as ${config} says: ${found.join('; ')}`);
}

function wrongArguments(given: readonly string[], present: readonly string[]): string {
  const lacking = without(given, present);
  return lacking.length === 0
    ? `its kernel arguments are not in the order ${given.join(' ')}`
    : `it runs without ${lacking.join(' ')}`;
}

/** The host came back: with the image that was staged, or without. */
async function arrive(scope: NodeAgentScope, change: Change, marker: Marker): Promise<string> {
  const { image, snapshot, wanted, before, target } = change;
  const arrival = image === undefined ? 'arrived' : arrivalOf(snapshot.status, image, marker.boots);
  if (arrival === 'again') return prepare(scope, change);
  if (arrival === 'refused') {
    const text = `the host ${runsInstead(snapshot.status, image)}`;
    if (before !== undefined) await applyChange(scope, await hostChange(scope, before, wanted));
    return giveUp(scope, change, { ...marker, failed: reasonOf('node-agent.came-back', text) });
  }
  const rest = await hostChange(scope, wanted, undefined);
  if (!isChange(rest) && hasArguments(change)) return complete(scope, change);
  if (mayReboot(marker)) return prepare(scope, change);
  const names = isChange(rest) ? changedNames(rest) : 'kernel arguments';
  const text = `of ${target.config} the host does not keep: ${names}`;
  return giveUp(scope, change, { ...marker, failed: reasonOf('node-agent.not-kept', text) });
}

function reasonOf(code: 'node-agent.came-back' | 'node-agent.not-kept', text: string): string {
  const { message } = nodeAgentFailure(code, text);
  return `${code}: ${message}`;
}

/** Nothing is tried again until something else is desired. */
async function giveUp(
  scope: NodeAgentScope,
  { node }: Asked,
  marker: Marker & { readonly failed: string },
): Promise<string> {
  const { failed } = marker;
  await writeMarker(scope.host, marker, scope.signal);
  await annotate(scope, node, { state: 'Degraded', reason: failed });
  return failed;
}

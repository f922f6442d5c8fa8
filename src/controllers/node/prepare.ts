import { minutes } from '../../model/duration.ts';
import { asksForChange, restartArgv } from '../../os/driver.ts';
import { describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { nextOf } from '../../os/status.ts';
import { dropNextBoot } from '../../steps/os/roll-back.ts';
import { checkFreeSpace, planApply } from '../../steps/os/check-image.ts';
import { lockHost, machineConfigFile, readHost } from '../../steps/os/read-host.ts';
import { cleanUp, stagePlanned } from '../../steps/os/stage.ts';
import type { CommandScope, NodeRequest } from '../../steps/os/step.ts';
import { recordPath, verifyPlanned } from '../../steps/os/verify.ts';
import { argumentChange, argumentsAfter, type Change, hasArguments } from './change.ts';
import { type Disruption, readDisruption, rebootNeeded } from './disruption.ts';
import { applyChange, type HostChange, hostChange, isChange, run } from './host-files.ts';
import { isSame, type Marker, removeMarker, writeMarker } from './marker.ts';
import {
  annotate,
  checkTarget,
  isOperators,
  type NodeState,
  targetOf,
  type NodeAgentScope,
} from './node-object.ts';

/** What a node waits for while another runs it, or while it goes down. */
export const daemonRuns = 'the Machine Config Operator runs this node';
export const isRebooting = 'the host reboots';

/**
 * Stages, has the node drained, writes the files, and reboots; goes on where it was stopped. A change that needs no reboot by the
 * policies of the cluster is written at once, after a drain where they ask for one.
 */
export async function prepare(scope: NodeAgentScope, change: Change): Promise<string> {
  const { target, node, wanted, before, marker } = change;
  const files = await hostChange(scope, wanted, before);
  const isDue = needsStaging(change);
  if (!isDue && !isChange(files) && !mayHaveWritten(marker)) return complete(scope, change);
  const disruption = await disruptionFor(scope, change, { files, isDue });
  if (disruption.reboots) checkNextBoot(change, isDue);
  if (marker === undefined && node.lastAppliedDrain === `drain-${target.config}`) {
    // Of an earlier change to another image: the node may have pods again. What was applied only the controller may write.
    await annotate(scope, node, { state: 'Working', desiredDrain: `uncordon-${target.config}` });
    return 'an earlier drain does not count';
  }
  if (isDue && !isStaged(change)) await stage(scope, change);
  return begin(scope, change, { files, disruption });
}

/** Whether files of a change may be on the host. */
const mayHaveWritten = (marker: Marker | undefined): boolean =>
  marker?.phase === 'rebooting' || marker?.phase === 'live';

/** Has the node drained where that is asked for, and goes on to the files. */
async function begin(scope: NodeAgentScope, change: Change, written: Written): Promise<string> {
  const { target, node, marker } = change;
  // A host that does not reboot stays degraded while it is asked again, and so does one whose services fail.
  const isAgain = hasBegunReboot(change) || marker?.phase === 'live';
  if (!isAgain) await mark(scope, change, { phase: 'staged' });
  const state = isAgain ? {} : { state: 'Working', reason: undefined };
  const { drains } = written.disruption;
  const drain = `drain-${target.config}`;
  await annotate(scope, node, { ...state, ...(drains ? { desiredDrain: drain } : {}) });
  if (drains && node.lastAppliedDrain !== drain) return `the controller drains this node: ${drain}`;
  return leave(scope, change, written);
}

/** What a change asks for; nothing that was begun with a reboot ends without one, and without a MachineConfig before nothing is known. */
async function disruptionFor(
  scope: NodeAgentScope,
  { before, wanted, marker }: Change,
  { files, isDue }: { readonly files: HostChange; readonly isDue: boolean },
): Promise<Disruption> {
  if (isDue || before === undefined || marker?.phase === 'rebooting') return rebootNeeded;
  return readDisruption(scope, { before, wanted, lacks: files });
}

/** Somebody else's deployment would be booted by our reboot; one that is not staged has an /etc of its own. */
function checkNextBoot(change: Change, isDue: boolean): void {
  const { status } = change.snapshot;
  const next = nextOf(status);
  if (next === undefined) return;
  if (isDue && status.staged !== undefined && next.image === stagedFor(change)) return;
  throw osFailure('os.staged-by-another', `${describe(next)} boots next`);
}

/** What is staged for a change: for kernel arguments alone what runs. */
const stagedFor = ({ image, wanted, snapshot: { status } }: Change): string =>
  image ?? status.booted?.image ?? wanted.osImageURL;

const needsStaging = (change: Change): boolean =>
  (change.image !== undefined && change.snapshot.status.booted?.image !== change.image) ||
  !hasArguments(change);

/** That kernel arguments were set for what is staged is in the marker: not every driver shows them. */
function isStaged(change: Change): boolean {
  const { marker, bootId, snapshot } = change;
  const wasStaged = marker?.bootId === bootId && marker.phase !== 'staging';
  return wasStaged && snapshot.status.staged?.image === stagedFor(change);
}

const hasBegunReboot = ({ marker, bootId }: Change): boolean =>
  marker?.phase === 'rebooting' && marker.bootId === bootId;

/** Keeps over a stop how far the change is. */
function mark(
  { host, signal }: NodeAgentScope,
  change: Change,
  step: Pick<Marker, 'phase'> & Partial<Pick<Marker, 'boots' | 'object'>>,
): Promise<void> {
  const { target, bootId, marker } = change;
  const stages = needsStaging(change) ? { stages: stagedFor(change) } : {};
  const after = hasArguments(change) ? {} : { arguments: argumentsAfter(change) };
  const next = { boots: 0, ...marker, ...target, bootId, ...stages, ...after, ...step };
  return writeMarker(host, next, signal);
}

async function stage(scope: NodeAgentScope, change: Change): Promise<void> {
  const kernelArguments = hasArguments(change) ? undefined : argumentChange(change);
  await mark(scope, change, { phase: 'staging' });
  // Arguments of what was begun may be changed already: a second change to them would be another one.
  const isBegun = kernelArguments !== undefined && nextOf(change.snapshot.status) !== undefined;
  if (isBegun) await dropNextBoot(scope, change.snapshot);
  await stageForNextBoot(scope, {
    image: stagedFor(change),
    kernelArguments: kernelArguments ?? { append: [], remove: [] },
    ...{ records: false, reboots: false },
  });
}

/**
 * Has an image booted next, by the steps of `node apply`, for a program that does so again and again. The image that ran
 * before is deployed again too: its old deployment would boot with the /etc that it had then.
 * @throws AgentError `os.*`
 */
async function stageForNextBoot(scope: NodeAgentScope, request: NodeRequest): Promise<void> {
  const lock = await lockHost(scope);
  try {
    await stageLocked({ ...scope, config: request });
  } finally {
    await lock.release();
  }
}

async function stageLocked(scope: CommandScope): Promise<void> {
  const snapshot = await readHost(scope, asksForChange(scope.config.kernelArguments));
  const plan = await planApply(scope, { snapshot });
  if (plan.kind !== 'nothing') {
    await cleanUp(scope, { snapshot });
    await checkFreeSpace(scope, plan);
    await stagePlanned(scope, { snapshot, plan });
  }
  await verifyPlanned(scope, { snapshot, plan });
}

/** What is written to the host, and what that asks for. */
interface Written {
  readonly files: HostChange;
  readonly disruption: Disruption;
}

async function leave(
  scope: NodeAgentScope,
  change: Change,
  { files, disruption }: Written,
): Promise<string> {
  const { target, node, marker, reread, object } = change;
  const now = await reread();
  const desired = targetOf(now.desiredConfig, now.desiredImage);
  if (desired === undefined || !isSame(desired, target)) return 'something else is desired now';
  if (now.lastAppliedDrain !== node.lastAppliedDrain) return 'the drain no longer counts';
  if (await isOperators(scope)) return daemonRuns;
  await checkTarget(scope, change);
  if (!disruption.reboots) {
    await mark(scope, change, { phase: 'live', object });
    await applyChange(scope, files);
    await runArgvs(scope, disruption);
    scope.note('info', `${target.config} is applied without a reboot`);
    return complete(scope, change);
  }
  const boots = (marker?.boots ?? 0) + (hasBegunReboot(change) ? 0 : 1);
  await mark(scope, change, { phase: 'rebooting', boots, object });
  await applyChange(scope, files);
  scope.note('info', `rebooting the host into ${target.config}`, { image: target.image ?? '' });
  await scope.host.exec(restartArgv, { signal: scope.signal, limit: minutes(2) });
  return isRebooting;
}

/** Has services take over what was written. */
export async function runArgvs(
  { host, signal }: NodeAgentScope,
  { argvs }: Disruption,
): Promise<void> {
  for (const argv of argvs) await host.exec(argv, { signal, limit: minutes(5) });
}

/** Where the Machine Config Daemon keeps its records. */
const recordFolder = '/etc/machine-config-daemon';

/** Says that the node has what it should have, on the host and in the cluster. */
export async function complete(scope: NodeAgentScope, change: Change): Promise<string> {
  const { host, signal } = scope;
  const { target, node, object } = change;
  await run(scope, ['mkdir', '-p', recordFolder]);
  await host.writeFile(machineConfigFile, JSON.stringify(object), { signal, mode: 0o600 });
  if (target.image === undefined) await host.remove(recordPath, signal);
  else await host.writeFile(recordPath, target.image, { signal, mode: 0o644 });
  const { config: currentConfig, image: currentImage } = target;
  await annotate(scope, node, { currentConfig, currentImage });
  return finish(scope, { ...node, ...target, currentConfig });
}

/** What a node waits for that has what it should have. */
export const isSettled = 'the node has what it should have';

/** Has the node uncordoned where it was drained, and ends. */
export async function finish(scope: NodeAgentScope, node: NodeState): Promise<string> {
  const { desiredDrain = '', lastAppliedDrain, desiredConfig = '' } = node;
  await removeMarker(scope.host, scope.signal);
  const uncordon = `uncordon-${desiredConfig}`;
  if (desiredDrain.startsWith('drain-')) await annotate(scope, node, { desiredDrain: uncordon });
  const isUncordoned = desiredDrain === '' || lastAppliedDrain === uncordon;
  if (desiredDrain.startsWith('drain-') || (!isUncordoned && desiredDrain === uncordon)) {
    return `the controller uncordons this node: ${uncordon}`;
  }
  await annotate(scope, node, { state: 'Done', reason: undefined });
  return isSettled;
}

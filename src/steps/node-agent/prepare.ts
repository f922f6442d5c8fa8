import { minutes } from '../../model/duration.ts';
import { restartArgv } from '../../os/driver.ts';
import { nextOf } from '../../os/status.ts';
import { stageForNextBoot } from '../os/stage-image.ts';
import { argumentChange, type Change, hasArguments } from './change.ts';
import { complete } from './finish.ts';
import { applyChange, type HostChange, hostChange, isChange } from './host-files.ts';
import { isSame, type Marker, writeMarker } from './marker.ts';
import { annotate, isOperators, targetOf } from './node-object.ts';
import type { NodeAgentScope } from './world.ts';

/** What a node waits for while another runs it, or while it goes down. */
export const daemonRuns = 'the Machine Config Daemon runs this node';
export const isRebooting = 'the host reboots';

/** Stages, has the node drained, writes the files, and reboots; goes on where it was stopped. */
export async function prepare(scope: NodeAgentScope, change: Change): Promise<string> {
  const { target, node, wanted, before, marker } = change;
  const files = await hostChange(scope, wanted, before);
  const isDue = needsStaging(change);
  if (!isDue && !isChange(files) && marker?.phase !== 'rebooting') return complete(scope, change);
  const drain = `drain-${target.config}`;
  if (marker === undefined && node.lastAppliedDrain === drain) {
    // Of an earlier change to another image: the node may have pods again.
    await annotate(scope, node, { lastAppliedDrain: undefined });
    return 'an earlier drain does not count';
  }
  if (isDue && !isStaged(change)) await stage(scope, change);
  if (!hasBegunReboot(change)) await mark(scope, change, { phase: 'staged' });
  await annotate(scope, node, { state: 'Working', reason: undefined, desiredDrain: drain });
  if (node.lastAppliedDrain !== drain) return `the controller drains this node: ${drain}`;
  return leave(scope, change, files);
}

const needsStaging = (change: Change): boolean =>
  (change.image !== undefined && change.snapshot.status.booted?.image !== change.image) ||
  !hasArguments(change);

/** Kernel arguments of what is staged cannot be read: that they were set is in the marker. */
function isStaged({ marker, bootId, image, snapshot: { status } }: Change): boolean {
  const wasStaged = marker?.bootId === bootId && marker.phase !== 'staging';
  return wasStaged && nextOf(status)?.image === (image ?? status.booted?.image);
}

const hasBegunReboot = ({ marker, bootId }: Change): boolean =>
  marker?.phase === 'rebooting' && marker.bootId === bootId;

/** Keeps over a stop how far the change is. */
function mark(
  { host, signal }: NodeAgentScope,
  { target, bootId, marker }: Change,
  step: Pick<Marker, 'phase'> & Partial<Pick<Marker, 'boots'>>,
): Promise<void> {
  return writeMarker(host, { ...target, bootId, boots: marker?.boots ?? 0, ...step }, signal);
}

async function stage(scope: NodeAgentScope, change: Change): Promise<void> {
  const { image, wanted, snapshot } = change;
  await mark(scope, change, { phase: 'staging' });
  await stageForNextBoot(scope, {
    image: image ?? snapshot.status.booted?.image ?? wanted.osImageURL,
    kernelArguments: hasArguments(change) ? { append: [], remove: [] } : argumentChange(change),
    ...{ records: false, reboots: false },
  });
}

async function leave(scope: NodeAgentScope, change: Change, files: HostChange): Promise<string> {
  const { target, marker, reread } = change;
  const now = await reread();
  const desired = targetOf(now.desiredConfig, now.desiredImage);
  if (desired === undefined || !isSame(desired, target)) return 'something else is desired now';
  if (await isOperators(scope)) return daemonRuns;
  const boots = (marker?.boots ?? 0) + (hasBegunReboot(change) ? 0 : 1);
  await mark(scope, change, { phase: 'rebooting', boots });
  await applyChange(scope, files);
  scope.note('info', `rebooting the host into ${target.config}`, { image: target.image ?? '' });
  await scope.host.exec(restartArgv, { signal: scope.signal, limit: minutes(2) });
  return isRebooting;
}

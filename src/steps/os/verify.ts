import { describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { isSameDeployment, nextOf, type OsDeployment, type OsStatus } from '../../os/status.ts';
import { checkBootRoom } from './boot-room.ts';
import { readStatus } from './read-host.ts';
import type { ApplyPlan, CommandScope, OsSnapshot } from './request.ts';
import { dropNextBoot } from './roll-back.ts';

/**
 * Reads back what boots next. What would not fit into /boot is discarded: it would fail on the way
 * down, with the node drained.
 * @throws AgentError `os.not-staged`, `os.no-space`
 */
export async function verifyPlanned(
  scope: CommandScope,
  snapshot: OsSnapshot,
  plan: ApplyPlan,
): Promise<OsStatus> {
  const { driver } = snapshot;
  const status = await readStatus(scope, driver);
  const next = checkNext(scope, status, { before: nextOf(snapshot.status), plan });
  try {
    if (next !== undefined && isSameDeployment(next, status.staged))
      await checkBootRoom(scope, { ...snapshot, status });
  } catch (error) {
    scope.signal.throwIfAborted();
    await dropNextBoot(scope, { driver, status });
    throw error;
  }
  return status;
}

/** What boots next, where that is not what runs. */
function checkNext(
  { config: { image }, note }: CommandScope,
  status: OsStatus,
  { before, plan }: { readonly before: OsDeployment | undefined; readonly plan: ApplyPlan },
): OsDeployment | undefined {
  const another = nextOf(status);
  if (another === undefined && plan.kind === 'upgrade') {
    note('info', 'this image name points to no newer image');
    return undefined;
  }
  const next = plan.kind === 'nothing' ? (another ?? status.booted) : another;
  if (next?.image !== image) throw notStaged(image, next ?? status.booted);
  // A tag may have been moved between the look at the registry and the pull; what booted next
  // before counts not.
  const { digest } = plan;
  if (digest !== undefined && next.digest !== undefined && digest !== next.digest) {
    if (before !== undefined && isSameDeployment(next, before))
      throw notStaged(`${image}, which is ${digest}`, { ...next, image: `${image} of before` });
    note('info', `${next.digest} boots next; the name pointed to ${digest} before`);
  }
  note('info', `${image} boots next`, { checksum: next.checksum });
  return another;
}

const notStaged = (image: string, next: OsDeployment | undefined): Error => {
  const found = next === undefined ? 'nothing known' : describe(next);
  return osFailure('os.not-staged', `${found} boots next, not ${image}`, {
    context: { wanted: image, next: found },
  });
};

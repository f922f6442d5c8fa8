import { minutes } from '../../model/duration.ts';
import { describe } from '../../os/decide.ts';
import { osFailure } from '../../os/failures.ts';
import { isSameDeployment, nextOf, type OsDeployment, type OsStatus } from '../../os/status.ts';
import {
  Rollback,
  NextBoot,
  type NodeRequest,
  type CommandScope,
  ApplyPlan,
  OsSnapshot,
  nodeStep,
} from './step.ts';
import { readStatus } from './read-host.ts';
import { condition } from '../../engine/condition.ts';
import { checkBootRoom } from './boot-room.ts';
import { dropNextBoot } from './roll-back.ts';

/** Reads back what the host boots next after an apply. */
export const verifyNextBoot = nodeStep({
  id: 'os/verify',
  title: 'Check that the host boots the image next',
  uses: ['host', 'clock'],
  needs: { snapshot: OsSnapshot, plan: ApplyPlan },
  gives: NextBoot,
  limit: minutes(10),
  run: verifyPlanned,
});

/**
 * Reads back what boots next. What would not fit into /boot is discarded: it would fail on the way
 * down, with the node drained.
 * @throws AgentError `os.not-staged`, `os.no-space`
 */
export async function verifyPlanned(
  scope: CommandScope,
  { snapshot, plan }: { readonly snapshot: OsSnapshot; readonly plan: ApplyPlan },
): Promise<NextBoot> {
  const { driver } = snapshot;
  const status = await readStatus(scope, driver);
  const next = checkNext(scope, { snapshot, plan }, status);
  try {
    if (next !== undefined && isSameDeployment(next, status.staged))
      await checkBootRoom(scope, { ...snapshot, status });
  } catch (error) {
    scope.signal.throwIfAborted();
    await dropNextBoot(scope, { driver, status });
    throw error;
  }
  return nextBoot(status);
}

/** What boots next, where that is not what runs. */
function checkNext(
  scope: CommandScope,
  { snapshot, plan }: { readonly snapshot: OsSnapshot; readonly plan: ApplyPlan },
  status: OsStatus,
): OsDeployment | undefined {
  const another = nextOf(status);
  if (another === undefined && plan.kind === 'upgrade') {
    scope.note('info', 'this image name points to no newer image');
    return undefined;
  }
  const { image } = scope.config;
  const next = plan.kind === 'nothing' ? (another ?? status.booted) : another;
  if (next?.image !== image) throw notStaged(image, next ?? status.booted);
  checkDigest(scope, { next, before: nextOf(snapshot.status), digest: plan.digest });
  scope.note('info', `${image} boots next`, { checksum: next.checksum });
  return another;
}

/**
 * A tag may have been moved between the look at the registry and the pull; what booted next before
 * counts not.
 */
function checkDigest(
  { config: { image }, note }: CommandScope,
  {
    next,
    before,
    digest,
  }: {
    readonly next: OsDeployment;
    readonly before: OsDeployment | undefined;
    readonly digest: string | undefined;
  },
): void {
  if (digest === undefined || next.digest === undefined || digest === next.digest) return;
  if (before !== undefined && isSameDeployment(next, before))
    throw notStaged(`${image}, which is ${digest}`, { ...next, image: `${image} of before` });
  note('info', `${next.digest} boots next; the name pointed to ${digest} before`);
}

const notStaged = (image: string, next: OsDeployment | undefined): Error => {
  const found = next === undefined ? 'nothing known' : describe(next);
  return osFailure('os.not-staged', `${found} boots next, not ${image}`, {
    context: { wanted: image, next: found },
  });
};

/** Reads back what the host boots next after a rollback. */
export const verifyRollback = nodeStep({
  id: 'os/verify-rollback',
  title: 'Check that the host boots the previous deployment next',
  uses: ['host'],
  needs: { snapshot: OsSnapshot, rollback: Rollback },
  gives: NextBoot,
  limit: minutes(10),
  run: async (scope, { snapshot, rollback }) => {
    const status = await readStatus(scope, snapshot.driver);
    const next = nextOf(status) ?? status.booted;
    if (next?.checksum === rollback.checksum) {
      scope.note('info', `${describe(next)} boots next`, { checksum: next.checksum });
      return nextBoot(status);
    }
    const what = 'the host will not boot the deployment that it is rolled back to';
    throw osFailure('os.not-staged', what, {
      context: { wanted: rollback.checksum, next: next?.checksum ?? 'nothing' },
    });
  },
});

const nextBoot = (status: OsStatus): NextBoot => {
  const another = nextOf(status);
  return {
    checksum: (another ?? status.booted)?.checksum ?? '',
    isAnother: another !== undefined,
    isStaged: status.staged !== undefined,
  };
};

/** What the Machine Config Daemon goes by when it starts: a pull spec and nothing else. */
export const recordPath = '/etc/machine-config-daemon/currentimage';

const wantsRecord = condition<NodeRequest>('a record is requested', ({ records }) => records);

/** Writes down that the image is what the node is to run, once it is booted next or runs. */
export const recordImage = nodeStep({
  id: 'os/record-image',
  title: 'Record the image for the Machine Config Daemon',
  uses: ['host'],
  needs: { next: NextBoot },
  when: wantsRecord,
  limit: minutes(5),
  touches: ['os'],
  run: async ({ host, signal, note, config: { image } }, { next }) => {
    // What is staged gets its /etc on the way down, from the one that is written to here.
    if (next.isAnother && !next.isStaged) {
      throw osFailure('os.record-lost', `${image} boots next with its own /etc`);
    }
    if ((await host.readText(recordPath, signal)) === image) {
      note('info', 'the image is recorded already');
      return;
    }
    await host.writeFile(recordPath, image, { signal, mode: 0o644 });
    note('info', `${image} is recorded for the Machine Config Daemon`, { path: recordPath });
  },
});

const wantsRestart = condition<NodeRequest>('a reboot is requested', ({ reboots }) => reboots);

/** Restarts the host; what is staged is written to the boot loader on the way down. */
export const restartArgv = ['systemctl', 'reboot'] as const;

/** Restarts the host, if that makes a difference. */
export const restartHost = nodeStep({
  id: 'os/restart',
  title: 'Reboot the host into the next deployment',
  uses: ['host'],
  needs: { next: NextBoot },
  when: wantsRestart,
  limit: minutes(5),
  leaves: true,
  skipIf: ({ next }) => (next.isAnother ? undefined : 'the host already runs what it boots next'),
  preview: () => [restartArgv],
  run: async ({ host, signal }) => {
    await host.exec(restartArgv, { signal, limit: minutes(2) });
  },
});

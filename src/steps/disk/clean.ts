// What was on the disk must go and cannot come back: with volume groups deactivated only, udev
// starts them again while the image is written, and the writer ends with a busy disk. So the
// metadata goes too, from the top down: volumes, arrays, partitions, disk; then it is verified.
// What cannot be removed is reported, and left to coreos-installer to judge.
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { unreadableOutput } from '../host-commands.ts';
import { readWriterSetup } from './writer-args.ts';
import type { PollResult } from '../../engine/wait.ts';
import { step, type StepScope } from '../step.ts';
import { isMapped, isUnformatted, partitionsOf } from './block-devices.ts';
import { cleansDisk, isBusy, renderHolder, requireFree } from './guards.ts';
import { diskFailure } from './failures.ts';
import { TargetDisk } from './facts.ts';
import { isOtherDisk, readTarget } from './target.ts';
import {
  deactivateGroupArgv,
  forgetArrayArgv,
  groupsOn,
  isOn,
  leftoversOn,
  parsePvs,
  parseVgs,
  pvsArgv,
  removeGroupArgv,
  removeMappedArgv,
  removePhysicalArgv,
  settleArgv,
  stopArrayArgv,
  takedownArgvs,
  vgsArgv,
  wipefsArgv,
} from './wipe.ts';

/** Removes LVM, RAID, device-mapper leftovers and signatures from the install disk. */
export const cleanDisk = step({
  id: 'disk/clean',
  title: 'Remove what an earlier system left on the install disk',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk },
  when: cleansDisk,
  destroys: true,
  freshUntil: 'image/write',
  touches: ['disk:install'],
  limit: minutes(10),
  preview: (_config, { disk }) => [
    vgsArgv,
    deactivateGroupArgv('<volume group>'),
    removeGroupArgv('<volume group>'),
    pvsArgv,
    removePhysicalArgv('<physical volume>'),
    removeMappedArgv('<mapped device>'),
    stopArrayArgv('<array>'),
    forgetArrayArgv('<member of the array>'),
    wipefsArgv('<partition>'),
    wipefsArgv(disk.path),
    settleArgv,
  ],
  run: async (scope, { disk }) => {
    if (isUnformatted(disk)) {
      scope.note('info', `${disk.path} is not formatted; coreos-installer formats it`);
      return;
    }
    const { keepsPartitions } = await readWriterSetup(scope);
    if (keepsPartitions) {
      scope.note('info', `coreos-installer keeps partitions of ${disk.path}; it is not cleaned`);
      return;
    }
    const problems = await removeLeftovers(scope, disk);
    if (problems.length > 0) reportProblems(scope, disk, problems);
  },
});

/**
 * Removes what an earlier system left on a disk. Resolves with what of it could not be removed.
 * Right before each command the disk is looked at again: one that is in use by then is not cleaned
 * any further.
 * @throws AgentError `disk.changed`, `disk.missing`
 */
export async function removeLeftovers(
  scope: CleanScope,
  disk: TargetDisk,
): Promise<readonly string[]> {
  const cleanup = cleanupOf(scope, disk);
  await orProblem(scope, cleanup, async () => {
    await removeVolumeGroups(scope, cleanup, disk);
    const isEmpty = await takeDown(scope, cleanup, { target: disk, within: longestUse });
    await wipe(scope, cleanup, disk);
    await cleanup.attemptQuietly(settleArgv);
    await takeDown(scope, cleanup, { target: disk, within: isEmpty ? longestUse : 0 });
  });
  return cleanup.problems;
}

/**
 * What is not cleaned by then is left to the writer, before the step itself would fail at its
 * limit.
 */
const longestCleanup = minutes(9);

/** Commands that may fail without ending the cleanup. */
interface Cleanup {
  /** Runs a command on the disk; its output, or undefined when it failed. */
  readonly attempt: (argv: readonly string[]) => Promise<string | undefined>;
  /** Likewise, where a later look decides whether it mattered; what it failed with. */
  readonly attemptQuietly: (argv: readonly string[]) => Promise<string | AgentError>;
  /** What failed so far. */
  readonly problems: string[];
}

/** What opens a disk to look at it (smartctl, udev, blkid) has closed it by then. */
const longestUse = minutes(2);

type CleanScope = StepScope<'host' | 'clock'>;

function cleanupOf({ host, clock, signal }: CleanScope, target: TargetDisk): Cleanup {
  const problems: string[] = [];
  const end = clock.elapsed() + longestCleanup;
  const run = async (argv: readonly string[]): Promise<string | AgentError> => {
    const limit = Math.min(minutes(1), end - clock.elapsed());
    if (limit <= 0) throw diskFailure('disk.busy', `${target.path} could not be cleaned in time`);
    // Its own failures end the cleanup: a disk that cannot be seen is not wiped.
    await requireFree({ host, signal }, target, true);
    try {
      return (await host.exec(argv, { signal, limit })).stdout;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AgentError) return error;
      throw error;
    }
  };
  return {
    problems,
    attempt: async (argv) => {
      const answer = await run(argv);
      if (typeof answer === 'string') return answer;
      // A host without the tools of LVM has nothing of its kind running.
      if (answer.code !== 'command.not-found') problems.push(answer.message);
      return undefined;
    },
    attemptQuietly: run,
  };
}

/**
 * What ends the cleanup is a problem too, and no failure: the writer decides. Unless it is not the
 * same disk.
 */
async function orProblem(
  { signal }: CleanScope,
  { problems }: Cleanup,
  clean: () => Promise<void>,
): Promise<void> {
  try {
    await clean();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || isOtherDisk(error)) throw error;
    problems.push(error.message);
  }
}

async function removeVolumeGroups(
  { host, signal }: CleanScope,
  { attempt, problems }: Cleanup,
  target: TargetDisk,
): Promise<void> {
  /**
   * Each line ends with a device; LVM writes `[unknown]` or `unknown device` for one that is gone.
   */
  const list = async (argv: readonly string[]): Promise<string> => {
    const stdout = (await attempt(argv)) ?? '';
    const isDevice = (line: string): boolean => /^$|\/|unknown/.test(line.trim());
    if (stdout.split('\n').every(isDevice)) return stdout;
    problems.push(unreadableOutput(argv[0] ?? '', 'list of devices', stdout).message);
    return '';
  };
  const disk = await readTarget(host, target, signal);
  const real = async (path: string): Promise<string> =>
    path.startsWith('/') ? ((await host.realPath(path, signal)) ?? path) : path;
  const groups = await Promise.all(
    parseVgs(await list(vgsArgv)).map(async ({ group, device }) => ({
      group,
      device: await real(device),
    })),
  );
  for (const group of groupsOn(disk, groups)) {
    await attempt(deactivateGroupArgv(group));
    await attempt(removeGroupArgv(group));
  }
  for (const path of parsePvs(await list(pvsArgv))) {
    if (isOn(disk, await real(path))) await attempt(removePhysicalArgv(path));
  }
}

/**
 * Takes down what uses the disk, and waits for whoever has it open a moment; whether it is free
 * then.
 */
async function takeDown(
  { host, signal, until }: CleanScope,
  { attemptQuietly, problems }: Cleanup,
  { target, within }: { readonly target: TargetDisk; readonly within: Millis },
): Promise<boolean> {
  let left: readonly string[] = [];
  let failed = '';
  try {
    await until(
      'the install disk is empty',
      async () => {
        const disk = await readTarget(host, target, signal);
        left = leftoversOn(disk).map(({ path, type }) =>
          renderHolder({ kind: 'leftover', device: path, type }),
        );
        if (left.length === 0) return { done: undefined };
        for (const argv of takedownArgvs(disk)) {
          const answer = await attemptQuietly(argv);
          if (answer instanceof AgentError) failed = `: ${answer.message}`;
        }
        return { status: left.join('; ') };
      },
      { every: seconds(1), within },
    );
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    problems.push(`${isBusy(target, left).message}${failed}`);
    return false;
  }
}

/**
 * Removes the signatures of the partitions and of the disk, and maps of partitions over a multipath
 * device, which has to be free too. What the kernel does not give is tried again for a while.
 */
async function wipe(
  { host, signal, until }: CleanScope,
  { attemptQuietly, problems }: Cleanup,
  target: TargetDisk,
): Promise<void> {
  let failures: readonly string[] = [];
  const poll = async (): Promise<PollResult<undefined>> => {
    const partitions = partitionsOf(await readTarget(host, target, signal));
    const failed: AgentError[] = [];
    for (const argv of [
      ...partitions.map(({ path }) => wipefsArgv(path)),
      ...partitions.filter(isMapped).map(({ name }) => removeMappedArgv(name)),
      wipefsArgv(target.path),
    ]) {
      const answer = await attemptQuietly(argv);
      if (answer instanceof AgentError) failed.push(answer);
    }
    failures = failed.map(({ message }) => message);
    const isBusy = failed.some(({ context }) => String(context['stderr']).includes(' busy'));
    return isBusy ? { status: failures.join('; ') } : { done: undefined };
  };
  try {
    await until('the kernel gives the install disk', poll, {
      every: seconds(2),
      within: longestUse,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
  }
  problems.push(...failures);
}

function reportProblems(
  { note, progress }: StepScope<'host'>,
  { path }: TargetDisk,
  problems: readonly string[],
): void {
  // Triage tools look for the beginning of this line in the log.
  note('warn', `failed to prepare install device ${path}, err ${problems.join('; ')}`);
  progress({
    info: `Could not clean install device ${path}. The installation will continue. If the installation fails, clean the disk and try again`,
  });
}

// What was on the disk must go and cannot come back: with volume groups deactivated only, udev
// starts them again while the image is written, and the writer ends with a busy disk. So the
// metadata goes too, from the top down: volumes, arrays, partitions, disk; then it is verified.
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { step, type StepScope } from '../step.ts';
import { partitionsOf, readTarget } from './block-devices.ts';
import { cleansDisk, isBusy, renderHolder } from './guards.ts';
import { TargetDisk } from './facts.ts';
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
  wipefsGentlyArgv,
} from './wipe.ts';

/** Removes LVM, RAID, device-mapper leftovers and signatures from the install disk. */
export const cleanDisk = step({
  id: 'disk/clean',
  title: 'Remove what an earlier system left on the install disk',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: cleansDisk,
  destroys: true,
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
    const cleanup = cleanupOf(scope);
    await removeVolumeGroups(scope, cleanup, disk);
    await takeDown(scope, cleanup, disk);
    await wipe(scope, cleanup, disk);
    await cleanup.attemptQuietly(settleArgv);
    await takeDown(scope, cleanup, disk);
    if (cleanup.problems.length > 0) reportProblems(scope, disk, cleanup.problems);
  },
});

/** Commands that may fail without ending the cleanup. */
interface Cleanup {
  /** Runs a command; its output, or undefined when it failed. */
  readonly attempt: (argv: readonly string[]) => Promise<string | undefined>;
  /** Likewise, where a later look decides whether it mattered. */
  readonly attemptQuietly: (argv: readonly string[]) => Promise<string | undefined>;
  /** What failed so far. */
  readonly problems: string[];
}

function cleanupOf({ host, signal }: StepScope<'host'>): Cleanup {
  const problems: string[] = [];
  const run = async (argv: readonly string[]): Promise<string | AgentError> => {
    try {
      return (await host.exec(argv, { signal, limit: minutes(1) })).stdout;
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
      // A host without the tool has nothing of its kind running.
      if (answer.code !== 'command.not-found') problems.push(answer.message);
      return undefined;
    },
    attemptQuietly: async (argv) => {
      const answer = await run(argv);
      return typeof answer === 'string' ? answer : undefined;
    },
  };
}

async function removeVolumeGroups(
  { host, signal }: StepScope<'host'>,
  { attempt }: Cleanup,
  target: TargetDisk,
): Promise<void> {
  const disk = await readTarget(host, target, signal);
  // LVM writes `[unknown]` for a device of a group that is gone.
  const real = async (path: string): Promise<string> =>
    path.startsWith('/') ? ((await host.realPath(path, signal)) ?? path) : path;
  const groups = await Promise.all(
    parseVgs((await attempt(vgsArgv)) ?? '').map(async ({ group, device }) => ({
      group,
      device: await real(device),
    })),
  );
  for (const group of groupsOn(disk, groups)) {
    await attempt(deactivateGroupArgv(group));
    await attempt(removeGroupArgv(group));
  }
  for (const path of parsePvs((await attempt(pvsArgv)) ?? '')) {
    if (isOn(disk, await real(path))) await attempt(removePhysicalArgv(path));
  }
}

/** @throws AgentError `disk.busy` when something still uses the disk */
async function takeDown(
  { host, signal, until }: StepScope<'host'>,
  { attemptQuietly }: Cleanup,
  target: TargetDisk,
): Promise<void> {
  let left: readonly string[] = [];
  try {
    await until(
      'the install disk is empty',
      async () => {
        const disk = await readTarget(host, target, signal);
        left = leftoversOn(disk).map(({ path, type }) =>
          renderHolder({ kind: 'leftover', device: path, type }),
        );
        if (left.length === 0) return { done: undefined };
        for (const argv of takedownArgvs(disk)) await attemptQuietly(argv);
        return { status: left.join('; ') };
      },
      { every: seconds(1), within: seconds(30) },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    throw isBusy(target, left);
  }
}

async function wipe(
  { host, signal }: StepScope<'host'>,
  { attempt, attemptQuietly }: Cleanup,
  target: TargetDisk,
): Promise<void> {
  const disk = await readTarget(host, target, signal);
  for (const { path } of partitionsOf(disk)) await attempt(wipefsArgv(path));
  if ((await attemptQuietly(wipefsArgv(target.path))) === undefined) {
    await attempt(wipefsGentlyArgv(target.path));
  }
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

// Empties a disk. While the image is written, udev restarts LVM and RAID that are only stopped, and
// then the writer fails with a busy disk. So the signatures are removed too, from the top down.
// Nothing is forced: the kernel refuses a device that is in use.
import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import {
  type BlockDevice,
  descendantsOf,
  isArray,
  isLeftover,
  isMapped,
  isUnformatted,
  partitionsOf,
} from './block-devices.ts';
import { type DiskIdentity, TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import {
  cleansDisk,
  extraDisks,
  hasOtherSystem,
  holdersOf,
  isBusy,
  otherSystems,
  requireFree,
} from './guards.ts';
import { isOtherDisk, readDisks } from './target.ts';
import { readWriterSetup } from './writer-args.ts';

/**
 * Removes every signature that libblkid knows, and the GPT at both ends. The kernel refuses a
 * device that is in use (`O_EXCL`; util-linux, `wipefs.c`).
 */
const wipefsArgv = (path: string): readonly string[] => ['wipefs', '--all', path];

/** Waits until udev has processed every change. */
export const settleArgv = ['udevadm', 'settle', '--timeout=30'] as const;

/** Removes a device-mapper device; retries if it is open for a moment. */
const removeMappedArgv = (name: string): readonly string[] => [
  ...['dmsetup', 'remove', '--retry', name],
];

const stopArrayArgv = (path: string): readonly string[] => ['mdadm', '--stop', path];

/** Removes the RAID metadata from a device. */
const forgetArrayArgv = (path: string): readonly string[] => ['mdadm', '--zero-superblock', path];

/** The commands as a plan shows them, before the disk is read. */
const emptyingPreview = (path: string): readonly (readonly string[])[] => [
  removeMappedArgv('<mapped device>'),
  stopArrayArgv('<array>'),
  forgetArrayArgv('<member of the array>'),
  wipefsArgv('<partition>'),
  wipefsArgv(path),
  settleArgv,
];

/**
 * The commands that empty a disk, from the top. The metadata of array members is removed right
 * after the array is stopped, otherwise udev assembles it again; members on other disks remain.
 * Maps of partitions over a multipath device are removed before its own signatures, because they
 * hold it.
 */
export function emptyingArgvs(disk: BlockDevice): readonly (readonly string[])[] {
  const partitions = partitionsOf(disk);
  const takedown = descendantsOf(disk)
    .filter(isLeftover)
    .flatMap((device) => {
      if (!isArray(device)) return [removeMappedArgv(device.name)];
      const members = [disk, ...partitions].filter(({ children }) =>
        children.some(({ kname }) => kname === device.kname),
      );
      return [stopArrayArgv(device.path), ...members.map(({ path }) => forgetArrayArgv(path))];
    });
  return [
    ...takedown,
    ...partitions.map(({ path }) => wipefsArgv(path)),
    ...partitions.filter(isMapped).map(({ name }) => removeMappedArgv(name)),
    wipefsArgv(disk.path),
  ];
}

/** Programs that open a disk to read it (smartctl, udev, blkid) have closed it by then. */
const longestUse = minutes(2);

/**
 * No command begins after this time, however slow the earlier ones were: a step has its own limit.
 */
const longestEmptying = minutes(9);

/**
 * Takes down the users of a disk and removes every signature. Before each command the disk is read
 * again: if it is mounted by then, no further command runs. A command that the kernel refuses is
 * repeated for two minutes. Resolves with the remaining users and signatures.
 * @throws AgentError `disk.changed`, `disk.missing`
 */
export function emptyDisk(
  scope: StepScope<'host' | 'clock'>,
  target: DiskIdentity,
): Promise<readonly string[]> {
  const { host, clock, signal, until } = scope;
  const begin = clock.elapsed();
  const run = async (argv: readonly string[]): Promise<readonly AgentError[]> => {
    const limit = Math.min(minutes(1), longestEmptying - (clock.elapsed() - begin));
    if (limit <= 0) throw diskFailure('disk.busy', `${target.path} could not be emptied in time`);
    await requireFree(scope, target, true);
    try {
      await host.exec(argv, { signal, limit });
      return [];
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AgentError) return [error];
      throw error;
    }
  };
  const emptyOnce = async () => {
    const failed: AgentError[] = [];
    for (const argv of emptyingArgvs(await requireFree(scope, target, true)))
      failed.push(...(await run(argv)));
    await run(settleArgv);
    const left = holdersOf(await requireFree(scope, target, true)).map(({ text }) => text);
    // The remaining devices show whether a takedown failed.
    const kept = failed.filter(
      ({ context: { argv } }) => left.length > 0 || String(argv).startsWith('wipefs'),
    );
    return {
      isBusy:
        left.length > 0 || kept.some(({ context }) => String(context['stderr']).includes(' busy')),
      problems: [
        ...(left.length > 0 ? [isBusy(target, left).message] : []),
        ...kept.map(({ message }) => message),
      ],
    };
  };
  return until(
    `${target.path} is empty`,
    async () => {
      try {
        const { isBusy, problems } = await emptyOnce();
        return isBusy && clock.elapsed() - begin < longestUse
          ? { status: problems.join('; ') }
          : { done: problems };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof AgentError) || isOtherDisk(error)) throw error;
        return { done: [error.message] };
      }
    },
    { every: seconds(2), within: longestEmptying },
  );
}

/**
 * Removes LVM, RAID, device-mapper leftovers and signatures from the install disk. The step reports
 * those that it cannot remove; coreos-installer decides whether they prevent the write.
 */
export const cleanDisk = step({
  id: 'disk/clean',
  title: 'Remove LVM, RAID and signatures from the install disk',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk },
  when: cleansDisk,
  effect: 'destroys',
  limit: minutes(10),
  preview: (_config, { disk }) => emptyingPreview(disk.path),
  run: async (scope, { disk }) => {
    const { note, progress } = scope;
    if (isUnformatted(disk)) {
      note('info', `${disk.path} is not formatted; coreos-installer formats it`);
      return;
    }
    if ((await readWriterSetup(scope)).keepsPartitions) {
      note('info', `coreos-installer keeps partitions of ${disk.path}; it is not cleaned`);
      return;
    }
    const problems = await emptyDisk(scope, disk);
    if (problems.length === 0) return;
    // Triage tools search for the beginning of this line in the log.
    note('warn', `failed to prepare install device ${disk.path}, err ${problems.join('; ')}`);
    progress({
      info: `Could not clean install device ${disk.path}. The installation will continue. If the installation fails, clean the disk and try again`,
    });
  },
});

/**
 * Removes the partition tables of additional disks, so that the firmware boots none of them. A
 * failure on such a disk is a warning, as in assisted-installer, unless the remaining content would
 * stop the first boot.
 */
export const formatExtraDisks = step({
  id: 'disk/format-extra',
  title: 'Remove the partition tables of additional disks',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk },
  when: all(
    writesDisk,
    condition<Config>('additional disks are to be formatted', ({ disk }) => disk.format.length > 0),
  ),
  effect: 'destroys',
  // The step waits for each busy disk.
  limit: hours(2),
  explain: ({ disk }) => disk.format.join(', '),
  preview: ({ disk }) => disk.format.flatMap(emptyingPreview),
  run: async (scope, { disk: target }) => {
    const { host, config, signal, note } = scope;
    const decisions = await extraDisks(scope, await readDisks(host, target, signal), target.extra);
    for (const asked of config.disk.format) {
      try {
        const decided = decisions.find(({ identity }) => identity.asked === asked);
        if (decided === undefined)
          throw diskFailure('disk.not-formatted', `${asked} is not a disk of this host`);
        if (decided.found instanceof AgentError) throw decided.found;
        const problems = await emptyDisk(scope, decided.identity);
        if (problems.length > 0) throw diskFailure('disk.not-formatted', problems.join('; '));
        note('info', `${asked} has no partition table any more`);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof AgentError)) throw error;
        const { code, hint, message } = error;
        note('warn', `${asked} was not formatted: ${message}`, { code, hint });
      }
    }
    const after = await readDisks(host, target, signal);
    const systems = otherSystems(after.roots, after.disk);
    if (systems.length > 0) throw hasOtherSystem(after.disk, systems);
  },
});

// How a disk is emptied. LVM and RAID that are only stopped are started again by udev while the
// image is written, and the writer ends with a busy disk: so the signatures go too, from the top
// down. Nothing is forced: the kernel refuses a device that something has.
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { StepScope } from '../step.ts';
import {
  type BlockDevice,
  descendantsOf,
  isArray,
  isLeftover,
  isMapped,
  partitionsOf,
} from './block-devices.ts';
import type { DiskIdentity } from './facts.ts';
import { diskFailure } from './failures.ts';
import { holdersOf, isBusy, requireFree } from './guards.ts';
import { isOtherDisk } from './target.ts';

/**
 * Removes every signature that libblkid knows, also the GPT at both ends. The kernel refuses a
 * device that something else has (`O_EXCL`; util-linux, `wipefs.c`).
 */
const wipefsArgv = (path: string): readonly string[] => ['wipefs', '--all', path];

/** Waits until udev has seen every change. */
export const settleArgv = ['udevadm', 'settle', '--timeout=30'] as const;

/** Removes a device-mapper device, and waits where it is open for a moment. */
const removeMappedArgv = (name: string): readonly string[] => [
  ...['dmsetup', 'remove', '--retry', name],
];

const stopArrayArgv = (path: string): readonly string[] => ['mdadm', '--stop', path];

/** Makes a device forget that it was in an array. */
const forgetArrayArgv = (path: string): readonly string[] => ['mdadm', '--zero-superblock', path];

/** The commands as a plan shows them, before the disk is read. */
export const emptyingPreview = (path: string): readonly (readonly string[])[] => [
  removeMappedArgv('<mapped device>'),
  stopArrayArgv('<array>'),
  forgetArrayArgv('<member of the array>'),
  wipefsArgv('<partition>'),
  wipefsArgv(path),
  settleArgv,
];

/**
 * The commands that empty a disk, from the top. The members of an array forget it as soon as it is
 * stopped, else udev puts it together again; members on other disks remain. Maps of partitions over
 * a multipath device go before its own signatures, since they hold it.
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

/** What opens a disk to look at it (smartctl, udev, blkid) has closed it by then. */
const longestUse = minutes(2);

/** No command begins later, however slow the others were: a step has its own limit. */
const longestEmptying = minutes(9);

/**
 * Takes down what uses a disk and removes every signature. Right before each command the disk is
 * read again: on one that is mounted by then, no other command is run. What the kernel refuses is
 * tried again for two minutes. Resolves with what remains.
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
    // Whether a takedown has failed shows in what is left.
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

import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { isPartition, withDescendants, type BlockDevice } from './block-devices.ts';
import { AgentError } from '../../model/failure.ts';
import { type HostScope, step, type StepScope } from '../step.ts';
import { type DiskIdentity, TargetDisk } from './facts.ts';
import { isBusy } from './guards.ts';
import { writesDisk } from '../conditions.ts';
import { diskFailure } from './failures.ts';
import { readTarget } from './target.ts';

/** Opens a device exclusively (`O_EXCL`; util-linux, `wipefs.c`) and changes nothing on it. */
export const openAloneArgv = (path: string): readonly string[] => [
  ...['wipefs', '--all', '--no-act', path],
];

/**
 * A part of a disk that is in use although lsblk shows no user: a mount in another mount namespace,
 * and every disk but one of a mounted btrfs file system. If the kernel cannot be asked, the answer
 * of lsblk counts.
 */
async function findHidden(
  { host, signal }: HostScope,
  disk: BlockDevice,
): Promise<string | undefined> {
  const all = withDescendants(disk);
  // The user of a whole disk, such as an array or LVM, holds its partitions too.
  const taken = all
    .filter(({ children }) => !children.every(isPartition))
    .flatMap(({ children }) => children.filter(isPartition).map(({ kname }) => kname));
  const shownFree = all.filter(
    ({ kname, sizeBytes, children, mountpoints }) =>
      sizeBytes > 0 && children.length + mountpoints.length === 0 && !taken.includes(kname),
  );
  for (const { path } of shownFree) {
    try {
      await host.exec(openAloneArgv(path), { signal, limit: minutes(2) });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AgentError)) throw error;
      if (String(error.context['stderr']).includes('Device or resource busy')) return path;
    }
  }
  return undefined;
}

/**
 * Checks that the kernel reports no other user of the disk, before any data is lost, and before
 * `nvme`, which does not ask. A program that reads the disk for a moment has closed it within 30
 * seconds.
 * @throws AgentError `disk.busy`, `disk.missing`, `disk.changed`, `command.*`
 */
export async function requireAlone(scope: StepScope<'host'>, target: DiskIdentity): Promise<void> {
  const { host, signal, until } = scope;
  await until(
    'nothing else has the install disk',
    async () => {
      const held = await findHidden(scope, await readTarget(host, target, signal));
      if (held === undefined) return { done: true };
      return {
        status: `${held} is held by something that lsblk does not show, as a mount in another mount namespace or a btrfs file system of several disks (findmnt --task PID, btrfs filesystem show)`,
      };
    },
    {
      every: seconds(2),
      within: seconds(30),
      timeoutError: (status) => isBusy(target, [status]),
    },
  );
}

/** Name of the lock of a disk; by device number (`8-0`), since a disk has many names. */
const lockName = ({ majorMinor }: TargetDisk): string =>
  `bootwright-disk-${majorMinor.replace(':', '-')}`;

/**
 * Name of the lock that a command holds while it writes to a disk for a long time. The command
 * outlives an agent that is killed; so its lock is not the lock of the run.
 */
export const writerLock = (disk: TargetDisk): string => `${lockName(disk)}-writer`;

/**
 * Locks the disk for this run. coreos-installer holds no lock of its own; two of them would write
 * side by side. The lock ends with the process, so each run takes it again.
 */
export const lockDisk = step({
  id: 'disk/lock',
  title: 'Lock the install disk against other installations',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  effect: 'locks',
  limit: minutes(5),
  run: async (scope, { disk }) => {
    const name = lockName(disk);
    if ((await scope.host.lock(name, scope.signal)) === undefined)
      throw isLocked(disk, name, `another installation has locked ${disk.path}`);
    await waitForWriter(scope, disk);
  },
});

const isLocked = ({ path }: TargetDisk, lock: string, what: string): AgentError =>
  diskFailure('disk.locked', what, { context: { disk: path, lock } });

/**
 * Waits two minutes for a writer whose agent was killed: two writers would destroy each other's
 * system.
 * @throws AgentError `disk.locked`
 */
export async function waitForWriter(
  { host, signal, until }: StepScope<'host'>,
  disk: TargetDisk,
): Promise<void> {
  const name = writerLock(disk);
  const status = `a command of an earlier run still writes to ${disk.path}`;
  await until(
    'nothing that an earlier run has started writes to the install disk',
    async () => {
      const lock = await host.lock(name, signal);
      await lock?.release();
      return lock === undefined ? { status } : { done: true };
    },
    { every: seconds(2), within: minutes(2), timeoutError: () => isLocked(disk, name, status) },
  );
}

/** The given mount points at which a disk is mounted, in the given order. */
export function mountedOn(disk: BlockDevice, places: readonly string[]): readonly string[] {
  const mountpoints = new Set(withDescendants(disk).flatMap((device) => device.mountpoints));
  return places.filter((place) => mountpoints.has(place));
}

/**
 * Removes the mounts of a killed run, so that the step begins from the same state. A frozen file
 * system is thawed first: its unmount would wait for ever.
 * @param places deepest first
 */
export async function removeStaleMounts(
  { host, signal }: StepScope<'host'>,
  disk: BlockDevice,
  places: readonly string[],
): Promise<void> {
  for (const place of mountedOn(disk, places)) {
    const thawArgv = ['fsfreeze', '--unfreeze', place];
    // 1: it is not frozen.
    await host.exec(thawArgv, { signal, limit: minutes(2), accept: [0, 1] });
    // Copied data may not have reached the disk yet.
    await host.exec(['umount', place], { signal, limit: minutes(5) });
  }
}

/**
 * Unmounts a mount point that a step has just mounted: when the step calls the returned function,
 * otherwise at the end of the step in any case.
 * @param limit of the command, which has no signal if the step was stopped
 */
export function unmountAtEnd(
  { host, onExit }: Pick<StepScope<'host'>, 'host' | 'onExit'>,
  place: string,
  limit: Millis,
): (signal: AbortSignal) => Promise<void> {
  let isMounted = true;
  const unmount = async (signal: AbortSignal): Promise<void> => {
    if (!isMounted) return;
    try {
      await host.exec(['umount', place], { signal, limit });
    } catch (error) {
      // A repeated poll has unmounted it already.
      const isUnmounted =
        error instanceof AgentError && String(error.context['stderr']).includes('not mounted');
      if (!isUnmounted) throw error;
    }
    isMounted = false;
  };
  onExit(() => unmount(new AbortController().signal), 'always');
  return unmount;
}

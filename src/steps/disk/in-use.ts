import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { isPartition, withDescendants, type BlockDevice } from './block-devices.ts';
import { AgentError } from '../../model/failure.ts';
import { unreadableOutput } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { type DiskIdentity, TargetDisk } from './facts.ts';
import { isBusy } from './guards.ts';
import { writesDisk } from '../conditions.ts';
import { diskFailure } from './failures.ts';
import { readTarget } from './target.ts';

/** Services that look at every disk and do not write to it. */
const watchers: ReadonlySet<string> = new Set([
  'systemd-udevd',
  '(udev-worker)',
  'multipathd',
  'smartd',
  'udisksd',
]);

/** Looks for processes that have one of some device nodes open. */
export function openersArgv(nodes: readonly string[]): readonly string[] {
  const names = nodes.flatMap((node, index) =>
    index === 0 ? ['-lname', node] : ['-o', '-lname', node],
  );
  return [
    ...['find', '/proc', '-mindepth', '3', '-maxdepth', '3'],
    ...['-path', '/proc/[0-9]*/fd/*', '(', ...names, ')', '-printf', '%p %l\\n'],
  ];
}

/** The device nodes of a disk and of all that is built on it. */
const nodesOf = (disk: BlockDevice): readonly string[] => [
  ...new Set(withDescendants(disk).flatMap(({ path, kname }) => [path, `/dev/${kname}`])),
];

/**
 * The processes that have the disk open, as people read them; services that only watch disks are
 * left out.
 * @throws AgentError `command.*`
 */
export async function readOpeners(
  host: Host,
  disk: BlockDevice,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const argv = openersArgv(nodesOf(disk));
  // find ends with 1 when a process went away while it looked.
  const { stdout } = await host.exec(argv, { signal, limit: seconds(30), accept: [0, 1] });
  const named = new Set<string>();
  for (const line of stdout.split('\n').filter((text) => text.trim() !== '')) {
    const [, pid, device] = /^\/proc\/(\d+)\/fd\/\d+ (\S+)$/.exec(line.trim()) ?? [];
    if (pid === undefined || device === undefined)
      throw unreadableOutput('find', 'list of open files', line);
    const name = (await host.readText(`/proc/${pid}/comm`, signal))?.trim();
    if (name === undefined || watchers.has(name)) continue;
    named.add(`${device} is open in ${name} (process ${pid})`);
  }
  return [...named];
}

/**
 * Opens a device as one holder alone can (`O_EXCL`; util-linux, `wipefs.c`), and changes nothing on
 * it.
 */
export const openAloneArgv = (path: string): readonly string[] => [
  ...['wipefs', '--all', '--no-act', path],
];

/**
 * What of a disk the kernel gives to nobody else although lsblk shows nothing on it: what is
 * mounted in another mount namespace, and every disk but one of a mounted btrfs file system. Where
 * it cannot be asked, lsblk is believed.
 */
async function readHidden(
  { host, signal }: Pick<StepScope<'host'>, 'host' | 'signal'>,
  disk: BlockDevice,
): Promise<readonly string[]> {
  const all = withDescendants(disk);
  // Who has a whole disk, as an array or LVM, has its partitions too.
  const taken = all
    .filter(({ children }) => !children.every(isPartition))
    .flatMap(({ children }) => children);
  const shownFree = all.filter(
    (one) =>
      one.sizeBytes > 0 &&
      one.children.length + one.mountpoints.length === 0 &&
      !(isPartition(one) && taken.some(({ kname }) => kname === one.kname)),
  );
  for (const { path } of shownFree) {
    try {
      await host.exec(openAloneArgv(path), { signal, limit: seconds(30) });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AgentError)) throw error;
      if (!String(error.context['stderr']).includes('Device or resource busy')) continue;
      return [
        `${path} is held by something that lsblk does not show, as a mount in another mount namespace or a btrfs file system of several disks (findmnt --task PID, btrfs filesystem show)`,
      ];
    }
  }
  return [];
}

/**
 * The processes that have the disk open. When they cannot be read, that must not end an
 * installation; it is a warning.
 */
async function openersOrWarn(
  { host, signal, note }: StepScope<'host'>,
  disk: BlockDevice,
): Promise<readonly string[]> {
  try {
    return await readOpeners(host, disk, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError)) throw error;
    note('warn', 'could not check which processes have the disk open', {
      code: error.code,
      reason: error.message,
    });
    return [];
  }
}

/** What opens a disk to look at it (smartctl, udev, blkid) has closed it by then. */
export const openersTimeout = minutes(2);

/**
 * Waits until no process has the disk open. When the agent was killed, the writer that it had
 * started may still be at work, and two writers would leave neither's system.
 * @throws AgentError `disk.busy` with the processes, when they do not end
 */
export const waitUntilClosed = (scope: StepScope<'host'>, target: TargetDisk): Promise<void> =>
  waitUntilNone(scope, target, { users: openersOrWarn, within: openersTimeout });

/**
 * Waits until the kernel gives the disk to nobody else, right before a command that does not ask
 * it: `wipefs --force`, `dd`, `nvme`.
 * @throws AgentError `disk.busy`, `disk.missing`, `disk.changed`, `command.*`
 */
export const waitUntilAlone = (scope: StepScope<'host'>, target: DiskIdentity): Promise<void> =>
  waitUntilNone(scope, target, { users: readHidden, within: seconds(10) });

/** Who uses a disk, as people read it, and how long that may last. */
interface Users {
  readonly users: (scope: StepScope<'host'>, disk: BlockDevice) => Promise<readonly string[]>;
  readonly within: Millis;
}

async function waitUntilNone(
  scope: StepScope<'host'>,
  target: DiskIdentity,
  { users, within }: Users,
): Promise<void> {
  const { host, signal, until } = scope;
  let last: readonly string[] = [];
  try {
    await until(
      'no process has the install disk open',
      async () => {
        last = await users(scope, await readTarget(host, target, signal));
        return last.length === 0 ? { done: true } : { status: last.join('; ') };
      },
      { every: seconds(2), within },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    throw isBusy(target, last);
  }
}

/** Name of the lock of a disk; by device number (`8-0`), since a disk has many names. */
const lockName = ({ majorMinor }: TargetDisk): string =>
  `bootwright-disk-${majorMinor.replace(':', '-')}`;

/**
 * Takes the disk for this run. coreos-installer holds no lock of its own, two of them would write
 * side by side. The lock lives as long as the process, so it is taken again in each run.
 */
export const lockDisk = step({
  id: 'disk/lock',
  title: 'Lock the install disk against other installations',
  uses: ['host'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  rerun: 'always',
  limit: seconds(30),
  run: async ({ host, signal }, { disk }) => {
    const held = await host.lock(lockName(disk), signal);
    if (held !== undefined) return;
    throw diskFailure('disk.locked', `another installation has locked ${disk.path}`, {
      context: { disk: disk.path, lock: lockName(disk) },
    });
  },
});

/**
 * Whether a mount failed since the same file system is there already: an earlier try came further
 * than it said.
 */
export function isMountedAlready(error: AgentError, place: string): boolean {
  const lines = String(error.context['stderr'] ?? '').split('\n');
  return lines.some((line) =>
    line.trim().replace(/\.$/, '').endsWith(` already mounted on ${place}`),
  );
}

/** Which of some places a disk is mounted on, in the order of the places. */
export function mountedOn(disk: BlockDevice, places: readonly string[]): readonly string[] {
  const mountpoints = new Set(withDescendants(disk).flatMap((device) => device.mountpoints));
  return places.filter((place) => mountpoints.has(place));
}

/**
 * Takes away what a run that was killed had left mounted, so that the step begins as it did then.
 * A file system that was left frozen is thawed first: unmounting it would wait for ever.
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
    await host.exec(thawArgv, { signal, limit: seconds(30), accept: [0, 1] });
    // What was copied there may still have to reach the disk.
    await host.exec(['umount', place], { signal, limit: minutes(5) });
  }
}

const isUnmounted = ({ context }: AgentError): boolean =>
  String(context['stderr']).includes('not mounted');

/**
 * Unmounts a place of a step that has just mounted it: when the step calls what it is given, else
 * when it ends, whatever way.
 * @param limit of the command, which hears no signal when the step has been stopped
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
      // A poll that began again has unmounted it.
      if (!(error instanceof AgentError) || !isUnmounted(error)) throw error;
    }
    isMounted = false;
  };
  onExit(() => unmount(new AbortController().signal), 'always');
  return unmount;
}

import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { isTrue, unreadableOutput } from '../host-commands.ts';
import { step, type StepScope } from '../step.ts';
import { missingPartitions, partitionFor } from './block-devices.ts';
import { diskFailure } from './failures.ts';
import { isMountedAlready, removeStaleMounts } from './in-use.ts';
import { hasEfiArgv, menuDoubt, parseMenu, readMenuArgv } from './boot-menu.ts';
import { TargetDisk } from './facts.ts';
import { type BlockDevice, lsblkArgv } from './lsblk.ts';
import { readTarget } from './target.ts';

/**
 * Checks a last time whether the disk will boot the installed system: after this the host with
 * everything that only it knows is gone. What is seen to be wrong on the disk ends the installation;
 * a doubtful boot order and what cannot be checked are warnings.
 */
export const checkBoot = step({
  id: 'disk/check-boot',
  title: 'Check that the install disk will boot',
  uses: ['host'],
  needs: { disk: TargetDisk, ignition: HostIgnition },
  when: writesDisk,
  touches: ['disk:install', 'firmware'],
  limit: minutes(5),
  preview: (_config, { ignition }) => [
    lsblkArgv,
    hasEfiArgv,
    readMenuArgv,
    mountBootArgv('<boot partition>'),
    hasStampArgv,
    digestsArgv(ignition.path),
    unmountBootArgv,
  ],
  run: async (scope, { disk, ignition }) => {
    const wrong = await tryOr(scope, () => findWrong(scope, disk, ignition));
    if (wrong.length > 0) {
      throw diskFailure('disk.will-not-boot', `${disk.path}: ${wrong.join('; ')}`, {
        context: { disk: disk.path, findings: wrong.length },
      });
    }
  },
});

/** What is found wrong; nothing, with a warning, when it cannot be checked. */
async function tryOr(
  { signal, note }: StepScope<'host'>,
  check: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    return await check();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code === 'disk.changed') throw error;
    const { code, message } = error;
    note('warn', 'could not check whether the install disk will boot', { code, reason: message });
    return [];
  }
}

async function findWrong(
  scope: StepScope<'host'>,
  target: TargetDisk,
  ignition: HostIgnition,
): Promise<readonly string[]> {
  const { host, signal, note } = scope;
  const disk = await readTarget(host, target, signal);
  await removeStaleMounts(scope, disk, [bootMountPoint]);
  const isUefi = await isTrue(scope, hasEfiArgv);
  const missing = missingPartitions(disk, { isUefi });
  if (missing.length > 0) return missing;
  if (isUefi) await checkMenu(scope, disk);
  const wrong = await lookInside(scope, disk, ignition);
  if (wrong.length === 0) note('info', 'the install disk has what the first boot needs');
  return wrong;
}

/** Firmware that is asked for nothing starts the disk by its fallback path, so this is a doubt. */
async function checkMenu(scope: StepScope<'host'>, disk: BlockDevice): Promise<void> {
  const { host, signal, note } = scope;
  await tryOr(scope, async () => {
    const { stdout } = await host.exec(readMenuArgv, { signal, limit: minutes(1) });
    const doubt = menuDoubt(parseMenu(stdout), partitionFor(disk, 'esp')?.partUuid ?? '');
    if (doubt !== undefined) {
      note('warn', doubt, { hint: 'move the install disk to the top of the firmware boot order' });
    }
    return [];
  });
}

async function lookInside(
  scope: StepScope<'host'>,
  disk: BlockDevice,
  ignition: HostIgnition,
): Promise<readonly string[]> {
  const { host, signal, onExit } = scope;
  let isMounted = false;
  const unmount = async (stop: AbortSignal): Promise<void> => {
    if (!isMounted) return;
    await host.exec(unmountBootArgv, { signal: stop, limit: seconds(30) });
    isMounted = false;
  };
  // The signal of the step may be aborted by then; the limit of the command bounds it.
  onExit(() => unmount(new AbortController().signal), 'always');
  const refused = await mountBoot(scope, partitionFor(disk, 'boot')?.path ?? '');
  if (refused !== undefined) return [`its boot partition cannot be mounted: ${refused}`];
  isMounted = true;
  const hasStamp = await isTrue(scope, hasStampArgv);
  const { stdout, exitCode } = await host.exec(digestsArgv(ignition.path), {
    signal,
    limit: minutes(1),
    accept: [0, 1],
  });
  const digests = parseDigests(stdout);
  // 0: it has read both.
  if (exitCode === 0 && digests.size < 2) throw unreadableOutput('sha256sum', 'digests', stdout);
  await unmount(signal);
  return wrongContent({
    hasStamp,
    sha256: digests.get(bootIgnition),
    expected: digests.get(ignition.path) ?? ignition.sha256,
  });
}

/** Mounts the boot partition with a few tries; why it cannot be mounted, if so. */
async function mountBoot(scope: StepScope<'host'>, path: string): Promise<string | undefined> {
  const tries = 3;
  let left = tries;
  const tryMount = async (): Promise<PollResult<string | undefined>> => {
    left -= 1;
    const refused = await refusalOf(scope, mountBootArgv(path));
    if (refused === undefined) return { done: undefined };
    if ((await refusalOf(scope, mountFrozenBootArgv(path))) === undefined) {
      return { done: undefined };
    }
    return left === 0 ? { done: refused } : { status: refused };
  };
  return scope.until('the boot partition can be mounted', tryMount, {
    every: seconds(5),
    within: minutes(2),
  });
}

/** Why a mount is refused; undefined when it is there. */
async function refusalOf(
  { host, signal }: StepScope<'host'>,
  argv: readonly string[],
): Promise<string | undefined> {
  try {
    await host.exec(argv, { signal, limit: seconds(30) });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    // What was there before the step has been unmounted.
    return isMountedAlready(error, bootMountPoint) ? undefined : error.message;
  }
}

/** Where the boot partition is looked into; free by now, the steps before used it too. */
const bootMountPoint = '/mnt';

/** Makes the first start run Ignition (coreos-installer puts it there; GRUB looks for it). */
const firstBootStamp = `${bootMountPoint}/ignition.firstboot`;

/** The Ignition of this host as the first start reads it (coreos-installer, `install.rs`). */
const bootIgnition = `${bootMountPoint}/ignition/config.ign`;

/** Mounts the boot partition so that nothing on it changes and nothing of it is run. */
const mountBootArgv = (partition: string): readonly string[] => [
  ...['mount', '-o', 'ro,nosuid,nodev,noexec', partition, bootMountPoint],
];

/**
 * The same for a file system that `image/overwrite-os` has left frozen: the kernel goes on holding it
 * as writable, and refuses to mount it read-only beside that (`EBUSY`). While it is frozen nothing on
 * it changes either.
 */
const mountFrozenBootArgv = (partition: string): readonly string[] => [
  ...['mount', '-o', 'nosuid,nodev,noexec,noatime', partition, bootMountPoint],
];

/** Takes the boot partition out again. */
const unmountBootArgv = ['umount', bootMountPoint] as const;

/** Says whether the first start would run Ignition. */
const hasStampArgv = ['test', '-f', firstBootStamp] as const;

/** Prints the digests of the Ignition on the disk and of the one that it was made from. */
const digestsArgv = (ignition: string): readonly string[] => [
  ...['sha256sum', bootIgnition, ignition],
];

/** Reads the output of `digestsArgv`: path → lower-case hexadecimal digest. */
export function parseDigests(stdout: string): ReadonlyMap<string, string> {
  const lines = stdout.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm);
  return new Map([...lines].map(([, digest = '', path = '']) => [path, digest]));
}

/** What was read from the boot partition. */
interface BootContent {
  readonly hasStamp: boolean;
  /** Digest of the Ignition on it; undefined when there is none. */
  readonly sha256: string | undefined;
  /** Digest of the Ignition that should be on it. */
  readonly expected: string;
}

/** What is wrong with the content of the boot partition. */
function wrongContent({ hasStamp, sha256, expected }: BootContent): readonly string[] {
  const ignition =
    sha256 === undefined
      ? ['there is no Ignition config on the boot partition']
      : sha256 === expected
        ? []
        : ['the Ignition config on the boot partition is not that of this host'];
  return [...(hasStamp ? [] : ['the first boot would not run Ignition']), ...ignition];
}

// Recreates the root file system of the written disk with allocation groups that suit its new size:
// an XFS that grew far from a small size is slow. The script of RHCOS does so at the first boot,
// above a threshold; here it always runs, and early, because it would otherwise move the data of
// the registry twice.
//
// The script is not made to run twice (fedora-coreos-config, ignition-ostree-transposefs.sh):
// `autosave-xfs` treats an existing copy in memory as complete, and empties the file system;
// `restore` moves the copy back file by file; both use the file system that udev has labelled root,
// on any disk. So each attempt first determines the progress of earlier ones.
import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import {
  findPartition,
  type FoundPartition,
  freePercent,
  lsblkArgv,
} from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { execOnTarget, readTarget } from '../disk/target.ts';
import { settleArgv } from '../disk/empty.ts';
import { isTrue } from '../host-commands.ts';
import { growRoot } from '../image/disk-mounts.ts';
import { callsOf, step, type StepScope } from '../step.ts';

/** Failures of copying the registry on the live medium. */
export const registryFailures = {
  'registry.unreadable': {
    kind: 'media',
    title: 'The size of the registry data on the live medium could not be read',
    hint: 'check /mnt/agentdata on the host; the live medium may be damaged or not mounted',
  },
  'registry.disk-too-small': {
    kind: 'input',
    title: 'The install disk is too small for the registry data',
    hint: 'choose a larger install disk',
  },
  'registry.not-grown': {
    kind: 'host',
    title: 'The root partition could not be grown',
    hint: 'check the partition table of the install disk: sgdisk --verify',
  },
  'registry.root-lost': {
    kind: 'host',
    isFinal: true,
    title: 'The root file system was lost while it was recreated for the registry',
    hint: 'boot the host again and install it from the beginning; check its memory and the install disk (journalctl -k)',
  },
} as const satisfies FailureTable;

const registryFailure = failuresOf(registryFailures);

const RegistryMediaSchema = z.object({
  /** The live medium contains a registry: an appliance, or a disconnected installation. */
  isPresent: z.boolean(),
});

/** Whether registry data must be copied. */
const RegistryMedia = fact('registry.media', RegistryMediaSchema);

/** Tests for the registry on the live medium. */
export const findRegistryArgv = ['stat', '/run/media/iso/registry'] as const;

/** Detects whether the live medium contains a registry. */
export const findRegistryMedia = step({
  id: 'registry/find-media',
  title: 'Check whether the live medium has a registry',
  uses: ['host'],
  gives: RegistryMedia,
  when: writesDisk,
  limit: minutes(5),
  preview: () => [findRegistryArgv],
  run: async (scope) => ({ isPresent: await isTrue(scope, findRegistryArgv) }),
});

const registrySource = '/mnt/agentdata';

const measureArgv = ['du', '-sb', registrySource] as const;

const RegistryGrowthSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('none') }),
  /** Percentage of the disk that stays free after the root partition has grown for the registry. */
  z.object({ kind: z.literal('grow'), freePercent: z.number() }),
]);

/** The growth of the root partition for the registry of the live medium. */
const RegistryGrowth = fact('registry.growth', RegistryGrowthSchema);
type RegistryGrowth = z.infer<typeof RegistryGrowthSchema>;

/**
 * Decides the growth of the root partition for the registry of the live medium. The decision is
 * made once, before the growth: a later calculation would count the room for the registry as
 * missing.
 */
export const planRegistryGrowth = step({
  id: 'registry/plan-growth',
  title: 'Check that the registry of the live medium fits on the install disk',
  uses: ['host'],
  needs: { disk: TargetDisk, media: RegistryMedia },
  gives: RegistryGrowth,
  when: writesDisk,
  limit: minutes(15),
  preview: () => [measureArgv, lsblkArgv],
  run: async (scope, { disk: target, media }) => {
    if (!media.isPresent) return { kind: 'none' } as const;
    const { host, signal } = scope;
    const { stdout } = await host.exec(measureArgv, { signal, limit: minutes(10) });
    const [, bytes] = /^\s*(\d+)(?:\s|$)/.exec(stdout) ?? [];
    if (bytes === undefined) {
      throw registryFailure('registry.unreadable', `du printed no size: ${stdout.slice(0, 200)}`, {
        context: { directory: registrySource },
      });
    }
    // Two and a half times its size, because upgrades add images of their own.
    const needed = Math.floor((Number(bytes) * 5) / 2);
    const disk = await readTarget(host, target, signal);
    const percent = freePercent(disk, needed);
    if (percent >= 1) return { kind: 'grow', freePercent: percent } as const;
    const what = `${target.path} is too small for the registry data, which needs ${needed} bytes`;
    throw registryFailure('registry.disk-too-small', what, {
      context: { disk: target.path, sizeBytes: disk.sizeBytes, bytesForRegistry: needed },
    });
  },
});

/** Mount point of the new system's root file system during the copy. */
const rootMount = '/mnt/root';

/** Path of the registry data in the new system. */
const registryTarget = `${rootMount}/ostree/deploy/rhcos/var/lib/iri-registry`;

/**
 * Thaws the root file system: the file system of an image that was written offline stays frozen.
 */
const thawArgv = ['sh', '-c', `fsfreeze --unfreeze ${rootMount} || true`] as const;

const unmountArgv = ['umount', rootMount] as const;

/**
 * Copies the registry of the live medium to the new system, so that a node without network access
 * to a registry has one after its first boot.
 */
export const copyRegistry = step({
  id: 'registry/copy',
  title: 'Copy the registry of the live medium to the install disk',
  stage: 'Copying registry data to disk',
  uses: ['host'],
  needs: { disk: TargetDisk, growth: RegistryGrowth },
  when: writesDisk,
  skipIf: ({ growth }) => (growth.kind === 'none' ? 'the live medium has no registry' : undefined),
  retry: { attempts: 3, every: seconds(5) },
  limit: hours(6),
  preview: () =>
    callsOf(
      'bash',
      'fsfreeze',
      'growpart',
      'lsblk',
      'mkdir',
      'mount',
      'sh',
      'test',
      'umount',
      'xfs_growfs',
    ),
  run: async (scope, { disk: target, growth }) => {
    if (growth.kind === 'none') return;
    const { host, signal, onExit, progress } = scope;
    const run = (argv: readonly string[], limit: Millis = minutes(2)) =>
      host.exec(argv, { signal, limit });
    const disk = await readTarget(host, target, signal);
    await removeStaleMounts(scope, disk, [rootMount]);
    const root = findPartition(disk, 'root');
    onExit(() => thawAndUnmount(scope), 'failure');
    await run(['mkdir', '-p', rootMount]);
    await run(['mount', root.path, rootMount]);
    await run(thawArgv);
    const recreation = await findRecreation(scope);
    await run(unmountArgv);
    await growRoot(scope, target, root, growth.freePercent).catch((error: unknown) => {
      throw notGrown(error, target, root);
    });
    if (recreation !== 'none') await recreateRoot(scope, target, root, recreation);
    await run(['mount', root.path, rootMount]);
    await run(['xfs_growfs', rootMount], minutes(10));
    await run(['mkdir', '-p', registryTarget]);
    let last = -1;
    const copy = `rsync -ah --info=progress2 ${registrySource}/ ${registryTarget}/`;
    await host.exec(['sh', '-c', copy], {
      signal,
      limit: hours(5),
      onLine: (line) => {
        // `21.39G 100%   85.21MB/s    0:03:59`
        const percent = Number(/^\s*\S+\s+(\d+)%\s/.exec(line)?.[1] ?? -1);
        if (percent <= last) return;
        last = percent;
        progress({ info: `${percent}%`, percent });
      },
    });
    // Everything is on the disk then.
    await run(['fsfreeze', '--freeze', rootMount]);
    await run(unmountArgv);
  },
});

/** The failure of a growth, with what growpart printed. */
function notGrown(cause: unknown, { path }: TargetDisk, { number }: FoundPartition): Error {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const context = { disk: path, partition: number };
  return registryFailure('registry.not-grown', error.message, { cause, context });
}

/** Thaws and unmounts the root file system, at any point where the copy stopped. */
async function thawAndUnmount({ host, signal: stop }: StepScope<'host'>): Promise<void> {
  // A stopped run has seconds; otherwise the flush of the copied data may take longer.
  const limit = stop.aborted ? seconds(1.5) : minutes(5);
  const { signal } = new AbortController();
  for (const argv of [thawArgv, unmountArgv]) {
    // Neither is an error: it may be thawed and unmounted already.
    await host.exec(argv, { signal, limit, accept: [0, 1, 32] });
  }
}

const script = '/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh';

/** Copies the root file system to memory, and empties it. */
const saveArgv = [
  ...['bash', '-c', `sed 's/threshold=[0-9]*/threshold=0/' ${script} | bash -s autosave-xfs`],
] as const;
const restoreArgv = ['bash', '-c', `${script} restore`] as const;
const cleanupArgv = ['bash', '-c', `${script} cleanup`] as const;

/** Folder of the script's copy, and its mark for an emptied file system. */
const copy = '/run/ignition-ostree-transposefs/root';
const emptied = '/run/ignition-ostree-autosaved-xfs.stamp';

/** The remaining work: everything, restoring the system, removing the copy, or nothing. */
type Recreation = 'all' | 'restore' | 'cleanup' | 'none';

/**
 * Determines from the progress of earlier attempts the work that does not lose the system.
 * @throws AgentError `registry.root-lost`
 */
async function findRecreation(scope: StepScope<'host'>): Promise<Recreation> {
  const isThere = (option: string, path: string): Promise<boolean> =>
    isTrue(scope, ['test', option, path]);
  // The registry is copied, completely or in part.
  if (await isThere('-d', registryTarget)) return 'none';
  if (!(await isThere('-d', copy))) return 'all';
  const isInCopy = await isThere('-d', `${copy}/ostree`);
  const isOnDisk = await isThere('-d', `${rootMount}/ostree`);
  const isEmptied = await isThere('-f', emptied);
  if (isOnDisk && !(isInCopy && isEmptied)) return 'cleanup';
  if (isInCopy && !isOnDisk) return 'restore';
  throw registryFailure(
    'registry.root-lost',
    'an earlier try was cut off while it put the system back on the root file system',
  );
}

/**
 * Does the remaining work. A root file system that could not be copied to memory stays unchanged:
 * it works, but slower.
 * @throws AgentError `registry.root-lost`, `disk.changed`, `command.*`
 */
async function recreateRoot(
  scope: StepScope<'host'>,
  target: TargetDisk,
  root: FoundPartition,
  recreation: Exclude<Recreation, 'none'>,
): Promise<void> {
  const { host, signal, note } = scope;
  const run = (argv: readonly string[]) =>
    execOnTarget({ host, target }, argv, { signal, limit: minutes(30) });
  const slow = (because: string): void =>
    note('warn', 'the root file system is grown, not made again, which may make it slow', {
      because,
    });
  if (recreation === 'cleanup') slow('an earlier try to recreate it was cut off');
  else {
    const own = (await host.realPath(root.path, signal)) ?? root.path;
    const labelled = (await labelledRoot(scope, own)) ?? 'nothing';
    if (labelled !== own && recreation === 'restore') {
      throw registryFailure(
        'registry.root-lost',
        `the system is in memory, and the label root leads to ${labelled}`,
      );
    }
    if (labelled !== own) {
      slow(`the label root leads to ${labelled}, not to ${root.path}`);
      return;
    }
    if (recreation === 'all') await run(saveArgv);
    await run(restoreArgv);
  }
  try {
    await run(cleanupArgv);
  } catch (error) {
    if (asAgentError(error).code === 'disk.changed') throw error;
    const what = 'the copy of the root file system stays in memory until the host reboots';
    noteFailed(scope, what, error);
  }
}

/** The target of the label root, after udev has processed the partition that has just grown. */
async function labelledRoot(
  { host, signal }: StepScope<'host'>,
  own: string,
): Promise<string | undefined> {
  const link = '/dev/disk/by-label/root';
  const found = await host.realPath(link, signal);
  if (found === own) return found;
  await host.exec(settleArgv, { signal, limit: minutes(2), accept: [0, 1] });
  return host.realPath(link, signal);
}

// Recreates the root file system of the written disk with allocation groups that suit its new size:
// XFS made small and grown far is slow. The script of RHCOS does it on first boot, above a
// threshold; here it is asked for in any case, and early, since the data of the registry would
// otherwise be moved twice.
//
// The script is not made to run twice (fedora-coreos-config, ignition-ostree-transposefs.sh):
// `autosave-xfs` takes a copy in memory that is there for a whole one, and makes the file system
// empty; `restore` moves the copy away file by file; both take the file system that udev has
// labelled root, on whatever disk. So each try finds out first how far an earlier one came.
import * as z from 'zod';
import type { Progress } from '../../engine/events.ts';
import { fact } from '../../engine/fact.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import {
  findPartition,
  type FoundPartition,
  freePercent,
  lsblkArgv,
} from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { execOnTarget, readTarget, confirmTarget } from '../disk/target.ts';
import { settleArgv } from '../disk/empty.ts';
import { isTrue } from '../host-commands.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { registryFailure, RegistryMedia } from './find-media.ts';

const registrySource = '/mnt/agentdata';

const measureArgv = ['du', '-sb', registrySource] as const;

const RegistryGrowthSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('none') }),
  /** Percent of the disk that stay free when the root partition has grown for the registry. */
  z.object({ kind: z.literal('grow'), freePercent: z.number() }),
]);

/** How far the root partition grows for the registry of the live medium. */
const RegistryGrowth = fact('registry.growth', RegistryGrowthSchema);
type RegistryGrowth = z.infer<typeof RegistryGrowthSchema>;

/**
 * Decides how far the root partition grows for the registry of the live medium. Once, before it
 * grows: counted again afterwards, the room that was made for the registry would be room that the
 * disk lacks.
 */
export const planRegistryGrowth = step({
  id: 'registry/plan-growth',
  title: 'Measure the registry of the live medium and the room on the install disk',
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
    const bytes = parseMeasured(stdout);
    if (bytes === undefined) {
      throw registryFailure('registry.unreadable', `du printed no size: ${stdout.slice(0, 200)}`, {
        context: { directory: registrySource },
      });
    }
    const needed = bytesForRegistry(bytes);
    const disk = await readTarget(host, target, signal);
    const percent = freePercent(disk, needed);
    if (percent >= 1) return { kind: 'grow', freePercent: percent } as const;
    const what = `${target.path} is too small for the registry data, which needs ${needed} bytes`;
    throw registryFailure('registry.disk-too-small', what, {
      context: { disk: target.path, sizeBytes: disk.sizeBytes, bytesForRegistry: needed },
    });
  },
});

/** The bytes that `measureArgv` printed; undefined when it printed something else. */
export function parseMeasured(stdout: string): number | undefined {
  const bytes = /^\s*(\d+)(?:\s|$)/.exec(stdout)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}

/** Room that the data needs: two and a half times its size, as upgrades bring their own. */
export const bytesForRegistry = (registryBytes: number): number =>
  Math.floor((registryBytes * 5) / 2);

/** Where the root file system of the new system is mounted meanwhile. */
const rootMount = '/mnt/root';

/** Where the new system looks for the registry data. */
const registryTarget = `${rootMount}/ostree/deploy/rhcos/var/lib/iri-registry`;

const mountRootArgv = (partition: string): readonly string[] => [
  ...['mount', partition, rootMount],
];

/** Thaws the root file system: an image that was written offline stays frozen. */
const thawArgv = ['sh', '-c', `fsfreeze --unfreeze ${rootMount} || true`] as const;

/** Freezes the root file system, so that all is on the disk. */
const freezeArgv = ['fsfreeze', '--freeze', rootMount] as const;

const unmountArgv = ['umount', rootMount] as const;

const growFileSystemArgv = ['xfs_growfs', rootMount] as const;

const copyArgv = [
  'sh',
  '-c',
  `rsync -ah --info=progress2 ${registrySource}/ ${registryTarget}/`,
] as const;

const makeMountArgv = ['mkdir', '-p', rootMount] as const;
const makeTargetArgv = ['mkdir', '-p', registryTarget] as const;

/**
 * Copies the registry that the live medium carries into the new system, so that a node without any
 * network to a registry has one after its first boot.
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
    const { host, signal } = scope;
    const disk = await readTarget(host, target, signal);
    await removeStaleMounts(scope, disk, [rootMount]);
    const root = findPartition(disk, 'root');
    scope.onExit(() => thawAndUnmount(scope), 'failure');
    await growRoot(scope, target, { root, freePercent: growth.freePercent });
    await run(scope, makeTargetArgv);
    await host.exec(copyArgv, {
      signal,
      limit: hours(5),
      onLine: rsyncProgress(scope.progress),
    });
    await run(scope, freezeArgv);
    await run(scope, unmountArgv);
  },
});

async function run(
  { host, signal }: StepScope<'host'>,
  argv: readonly string[],
  limit: Millis = minutes(2),
): Promise<void> {
  await host.exec(argv, { signal, limit });
}

async function growRoot(
  scope: StepScope<'host'>,
  target: TargetDisk,
  growth: { readonly root: FoundPartition; readonly freePercent: number },
): Promise<void> {
  const { root } = growth;
  await run(scope, makeMountArgv);
  await run(scope, mountRootArgv(root.path));
  await run(scope, thawArgv);
  const recreation = await planRecreation(scope);
  await run(scope, unmountArgv);
  await grow(scope, target, growth);
  await recreateRoot(scope, target, { root, recreation });
  await run(scope, mountRootArgv(root.path));
  await run(scope, growFileSystemArgv, minutes(10));
}

/** growpart ends with 1 and NOCHANGE when an earlier attempt has grown the partition. */
async function grow(
  { host, signal }: StepScope<'host'>,
  target: TargetDisk,
  { root, freePercent }: Parameters<typeof growRoot>[2],
): Promise<void> {
  const argv = ['growpart', `--free-percent=${freePercent}`, target.path, String(root.number)];
  const options = { signal, limit: minutes(5), accept: [0, 1] };
  const { exitCode, stdout, stderr } = await execOnTarget({ host, target }, argv, options);
  if (exitCode === 0 || stdout.includes('NOCHANGE')) return;
  throw registryFailure('registry.not-grown', `growpart failed: ${stderr || stdout}`, {
    context: { disk: target.path, partition: root.number },
  });
}

/** Leaves the root file system thawed and unmounted, wherever the copy stopped. */
async function thawAndUnmount({ host, signal: stop }: StepScope<'host'>): Promise<void> {
  // A stopped run has seconds; else what was copied may take its time to reach the disk.
  const limit = stop.aborted ? seconds(1.5) : minutes(5);
  const { signal } = new AbortController();
  for (const argv of [thawArgv, unmountArgv]) {
    // Neither is an error: it may not be frozen, it may not be mounted.
    await host.exec(argv, { signal, limit, accept: [0, 1, 32] });
  }
}

/** A line of `rsync --info=progress2`: bytes, percent, speed. */
const progressLine = /^\S+\s+(\d+)%\s/;

/** Steps in percent in which progress is reported; the last one always is. */
const stepPercent = 5;

/** The share that a line of rsync shows, 0 to 100; undefined for other lines. */
export function parseRsyncPercent(line: string): number | undefined {
  const percent = progressLine.exec(line.trim())?.[1];
  return percent === undefined ? undefined : Number(percent);
}

/** Makes a reader of lines that reports progress in steps, each value once and only rising. */
export function rsyncProgress(report: (progress: Progress) => void): (line: string) => void {
  let last = 0;
  return (line) => {
    const percent = parseRsyncPercent(line);
    if (percent === undefined || last === 100) return;
    if (percent < last + stepPercent && percent !== 100) return;
    last = percent;
    report({ info: `${percent}%`, percent });
  };
}

const script = '/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh';

/** Copies the root file system to memory, and makes it empty. */
const saveArgv = [
  ...['bash', '-c', `sed 's/threshold=[0-9]*/threshold=0/' ${script} | bash -s autosave-xfs`],
] as const;
const restoreArgv = ['bash', '-c', `${script} restore`] as const;
const cleanupArgv = ['bash', '-c', `${script} cleanup`] as const;

/** Where the script keeps its copy, and what it leaves once the file system is empty. */
const copy = '/run/ignition-ostree-transposefs/root';
const emptied = '/run/ignition-ostree-autosaved-xfs.stamp';

/** How far earlier tries came. */
interface EarlierTries {
  /** The registry is, or was to be, copied already. */
  readonly isCopyBegun: boolean;
  /** There is a copy in memory, whole or in part. */
  readonly isSaved: boolean;
  /** The system, or the rest of it, is in the copy. */
  readonly isInCopy: boolean;
  /** The system is on the disk, or what is back of it. */
  readonly isOnDisk: boolean;
  /** The file system was made empty. */
  readonly isEmptied: boolean;
}

/** What is still to do: everything, to put the system back, to drop the copy, or nothing. */
type Recreation = 'all' | 'restore' | 'cleanup' | 'none' | 'lost';

/** Decides from how far earlier tries came what may be done without losing the system. */
export function decideRecreation(tries: EarlierTries): Recreation {
  if (tries.isCopyBegun) return 'none';
  if (!tries.isSaved) return 'all';
  if (tries.isOnDisk) return tries.isInCopy && tries.isEmptied ? 'lost' : 'cleanup';
  return tries.isInCopy ? 'restore' : 'lost';
}

/**
 * Finds out what is still to do.
 * @throws AgentError `registry.root-lost`
 */
async function planRecreation(scope: StepScope<'host'>): Promise<Recreation> {
  const isThere = (option: string, path: string): Promise<boolean> =>
    isTrue(scope, ['test', option, path]);
  const isCopyBegun = await isThere('-d', registryTarget);
  const isSaved = !isCopyBegun && (await isThere('-d', copy));
  const found = decideRecreation({
    isCopyBegun,
    isSaved,
    isInCopy: isSaved && (await isThere('-d', `${copy}/ostree`)),
    isOnDisk: isSaved && (await isThere('-d', `${rootMount}/ostree`)),
    isEmptied: isSaved && (await isThere('-f', emptied)),
  });
  if (found !== 'lost') return found;
  throw registryFailure(
    'registry.root-lost',
    'an earlier try was cut off while it put the system back on the root file system',
  );
}

/**
 * Does what is still to do. A root file system that could not be copied to memory stays unchanged:
 * it works, slower.
 * @throws AgentError `registry.root-lost`, `disk.changed`, `command.*`
 */
async function recreateRoot(
  scope: StepScope<'host'>,
  target: TargetDisk,
  { root, recreation }: { readonly root: FoundPartition; readonly recreation: Recreation },
): Promise<void> {
  const { host, signal, note } = scope;
  const run = async (argv: readonly string[]): Promise<void> => {
    await confirmTarget(host, target, scope);
    await host.exec(argv, { signal, limit: minutes(30) });
  };
  const slow = (because: string): void =>
    note('warn', 'the root file system is grown, not made again, which may make it slow', {
      because,
    });
  if (recreation === 'none') return;
  if (recreation === 'cleanup') slow('an earlier try to recreate it was cut off');
  else {
    const own = (await host.realPath(root.path, signal)) ?? root.path;
    const labelled = await labelledRoot(scope, own);
    const isOwn = labelled === own;
    if (!isOwn && recreation === 'restore') {
      throw registryFailure(
        'registry.root-lost',
        `the system is in memory, and the label root leads to ${labelled ?? 'nothing'}`,
      );
    }
    if (!isOwn) {
      slow(`the label root leads to ${labelled ?? 'nothing'}, not to ${root.path}`);
      return;
    }
    if (recreation === 'all') await run(saveArgv);
    await run(restoreArgv);
  }
  try {
    await run(cleanupArgv);
  } catch (error) {
    if (asAgentError(error).code === 'disk.changed') throw error;
    noteFailed(
      scope,
      'the copy of the root file system stays in memory until the host reboots',
      error,
    );
  }
}

/** Where the label root leads to, once udev has seen the partition that has just grown. */
async function labelledRoot(
  { host, signal }: StepScope<'host'>,
  own: string,
): Promise<string | undefined> {
  const link = '/dev/disk/by-label/root';
  const found = await host.realPath(link, signal);
  if (found === own) return found;
  await host.exec(settleArgv, { signal, limit: minutes(1), accept: [0, 1] });
  return host.realPath(link, signal);
}

import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { findPartition, type FoundPartition } from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { lsblkArgv } from '../disk/lsblk.ts';
import { execOnTarget, readTarget } from '../disk/target.ts';
import { step, type StepScope } from '../step.ts';
import { registryFailure } from './find-media.ts';
import { RegistryGrowth, registrySource } from './plan-growth.ts';
import { earlierTriesArgvs, planRecreation, recreateArgvs, recreateRoot } from './recreate-root.ts';
import type { Progress } from '../../engine/events.ts';

/** Where the root file system of the new system is mounted meanwhile. */
const rootMount = '/mnt/root';

/** Where the new system looks for the registry data. */
const registryTarget = `${rootMount}/ostree/deploy/rhcos/var/lib/iri-registry`;

/** Mounts the root file system of the new system. */
const mountRootArgv = (partition: string): readonly string[] => [
  ...['mount', partition, rootMount],
];

/** Thaws the root file system: an image that was written offline is left frozen. */
const thawArgv = ['sh', '-c', `fsfreeze --unfreeze ${rootMount} || true`] as const;

/** Freezes the root file system, so that all is on the disk. */
const freezeArgv = ['fsfreeze', '--freeze', rootMount] as const;

/** Takes the root file system out. */
const unmountArgv = ['umount', rootMount] as const;

/** The partition that grows, and how much of the disk stays free. */
interface Growth {
  readonly disk: string;
  readonly partition: number;
  /** Text where it is not known yet. */
  readonly freePercent: number | string;
}

/** Grows the root partition, leaving room. */
const growArgv = ({ disk, partition, freePercent }: Growth): readonly string[] => [
  ...['growpart', `--free-percent=${freePercent}`, disk, String(partition)],
];

/** Grows the root file system to its partition. */
const growFileSystemArgv = ['xfs_growfs', rootMount] as const;

/** Copies the registry data. */
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
  touches: ['disk:install'],
  retry: { attempts: 3, every: seconds(5) },
  limit: hours(6),
  preview: (_config, { disk }) => previewOf(disk.path),
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

/** The commands before the disk and its root partition are looked at. */
function previewOf(disk: string): readonly (readonly string[])[] {
  const root = '<root partition>';
  // A run finds the partition by its label; coreos-assembler makes it the fourth.
  const growth = { disk, partition: 4, freePercent: '<share>' };
  return [
    lsblkArgv,
    makeMountArgv,
    mountRootArgv(root),
    thawArgv,
    ...earlierTriesArgvs(registryTarget),
    unmountArgv,
    growArgv(growth),
    ...recreateArgvs,
    mountRootArgv(root),
    growFileSystemArgv,
    makeTargetArgv,
    copyArgv,
    freezeArgv,
    unmountArgv,
  ];
}

async function run(
  { host, signal }: StepScope<'host'>,
  argv: readonly string[],
  limit: Millis = minutes(2),
): Promise<void> {
  await host.exec(argv, { signal, limit });
}

/** The root partition as it is, and how much of the disk is to stay free. */
interface RootGrowth {
  readonly root: FoundPartition;
  readonly freePercent: number;
}

async function growRoot(
  scope: StepScope<'host'>,
  target: TargetDisk,
  { root, freePercent }: RootGrowth,
): Promise<void> {
  await run(scope, makeMountArgv);
  await run(scope, mountRootArgv(root.path));
  await run(scope, thawArgv);
  const recreation = await planRecreation(scope, { mount: rootMount, registry: registryTarget });
  await run(scope, unmountArgv);
  await grow(scope, target, { disk: target.path, partition: root.number, freePercent });
  await recreateRoot(scope, { target, root, recreation });
  await run(scope, mountRootArgv(root.path));
  await run(scope, growFileSystemArgv, minutes(10));
}

/** growpart ends with 1 and NOCHANGE when an earlier attempt has grown the partition. */
async function grow(
  { host, signal }: StepScope<'host'>,
  target: TargetDisk,
  growth: Growth,
): Promise<void> {
  const { exitCode, stdout, stderr } = await execOnTarget({ host, target }, growArgv(growth), {
    signal,
    limit: minutes(5),
    accept: [0, 1],
  });
  if (exitCode === 0 || stdout.includes('NOCHANGE')) return;
  throw registryFailure('registry.not-grown', `growpart failed: ${stderr || stdout}`, {
    context: { disk: growth.disk, partition: growth.partition },
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

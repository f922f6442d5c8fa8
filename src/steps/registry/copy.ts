import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { findPartition, freePercent, readTarget } from '../disk/block-devices.ts';
import { TargetDisk } from '../disk/facts.ts';
import { leaveEarlierMounts } from '../disk/in-use.ts';
import { type BlockDevice, lsblkArgv } from '../disk/lsblk.ts';
import { step, type StepScope } from '../step.ts';
import * as commands from './commands.ts';
import { RegistryMedia } from './facts.ts';
import { registryFailure } from './failures.ts';
import { rsyncProgress } from './rsync-progress.ts';

const makeMountArgv = ['mkdir', '-p', commands.rootMount] as const;
const makeTargetArgv = ['mkdir', '-p', commands.registryTarget] as const;

/**
 * Copies the registry that the live medium carries into the new system, so that a node without any
 * network to a registry has one after its first boot.
 */
export const copy = step({
  id: 'registry/copy',
  title: 'Copy the registry of the live medium to the install disk',
  stage: 'Copying registry data to disk',
  uses: ['host'],
  needs: { disk: TargetDisk, media: RegistryMedia },
  when: writesDisk,
  skipIf: ({ media }) => (media.isPresent ? undefined : 'the live medium carries no registry'),
  touches: ['disk:install'],
  retry: { attempts: 3, every: seconds(5) },
  limit: hours(6),
  preview: (_config, { disk }) => previewOf(disk.path),
  run: async (scope, { disk: target }) => {
    const { host, signal } = scope;
    const needed = commands.neededBytes(await measure(scope));
    const disk = await readTarget(host, target, signal);
    await leaveEarlierMounts(scope, disk, [commands.rootMount]);
    const growth = growthFor(disk, target.path, needed);
    const root = findPartition(disk, 'root');
    scope.onExit(() => letGo(scope), 'failure');
    await growRoot(scope, root.path, { ...growth, partition: root.number });
    await run(scope, makeTargetArgv);
    await host.exec(commands.copyArgv, {
      signal,
      limit: hours(5),
      onLine: rsyncProgress(scope.progress),
    });
    await run(scope, commands.freezeArgv);
    await run(scope, commands.unmountArgv);
  },
});

/** The commands before the disk and its root partition are looked at. */
function previewOf(disk: string): readonly (readonly string[])[] {
  const root = '<root partition>';
  // A run finds the partition by its label; coreos-assembler makes it the fourth.
  const growth = { disk, partition: 4, freePercent: '<share>' };
  return [
    commands.measureArgv,
    lsblkArgv,
    makeMountArgv,
    commands.mountRootArgv(root),
    commands.thawArgv,
    commands.unmountArgv,
    commands.growArgv(growth),
    ...commands.transposeArgvs,
    commands.mountRootArgv(root),
    commands.growFileSystemArgv,
    makeTargetArgv,
    commands.copyArgv,
    commands.freezeArgv,
    commands.unmountArgv,
  ];
}

async function run(
  { host, signal }: StepScope<'host'>,
  argv: readonly string[],
  limit: Millis = minutes(2),
): Promise<void> {
  await host.exec(argv, { signal, limit });
}

async function measure({ host, signal }: StepScope<'host'>): Promise<number> {
  const { stdout } = await host.exec(commands.measureArgv, { signal, limit: minutes(10) });
  const bytes = commands.parseMeasured(stdout);
  if (bytes !== undefined) return bytes;
  throw registryFailure('registry.unreadable', `du printed no size: ${stdout.slice(0, 200)}`, {
    context: { directory: commands.registrySource },
  });
}

/** @throws AgentError `registry.disk-too-small` */
function growthFor(
  disk: BlockDevice,
  path: string,
  needed: number,
): Omit<commands.Growth, 'partition'> {
  const percent = freePercent(disk, needed);
  if (percent >= 1) return { disk: path, freePercent: percent };
  throw registryFailure(
    'registry.disk-too-small',
    `${path} is too small for the registry data, which needs ${needed} bytes`,
    { context: { disk: path, sizeBytes: disk.sizeBytes, neededBytes: needed } },
  );
}

async function growRoot(
  scope: StepScope<'host'>,
  root: string,
  growth: commands.Growth,
): Promise<void> {
  await run(scope, makeMountArgv);
  await run(scope, commands.mountRootArgv(root));
  await run(scope, commands.thawArgv);
  await run(scope, commands.unmountArgv);
  await grow(scope, growth);
  for (const argv of commands.transposeArgvs) await run(scope, argv, minutes(30));
  await run(scope, commands.mountRootArgv(root));
  await run(scope, commands.growFileSystemArgv, minutes(10));
}

/** growpart ends with 1 and NOCHANGE when an earlier attempt has grown the partition. */
async function grow({ host, signal }: StepScope<'host'>, growth: commands.Growth): Promise<void> {
  const argv = commands.growArgv(growth);
  const { exitCode, stdout, stderr } = await host.exec(argv, {
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
async function letGo({ host, signal: stop }: StepScope<'host'>): Promise<void> {
  // A stopped run has seconds; else what was copied may take its time to reach the disk.
  const limit = stop.aborted ? seconds(1.5) : minutes(5);
  const { signal } = new AbortController();
  for (const argv of [commands.thawArgv, commands.unmountArgv]) {
    // Neither is an error: it may not be frozen, it may not be mounted.
    await host.exec(argv, { signal, limit, accept: [0, 1, 32] });
  }
}

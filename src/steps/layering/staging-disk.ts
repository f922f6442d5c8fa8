import { stagingPlaces, type StagingPlaces } from '../../layering/registry/staging-registry.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { findPartition, freePercent, readTarget } from '../disk/block-devices.ts';
import { mountedOn } from '../disk/in-use.ts';
import type { TargetDisk } from '../disk/facts.ts';
import type { StepScope } from '../step.ts';
import { layeringFailure } from '../../layering/failures.ts';

const gibibyte = 1024 ** 3;

/**
 * The base twice, compressed in the registry and unpacked in the store, two results, and what the build itself
 * needs; the image of a disk leaves next to nothing free. An estimate for RHCOS.
 */
const wantedBytes = 24 * gibibyte;

/** Below this there is no use in beginning. */
const leastBytes = 8 * gibibyte;

/** Prints the free bytes of a file system. */
export const freeBytesArgv = (path: string): readonly string[] => [
  ...['df', '--block-size=1', '--output=avail', path],
];

/**
 * Mounts the root file system of the written disk, where it stays until all images are built, and lets it grow as
 * far as they need: the image of a disk is nearly full, and a live system runs from memory. The first boot grows it
 * to the end.
 * @throws AgentError `layering.disk-too-small`, `disk.*`, `command.*`
 */
export async function openStagingDisk(
  scope: StepScope<'host'>,
  target: TargetDisk,
): Promise<StagingPlaces> {
  const { host, signal } = scope;
  const places = stagingPlaces();
  const { mount, work, data, storage, scratch } = places;
  const disk = await readTarget(host, target, signal);
  if (mountedOn(disk, [mount]).length === 0) {
    const root = findPartition(disk, 'root');
    const free = freePercent(disk, wantedBytes);
    await run(['mkdir', '-p', mount]);
    await run(['mount', root.path, mount]);
    // An image that was written offline, or that was deployed to, is left frozen; 1 when it is not.
    await run(['fsfreeze', '--unfreeze', mount], [0, 1]);
    const share = free > 0 ? [`--free-percent=${free}`] : [];
    // 1: the partition fills its place already.
    await run(['growpart', ...share, target.path, String(root.number)], [0, 1]);
    await run(['xfs_growfs', mount]);
  }
  await run(['mkdir', '-p', data, storage, scratch]);
  await requireRoom(scope, work);
  return places;

  async function run(argv: readonly string[], accept: readonly number[] = [0]): Promise<void> {
    await host.exec(argv, { signal, accept, limit: minutes(2) });
  }
}

async function requireRoom({ host, signal }: StepScope<'host'>, folder: string): Promise<void> {
  const { stdout } = await host.exec(freeBytesArgv(folder), { signal, limit: seconds(30) });
  const free = Number(/\d+\s*$/.exec(stdout)?.[0] ?? Number.NaN);
  if (Number.isNaN(free) || free >= leastBytes) return;
  throw layeringFailure(
    'layering.disk-too-small',
    `${Math.floor(free / gibibyte)} GiB are free on the written disk, ${leastBytes / gibibyte} are needed to build images`,
    { context: { free, needed: leastBytes } },
  );
}

import type { AgentError } from '../../model/failure.ts';
import { diskFailure } from './failures.ts';
import { type Holding, holdingsOf, renderHolding } from './holders.ts';
import type { BlockDevice } from './lsblk.ts';
import { everyDevice, standingOn } from './tree.ts';

/**
 * Below this nothing of use can be installed: the image of RHCOS alone has 3.8 GB, and the writer
 * would notice only when the disk is full.
 */
export const smallestDiskBytes = 4 * 1024 ** 3;

/** What is known of the install disk just before it is written. */
export interface DiskState {
  readonly disk: BlockDevice;
  /** Processes that have it open, as people read them. */
  readonly openers: readonly string[];
  /** LVM, RAID and device-mapper leftovers will be removed before the write. */
  readonly willBeCleaned: boolean;
  /** The writer keeps partitions, and with them what is mounted from them. */
  readonly keepsPartitions: boolean;
}

/** Whether a disk can be written, and what a person should know of it. */
export interface Readiness {
  /** The most serious reason why not. */
  readonly problem?: AgentError;
  readonly remarks: readonly string[];
}

/**
 * Judges a disk. Leftovers that the cleanup takes down are remarks. With kept partitions every
 * holder is a remark: an appliance installs to the disk it was started from, over device-mapper
 * windows that do not keep the table busy; whether it is free is then for coreos-installer to say.
 */
export function readinessOf(state: DiskState): Readiness {
  const { disk, openers, willBeCleaned, keepsPartitions } = state;
  const holdings = holdingsOf(disk);
  const isHarmless = ({ kind }: Holding): boolean =>
    keepsPartitions || (willBeCleaned && kind === 'leftover');
  const harmful = holdings.filter((holding) => !isHarmless(holding));
  const live = harmful.find(({ kind }) => kind === 'live');
  const busy = [...harmful.map(renderHolding), ...openers];
  const problem =
    (live === undefined ? undefined : isLive(disk, live)) ??
    physicalProblem(disk) ??
    (busy.length === 0 ? undefined : isBusy(disk, busy));
  const remarks = holdings
    .filter(isHarmless)
    .map(
      (holding) =>
        `${renderHolding(holding)}; ${keepsPartitions ? 'it stays' : 'it will be removed'}`,
    );
  return { ...(problem === undefined ? {} : { problem }), remarks };
}

function physicalProblem(disk: BlockDevice): AgentError | undefined {
  if (disk.isReadOnly) {
    return diskFailure('disk.read-only', `${disk.path} is read-only`, {
      context: { disk: disk.path },
    });
  }
  if (disk.sizeBytes >= smallestDiskBytes) return undefined;
  return diskFailure('disk.too-small', `${disk.path} has ${disk.sizeBytes} bytes`, {
    context: { disk: disk.path, sizeBytes: disk.sizeBytes, neededBytes: smallestDiskBytes },
  });
}

const isLive = (disk: BlockDevice, holding: Holding): AgentError =>
  diskFailure(
    'disk.is-live-medium',
    `the running system lives on ${disk.path}: ${renderHolding(holding)}`,
    { context: { disk: disk.path, holder: holding.device } },
  );

/** `disk.busy`, with everything that holds the disk. */
export const isBusy = (disk: { readonly path: string }, holders: readonly string[]): AgentError =>
  diskFailure('disk.busy', `${disk.path} is busy: ${holders.join('; ')}`, {
    context: { disk: disk.path, holders: holders.join('; ') },
  });

/**
 * Other disks with a file system labelled `boot` or `root`: the node finds its own by these labels,
 * and may start from the wrong disk (coreos-installer warns of the same, but only after the write).
 */
export function otherSystemDisks(
  roots: readonly BlockDevice[],
  disk: BlockDevice,
): readonly string[] {
  const own = new Set([disk, ...standingOn(disk)].map(({ kname }) => kname));
  return everyDevice(roots)
    .filter(({ kname, label }) => !own.has(kname) && (label === 'boot' || label === 'root'))
    .map(({ path, label }) => `${path} is labelled ${label}`);
}

import { minutes, seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';
import type { BlockDevice } from './lsblk.ts';
import { withAllOn } from './tree.ts';

/** Which of some places a disk is mounted on, in the order of the places. */
export function mountedOn(disk: BlockDevice, places: readonly string[]): readonly string[] {
  const mountpoints = new Set(withAllOn(disk).flatMap((device) => device.mountpoints));
  return places.filter((place) => mountpoints.has(place));
}

/**
 * Takes away what a run that was killed had left mounted, so that the step begins as it did then.
 * A file system that was left frozen is thawed first: unmounting it would wait for ever.
 * @param places deepest first
 */
export async function leaveEarlierMounts(
  { host, signal }: StepScope<'host'>,
  disk: BlockDevice,
  places: readonly string[],
): Promise<void> {
  for (const place of mountedOn(disk, places)) {
    const notFrozen = 1;
    await host.exec(['fsfreeze', '--unfreeze', place], {
      signal,
      limit: seconds(30),
      accept: [0, notFrozen],
    });
    // What was copied there may still have to reach the disk.
    await host.exec(['umount', place], { signal, limit: minutes(5) });
  }
}

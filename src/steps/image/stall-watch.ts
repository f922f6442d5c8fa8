import type { Progress } from '../../engine/events.ts';
import { type Millis, minutes, renderDuration } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import { stageLimits } from '../heartbeat.ts';
import { imageFailure } from './failures.ts';
import type { WriterProgress } from './writer-progress.ts';

/** A write without any progress for so long is given up; the service does the same. */
const longestStandstill = stageLimits.write;

const lookEvery: Millis = minutes(1);

/** What is watched. */
export interface WatchedWrite {
  readonly host: Host;
  readonly clock: Clock;
  /** Kernel name of the disk, `sda`. */
  readonly diskName: string;
  readonly writer: WriterProgress;
  readonly tell: (progress: Progress) => void;
}

/**
 * Sectors written since the host started. Source: Linux, `Documentation/block/stat.rst`, the
 * seventh number.
 */
export function sectorsWritten(stat: string | undefined): number | undefined {
  const field = stat?.trim().split(/\s+/)[6];
  return field === undefined || !/^\d+$/.test(field) ? undefined : Number(field);
}

/**
 * Runs a write and stops it when nothing moves: neither does the writer read on, nor does the disk
 * take sectors. A slow disk still writes long after the image is read.
 * @throws AgentError `image.stalled`, and what the write fails with
 */
export async function watchedForStall<T>(
  watched: WatchedWrite,
  signal: AbortSignal,
  write: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stalled = new AbortController();
  const over = new AbortController();
  const watching = watch(watched, AbortSignal.any([signal, over.signal])).then(
    (failure) => stalled.abort(failure),
    () => undefined,
  );
  try {
    return await write(AbortSignal.any([signal, stalled.signal]));
  } catch (error) {
    if (stalled.signal.aborted && !signal.aborted) throw stalled.signal.reason;
    throw error;
  } finally {
    over.abort(new Error('the write is over'));
    await watching;
  }
}

/** A host that does not tell must not end the watch. */
async function readSectors(
  host: Host,
  diskName: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return sectorsWritten(await host.readText(`/sys/block/${diskName}/stat`, signal));
  } catch {
    return undefined;
  }
}

async function watch(
  { host, clock, diskName, writer, tell }: WatchedWrite,
  signal: AbortSignal,
): Promise<Error> {
  let sectors: number | undefined;
  let diskMovedAt = clock.elapsed();
  for (;;) {
    await clock.sleep(lookEvery, signal);
    if (clock.elapsed() - writer.movedAt() < lookEvery) continue;
    const written = await readSectors(host, diskName, signal);
    if (written !== sectors) diskMovedAt = clock.elapsed();
    sectors = written;
    const refreshed = writer.refresh();
    if (refreshed !== undefined) tell(refreshed);
    const still = clock.elapsed() - Math.max(writer.movedAt(), diskMovedAt);
    if (still >= longestStandstill) {
      return imageFailure('image.stalled', `nothing has moved for ${renderDuration(still)}`, {
        context: { disk: diskName, phase: writer.isFlushing() ? 'flush' : 'read' },
      });
    }
  }
}

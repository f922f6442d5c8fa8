import { hiddenInWords, shownUrlsIn } from '../../lib/shown-url.ts';
import { hours, type Millis, minutes, renderDuration, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { waitForWriter, writerLock } from '../disk/in-use.ts';
import { execOnTarget } from '../disk/target.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import { ChosenImage, WrittenImage } from './facts.ts';
import { type OpenSource, openSource, previewSource } from './source.ts';
import { writerFailure } from './writer-failure.ts';
import { makeUnbootable } from '../disk/make-unbootable.ts';
import { writerArgv, writerProgress, type WriterProgress, writerOutput } from './writer.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import { stageLimits } from '../../model/stage.ts';
import { imageRelayFailure } from '../../ports/image-relay.ts';
import { imageFailure } from './failures.ts';
import { argsToKeep, readTable, tableArgv } from '../disk/kept.ts';
import { mayKeepPartitions, readWriterSetup } from '../disk/writer-args.ts';

/** Progress is what is limited, not the whole: even a slow link comes to its end within this. */
const longestWrite = hours(12);

/**
 * Writes the operating system and this host's Ignition to the install disk. It begins at zero each
 * time, so it may simply run again. When it fails or is stopped, the disk does not boot.
 */
export const writeImage = step({
  id: 'image/write',
  title: 'Write the operating system to the install disk',
  stage: 'Writing image to disk',
  uses: ['host', 'clock', 'imageRelay', 'web'],
  needs: { disk: TargetDisk, ignition: HostIgnition, image: ChosenImage },
  gives: WrittenImage,
  when: writesDisk,
  effect: 'destroys',
  retry: { attempts: 3, every: seconds(1) },
  limit: longestWrite,
  preview: (config, { disk, ignition }) => [
    ...(mayKeepPartitions(config.image.writerArgs) ? [tableArgv(disk.path)] : []),
    writerArgv({
      ignition: ignition.path,
      source: previewSource(config),
      args: config.image.writerArgs.map(shownUrlsIn),
      disk: disk.path,
    }),
  ],
  run: async (scope, { disk, ignition, image }) => {
    const { host, clock, config, signal, onExit, progress } = scope;
    const args = config.image.writerArgs;
    const { keepsPartitions, savedByFiles } = await readWriterSetup(scope);
    const writer = writerProgress(clock.elapsed);
    const output = writerOutput();
    onExit(async () => {
      if (output.hasTouchedDisk()) {
        const isStopped = signal.aborted;
        await makeUnbootable(host, { disk, keepsPartitions, isStopped });
      }
    }, 'failure');
    await waitForWriter(scope, disk);
    const open = await openSource(scope, { image, sectorBytes: disk.sectorBytes });
    const argv = writerArgv({
      ignition: ignition.path,
      source: open.source,
      args: keepsPartitions
        ? argsToKeep({ disk, args, savedByFiles }, await readTable(host, disk, signal))
        : args,
      disk: disk.path,
    });
    const watched = { host, clock, diskName: disk.name, writer, alive: scope.alive };
    try {
      await watchedForStall(watched, signal, (stoppable) =>
        execOnTarget({ host, target: disk }, argv, {
          signal: stoppable,
          limit: longestWrite,
          // It has no handler for SIGTERM: what must be undone is ours, and has little time
          // (coreos-installer 0.26).
          isKillable: true,
          underLock: writerLock(disk),
          secrets: hiddenInWords(args),
          env: { RUST_BACKTRACE: '0' },
          onLine: (line) => {
            const reported = writer.take(line);
            if (reported !== undefined) progress(reported);
            output.take(shownUrlsIn(line));
          },
        }),
      );
    } catch (error) {
      throw explained(error, { disk: disk.path, lines: output.lines(), open });
    }
    checkRelayed(open);
    warnOfOtherSystems(scope, output.lines());
    const sha256 = open.sha256();
    return { disk: disk.path, ...(sha256 === undefined ? {} : { sha256 }) };
  },
});

/** A failure of the writer by what it said, or by what is wrong with the image it was given. */
function explained(
  error: unknown,
  write: { readonly disk: string; readonly lines: readonly string[]; readonly open: OpenSource },
): unknown {
  const isOfWriter =
    error instanceof AgentError &&
    error.code === 'command.failed' &&
    String(error.context['argv']).startsWith('coreos-installer ');
  if (!isOfWriter) return error;
  const relayed = write.open.relayed();
  if (relayed?.failure !== undefined) return relayed.failure;
  const { exitCode } = error.context;
  return writerFailure({
    disk: write.disk,
    lines: write.lines,
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    isRelayUnasked: relayed?.isAsked === false,
    cause: error,
  });
}

/** A writer that was content with less than the whole image has not written the right one. */
function checkRelayed(open: OpenSource): void {
  const relayed = open.relayed();
  if (relayed === undefined) return;
  if (relayed.failure !== undefined) throw relayed.failure;
  if (relayed.sha256 !== undefined) return;
  const what = `coreos-installer read ${relayed.bytes} bytes, not the whole image`;
  throw imageRelayFailure('image.cut', what, { context: { bytes: relayed.bytes } });
}

/**
 * Two file systems that are labelled `boot` race at each start (coreos-installer, `install.rs`).
 */
function warnOfOtherSystems({ note }: StepScope<never>, lines: readonly string[]): void {
  const from = lines.findIndex((line) => line.includes('other devices with a filesystem labeled'));
  if (from < 0) return;
  const devices = lines.slice(from + 1).flatMap((line) => /^ *- (\S+)/.exec(line)?.[1] ?? []);
  note('warn', 'another disk has an old system: the host may boot that one', {
    devices: devices.join(', '),
    hint: 'if it is not needed, remove its signatures: wipefs --all',
  });
}

/** A write without any progress for so long is given up; the service does the same. */
const longestStandstill = stageLimits['Writing image to disk'];

const pollInterval: Millis = minutes(1);

interface WatchedWrite {
  readonly host: Host;
  readonly clock: Clock;
  /** Kernel name of the disk, `sda`. */
  readonly diskName: string;
  readonly writer: WriterProgress;
  readonly alive: (doing?: string) => void;
}

/**
 * Sectors written since the host started. Source: Linux, `Documentation/block/stat.rst`, the
 * seventh number.
 */
function sectorsWritten(stat: string | undefined): number | undefined {
  const field = stat?.trim().split(/\s+/)[6];
  return field === undefined || !/^\d+$/.test(field) ? undefined : Number(field);
}

/**
 * Runs a write and stops it when nothing moves: neither does the writer read on, nor does the disk
 * take sectors. A slow disk still writes long after the image is read.
 * @throws AgentError `image.stalled`, and what the write fails with
 */
async function watchedForStall<T>(
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

/** A host that does not report must not end the watch. */
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
  { host, clock, diskName, writer, alive }: WatchedWrite,
  signal: AbortSignal,
): Promise<Error> {
  let sectors: number | undefined;
  let diskMovedAt = clock.elapsed();
  for (;;) {
    await clock.sleep(pollInterval, signal);
    if (clock.elapsed() - writer.movedAt() < pollInterval) {
      alive();
      continue;
    }
    const written = await readSectors(host, diskName, signal);
    if (written !== sectors) diskMovedAt = clock.elapsed();
    sectors = written;
    alive(writer.phase());
    const still = clock.elapsed() - Math.max(writer.movedAt(), diskMovedAt);
    if (still >= longestStandstill) {
      return imageFailure('image.stalled', `no progress for ${renderDuration(still)}`, {
        context: { disk: diskName, phase: writer.isFlushing() ? 'flush' : 'read' },
      });
    }
  }
}

import { hiddenInWords, shownUrl, shownUrlsIn } from '../../lib/shown-url.ts';
import { hours, minutes, renderDuration, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { stageLimits } from '../../model/stage.ts';
import { imageRelayFailure, type RelayedImage } from '../../ports/image-relay.ts';
import { writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { waitForWriter, writerLock } from '../disk/in-use.ts';
import { argsToKeep, readTable, tableArgv } from '../disk/kept.ts';
import { makeUnbootable } from '../disk/make-unbootable.ts';
import { execOnTarget } from '../disk/target.ts';
import { mayKeepPartitions, readWriterSetup } from '../disk/writer-args.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import { stopStalled } from '../stop-stalled.ts';
import { ChosenImage, WrittenImage } from './facts.ts';
import { imageFailure } from './failures.ts';
import { verifyFile } from './image-file.ts';
import { needsVerifying, resolveImage } from './source.ts';
import { findInStream } from './stream.ts';
import { writerFailure } from './writer-failure.ts';
import { type FollowedWriter, followWriter, writerArgv } from './writer.ts';

type WriteScope = StepScope<'host' | 'clock' | 'imageRelay' | 'web'>;

/**
 * The write is limited by its progress, not by this: even a slow link completes it within this
 * time.
 */
const longestWrite = hours(12);

/**
 * Writes the operating system and this host's Ignition config to the install disk. Each write
 * starts at zero, so the step may run again. After a failure or a stop, the disk does not boot.
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
  preview: (config, { disk, ignition }) => {
    const { kind, place } = resolveImage(config);
    const source: readonly string[] = {
      file: ['--image-file', place.reveal()],
      url: ['--image-url', 'http://127.0.0.1:<port>/<image>'],
      stream: ['--image-url', 'http://127.0.0.1:<port>/<image>'],
      live: [],
      'writer-args': [],
    }[kind];
    const args = config.image.writerArgs.map(shownUrlsIn);
    return [
      ...(mayKeepPartitions(config.image.writerArgs) ? [tableArgv(disk.path)] : []),
      writerArgv(ignition.path, source, args, disk.path),
    ];
  },
  run: async (scope, { disk, ignition, image }) => {
    const { host, clock, config, signal, onExit } = scope;
    const { keepsPartitions, saved } = await readWriterSetup(scope);
    const writer = followWriter(clock.elapsed);
    onExit(async () => {
      if (!writer.hasTouchedDisk()) return;
      await makeUnbootable(host, { disk, keepsPartitions, isStopped: signal.aborted });
    }, 'failure');
    await waitForWriter(scope, disk);
    let relay: RelayedImage | undefined;
    try {
      let source: readonly string[] = [];
      if (image.kind === 'file') {
        if (image.sha256 !== undefined) await verifyFile(host, image.path, image.sha256, signal);
        source = ['--image-file', image.path];
      } else if (image.kind === 'url') {
        relay = await openRelay(scope, disk, image);
        source = ['--image-url', relay.url];
      }
      let args: readonly string[] = config.image.writerArgs;
      if (keepsPartitions)
        args = argsToKeep(disk, args, saved, await readTable(host, disk, signal));
      const argv = writerArgv(ignition.path, source, args, disk.path);
      await runWriter(scope, disk, argv, writer).catch((error: unknown) => {
        throw explained(error, disk, writer, relay);
      });
      const relayed = relay?.outcome();
      if (relayed?.failure !== undefined) throw relayed.failure;
      if (relayed !== undefined && relayed.sha256 === undefined) {
        // A writer that accepted fewer bytes has not written the right image.
        const what = `coreos-installer read ${relayed.bytes} bytes, not the whole image`;
        throw imageRelayFailure('image.cut', what, { context: { bytes: relayed.bytes } });
      }
      const sha256 = image.kind === 'file' ? image.sha256 : relayed?.sha256;
      return { disk: disk.path, ...(sha256 === undefined ? {} : { sha256 }) };
    } finally {
      await relay?.close();
    }
  },
});

/**
 * Streams the image through Bootwright's relay, which enforces the digest, resumes after an
 * interruption and uses the proxies. The credentials of its address are not stored: they are read
 * from their source.
 * @throws AgentError `image.stream-changed`
 */
async function openRelay(
  scope: WriteScope,
  disk: TargetDisk,
  { url, source, sha256 }: ChosenImage & { readonly kind: 'url' },
): Promise<RelayedImage> {
  const { imageRelay, config, signal } = scope;
  const guard = sha256 === undefined ? { tlsOnly: needsVerifying(config) } : { sha256 };
  if (source === 'config')
    return imageRelay.serve({ url: config.image.url.reveal(), ...guard }, { signal });
  const found = await findInStream(scope, config.image.stream, disk.sectorBytes);
  const now = shownUrl(found.url);
  if (now === url) return imageRelay.serve({ url: found.url, ...guard }, { signal });
  throw imageFailure('image.stream-changed', `the stream now names ${now} and not ${url}`, {
    context: { chosen: url, now },
  });
}

/**
 * Runs the writer and stops it when it stalls: it reads no bytes, and the disk writes no sectors. A
 * slow disk still writes long after the image is read.
 * @throws AgentError `image.stalled`, and those of the writer
 */
async function runWriter(
  scope: WriteScope,
  disk: TargetDisk,
  argv: readonly string[],
  writer: FollowedWriter,
): Promise<void> {
  const { host, config, signal, progress } = scope;
  await stopStalled(
    signal,
    (until) => waitForStall(scope, disk.name, writer, until),
    (until) =>
      execOnTarget({ host, target: disk }, argv, {
        signal: until,
        limit: longestWrite,
        // coreos-installer has no handler for SIGTERM: Bootwright undoes its work, and has little
        // time for it (coreos-installer 0.26).
        isKillable: true,
        underLock: writerLock(disk),
        secrets: hiddenInWords(config.image.writerArgs),
        env: { RUST_BACKTRACE: '0' },
        onLine: (line) => {
          const reported = writer.take(line);
          if (reported !== undefined) progress(reported);
        },
      }),
  );
}

/** A write without progress for this time is aborted; the service does the same. */
const longestStandstill = stageLimits['Writing image to disk'];

const pollInterval = minutes(1);

async function waitForStall(
  { host, clock, alive }: WriteScope,
  diskName: string,
  writer: FollowedWriter,
  signal: AbortSignal,
): Promise<Error> {
  let sectors: string | undefined;
  let diskMovedAt = clock.elapsed();
  for (;;) {
    await clock.sleep(pollInterval, signal);
    if (clock.elapsed() - writer.movedAt() < pollInterval) {
      alive();
      continue;
    }
    // A host that does not answer must not end the watch.
    const stat = await host.readText(`/sys/block/${diskName}/stat`, signal).catch(() => undefined);
    // The seventh number: sectors written (Linux, `Documentation/block/stat.rst`).
    const written = stat?.trim().split(/\s+/)[6];
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

/** The failure of the writer, explained by its output or by an error in the source of the image. */
function explained(
  error: unknown,
  disk: TargetDisk,
  writer: FollowedWriter,
  relay: RelayedImage | undefined,
): unknown {
  const isOfWriter =
    error instanceof AgentError &&
    error.code === 'command.failed' &&
    String(error.context['argv']).startsWith('coreos-installer ');
  if (!isOfWriter) return error;
  const relayed = relay?.outcome();
  return relayed?.failure ?? writerFailure(error, disk, writer.lines(), relayed?.isAsked === false);
}

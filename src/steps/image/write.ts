import { hiddenInUrls, shownUrlsIn } from '../../lib/shown-url.ts';
import { hours, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { imageRelayFailure } from '../../ports/image-relay-failures.ts';
import { writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { keepsPartitions } from '../disk/guards.ts';
import { waitUntilClosed } from '../disk/in-use.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import { ChosenImage, WrittenImage } from './facts.ts';
import { type OpenSource, openSource, previewSource } from './open-source.ts';
import { proxyEnv } from '../host-commands.ts';
import { writerFailure } from './signatures.ts';
import { watchedForStall } from './stall-watch.ts';
import { makeUnbootable } from '../disk/wipe.ts';
import { writerArgv } from './writer-argv.ts';
import { writerProgress } from './writer-progress.ts';
import { writerTalk } from './writer-talk.ts';

/** Progress is what is limited, not the whole: even a slow link comes to its end within this. */
const longestWrite = hours(12);

/**
 * Writes the operating system and this host's Ignition to the install disk. It begins at zero each
 * time, so it may simply run again. When it fails or is stopped, the disk does not boot.
 */
export const write = step({
  id: 'image/write',
  title: 'Write the operating system to the install disk',
  stage: 'Writing image to disk',
  uses: ['host', 'clock', 'imageRelay', 'web'],
  needs: { disk: TargetDisk, ignition: HostIgnition, image: ChosenImage },
  gives: WrittenImage,
  when: writesDisk,
  destroys: true,
  touches: ['disk:install'],
  retry: { attempts: 3, every: seconds(1) },
  limit: longestWrite,
  preview: (config, { disk, ignition }) => [
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
    const writer = writerProgress(clock.elapsed);
    const talk = writerTalk();
    onExit(async () => {
      if (talk.hasTouchedDisk()) {
        const isStopped = signal.aborted;
        await makeUnbootable(host, { disk, keepsPartitions: keepsPartitions(args), isStopped });
      }
    }, 'failure');
    await waitUntilClosed(scope, disk);
    const open = await openSource(scope, { image, sectorBytes: disk.sectorBytes });
    const argv = writerArgv({
      ignition: ignition.path,
      source: open.source,
      args,
      disk: disk.path,
    });
    const watched = { host, clock, diskName: disk.name, writer, tell: progress };
    try {
      await watchedForStall(watched, signal, (stoppable) =>
        host.exec(argv, {
          signal: stoppable,
          limit: longestWrite,
          secrets: hiddenInUrls(args),
          env: { RUST_BACKTRACE: '0', ...proxyEnv(config.proxy) },
          onLine: (line) => {
            const told = writer.take(line);
            if (told !== undefined) progress(told);
            talk.take(shownUrlsIn(line));
          },
        }),
      );
    } catch (error) {
      throw explained(error, { disk: disk.path, lines: talk.lines(), open });
    }
    checkRelayed(open);
    tellOtherSystems(scope, talk.lines());
    const sha256 = open.sha256();
    return { disk: disk.path, ...(sha256 === undefined ? {} : { sha256 }) };
  },
});

/** A failure of the writer by what it said, or by what is wrong with the image it was given. */
function explained(
  error: unknown,
  write: { readonly disk: string; readonly lines: readonly string[]; readonly open: OpenSource },
): unknown {
  if (!(error instanceof AgentError) || error.code !== 'command.failed') return error;
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
  throw imageRelayFailure(
    'image.cut',
    `writer read ${relayed.bytes} bytes and not the whole image`,
    {
      context: { bytes: relayed.bytes },
    },
  );
}

/** Two file systems that are labelled `boot` race at each start (coreos-installer, `install.rs`). */
function tellOtherSystems({ note }: StepScope<never>, lines: readonly string[]): void {
  const from = lines.findIndex((line) => line.includes('other devices with a filesystem labeled'));
  if (from < 0) return;
  const devices = lines.slice(from + 1).flatMap((line) => /^ *- (\S+)/.exec(line)?.[1] ?? []);
  note('warn', 'another disk holds an old system: the host may start that one', {
    devices: devices.join(', '),
    hint: 'if it is not needed, remove its signatures: wipefs --all',
  });
}

import { asAgentError } from '../../engine/failures.ts';
import { type Millis, minutes } from '../../model/duration.ts';
import { osFailure } from '../../os/failures.ts';
import { rpmOstreeCancelArgv } from '../../os/rpm-ostree.ts';
import type { HostScope } from '../step.ts';
import { stopStalled } from '../stop-stalled.ts';
import { ask } from './read-host.ts';
import type { CommandScope, DriverName } from './request.ts';

/** A pull of a complete image over a slow connection. */
const pullLimit = minutes(60);

/** Time without progress after which a pull has stalled. */
const stallLimit = minutes(5);
const pollInterval: Millis = minutes(1);

/** Bytes that programs read and write while they only wait for a registry. */
const idleBytes = 64 * 1024;

/** Programs of a pull, with their arguments; rpm-ostree pulls in its daemon. */
const pullingArgv = [
  ...['pgrep', '--list-full', '--exact', 'bootc|ostree|podman|rpm-ostree|skopeo'],
] as const;

/**
 * Runs a command that pulls an image; its output is the step's progress. A stalled pull is stopped:
 * neither bootc nor rpm-ostree gives up on a registry that accepts the connection and sends
 * nothing.
 * @throws AgentError `os.pull-cut` after five minutes without a byte; `command.*`
 */
export async function runPull(
  scope: CommandScope,
  driver: DriverName,
  argv: readonly string[],
): Promise<void> {
  const { host, signal, progress } = scope;
  try {
    await stopStalled(
      signal,
      (until) => waitForStall(scope, until),
      (until) =>
        host.exec(argv, {
          signal: until,
          limit: pullLimit,
          onLine: (line) => {
            if (line.trim() !== '') progress({ info: line.trim().slice(0, 200) });
          },
        }),
    );
  } catch (error) {
    const isStalled = asAgentError(error).code === 'os.pull-cut';
    // The daemon continues without its client.
    if (isStalled && driver === 'rpm-ostree') await ask(scope, rpmOstreeCancelArgv);
    throw error;
  }
}

/** Resolves once a pull stalls. */
async function waitForStall(scope: CommandScope, signal: AbortSignal): Promise<Error> {
  const { host, clock, note, config } = scope;
  let last = { bytes: Number.NEGATIVE_INFINITY, at: clock.elapsed() };
  try {
    for (;;) {
      await clock.sleep(pollInterval, signal);
      const bytes = await movedBytes({ host, signal });
      if (bytes === undefined || Math.abs(bytes - last.bytes) > idleBytes)
        last = { bytes: bytes ?? Number.NEGATIVE_INFINITY, at: clock.elapsed() };
      else if (clock.elapsed() - last.at >= stallLimit)
        return osFailure('os.pull-cut', `${config.image}: no byte came for five minutes`);
    }
  } catch (error) {
    // A failed question to the host is no sign of a stall.
    if (!signal.aborted) note('debug', 'the pull is not watched', { cause: String(error) });
    throw error;
  }
}

/** The programs that fetch an image for bootc and rpm-ostree, and those that fetch bound images. */
const fetching = /^\d+ \S*(?:skopeo experimental-image-proxy|podman .{0,500}\bpull )/;

/**
 * Bytes that the programs of a pull have read and written so far; undefined while none fetches from
 * a registry.
 */
async function movedBytes(scope: HostScope): Promise<number | undefined> {
  const { host, signal } = scope;
  const running = (await ask(scope, pullingArgv))?.split('\n') ?? [];
  if (!running.some((line) => fetching.test(line.trim()))) return undefined;
  let bytes = 0;
  for (const line of running) {
    const io = await host.readText(`/proc/${line.trim().split(' ')[0]}/io`, signal);
    for (const [, count] of (io ?? '').matchAll(/^[rw]char: (\d+)$/gm)) bytes += Number(count);
  }
  return bytes;
}

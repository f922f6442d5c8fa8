import { type Millis, minutes } from '../../model/duration.ts';
import type { HostLock } from '../../ports/host.ts';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
  commandTimedOut,
} from './command-failures.ts';
import { cleanEnvironment, type HostAccess, lockConflict, lockWords } from './run-command.ts';
import type { ProcessEnd } from './spawn.ts';

/** `flock --nonblock` answers at once; a host on which it does not is broken. */
const limit: Millis = minutes(2);

/**
 * Takes a lock on the host. The holder is `flock` with a `cat` that reads from this process. When
 * this end of the pipe closes, by release or because this process was killed, `cat` ends and
 * releases the lock. `cat` echoes a word as soon as the lock is held.
 */
export async function takeLock(
  access: HostAccess,
  name: string,
  signal: AbortSignal,
): Promise<HostLock | undefined> {
  const argv = [...lockWords(name), 'cat'];
  const { spawnInGroup } = await import('./spawn.ts');
  if (signal.aborted) throw commandStopped({ argv, duration: 0 }, signal.reason);
  const { promise: held, resolve: isHeld } = Promise.withResolvers<'held'>();
  access.onCommand?.({ type: 'command.started', argv });
  const running = spawnInGroup({
    argv: [...access.prefix, ...argv],
    env: cleanEnvironment(access.environment),
    hasInput: true,
    onLine: (_, stream) => {
      if (stream === 'stdout') isHeld('held');
    },
  });
  running.stdin?.write('held\n');
  const onAbort = (): void => {
    void running.stop();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const late = setTimeout(onAbort, limit);
  try {
    const outcome = await Promise.race([held, running.ended]);
    if (outcome !== 'held') {
      const { exitCode, duration } = outcome;
      access.onCommand?.({ type: 'command.finished', argv, exitCode, duration });
      if (exitCode === lockConflict) return undefined;
      throw notTaken({ ...outcome, argv }, signal);
    }
    running.unref();
    return {
      release: async () => {
        running.stdin?.end();
        await running.ended;
      },
    };
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
  }
}

function notTaken(
  end: ProcessEnd & { readonly argv: readonly string[] },
  signal: AbortSignal,
): Error {
  if (signal.aborted) return commandStopped(end, signal.reason);
  if (end.duration >= limit) return commandTimedOut(end, limit);
  if (end.spawnError === 'ENOENT' || end.exitCode === 127) return commandNotFound(end);
  return commandFailed(end, { exitCode: end.exitCode, killedBy: end.killedBy });
}

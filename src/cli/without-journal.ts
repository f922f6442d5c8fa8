import { systemClock } from '../adapters/clock.ts';
import { noJournal } from '../adapters/journal/no-journal.ts';
import { openLog } from '../adapters/logging/log-sink.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Role } from '../engine/role.ts';
import { type RunOutcome, runRole } from '../engine/run.ts';
import type { World } from '../engine/step.ts';
import { eventHub } from './event-hub.ts';
import { exitCodeOf, failureText } from './failure-text.ts';
import { stopSignal } from './stop-signal.ts';
import { version } from './version.ts';

/** How a command tells what it does. */
export interface Telling {
  readonly level: 'debug' | 'info' | 'warn';
  /** Where the log goes. */
  readonly stream: 'stdout' | 'stderr';
}

/** What the work of such a command has at hand. */
export interface Played {
  /** Aborted when the command is stopped. */
  readonly signal: AbortSignal;
  /** Takes what adapters have to tell. */
  readonly tell: ReturnType<typeof eventHub>['tell'];
  /** Runs a role from its beginning. */
  readonly play: <W extends World>(part: Part<W>) => Promise<RunOutcome>;
}

interface Part<W extends World> {
  readonly role: Role<W>;
  readonly config: W['config'];
  readonly ports: W['ports'];
}

/**
 * Does work that keeps no journal, and resolves with the exit code of the command. A failure is
 * written to standard error; a stop ends it by the code of the signal.
 */
export async function withoutJournal(
  { level, stream }: Telling,
  work: (played: Played) => Promise<void>,
): Promise<number> {
  using stop = stopSignal();
  const hub = eventHub(systemClock, systemRandom.uuid());
  const log = openLog({
    level,
    format: process[stream].isTTY ? 'pretty' : 'json',
    descriptors: [stream === 'stdout' ? 1 : 2],
    mask: (text) => text,
  });
  hub.add(log.sink);
  const play: Played['play'] = (part) =>
    runRole({
      ...part,
      clock: systemClock,
      journal: noJournal,
      header: { version, fingerprint: 'none', bootId: 'none' },
      run: hub.run,
      sinks: [hub.sink],
      signal: stop.signal,
    });
  let failure: string | undefined;
  try {
    await work({ signal: stop.signal, tell: hub.tell, play });
    return 0;
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    failure = failureText(thrown);
    return exitCodeOf(thrown);
  } finally {
    await log.close();
    if (failure !== undefined) process.stderr.write(failure);
  }
}

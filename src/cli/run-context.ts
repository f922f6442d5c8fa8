import { systemClock } from '../adapters/clock.ts';
import { noJournal } from '../adapters/journal/no-journal.ts';
import { openLog } from '../adapters/logging/log-sink.ts';
import { systemRandom } from '../adapters/random.ts';
import type { RunEvent, RunHappening, Sink } from '../engine/events.ts';
import { engineFailure } from '../engine/failures.ts';
import type { Role } from '../engine/role.ts';
import { type RunOutcome, runRole } from '../engine/run.ts';
import type { World } from '../engine/step.ts';
import type { Clock } from '../ports/clock.ts';
import type { Host } from '../ports/host.ts';
import { exitCodeOf, failureText } from './failure-text.ts';
import { version } from './commands.ts';

/** The signals that end a run, with their exit codes. */
const exitCodeOfSignal = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

/**
 * A run that cannot be ended in order is ended all the same: podman kills after five seconds, and
 * then nobody learns which signal it was.
 */
const lastMoment = 3800;

/** Turns the signals that end a process into the abort of a run. */
export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
  /** 128 and the number of the signal, once one came. */
  readonly exitCode: () => number | undefined;
}

/** Listens for signals until it is disposed of. A second signal changes nothing. */
export function stopSignal(): StopSignal {
  const control = new AbortController();
  let exitCode: number | undefined;
  const stop = (name: NodeJS.Signals): void => {
    const code = exitCodeOfSignal[name as keyof typeof exitCodeOfSignal];
    exitCode ??= code;
    setTimeout(() => process.exit(code), lastMoment).unref();
    control.abort(
      engineFailure('run.stopped', `stopped by ${name}`, { context: { signal: name } }),
    );
  };
  const names = Object.keys(exitCodeOfSignal) as (keyof typeof exitCodeOfSignal)[];
  for (const name of names) process.on(name, stop);
  return {
    signal: control.signal,
    exitCode: () => exitCode,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, stop);
    },
  };
}

/** Hands every event of one run to whoever watches; adapters and the reporter tell theirs here too. */
export interface EventHub {
  /** Names the run. */
  readonly run: string;
  readonly tell: (happening: RunHappening) => void;
  readonly sink: Sink;
  readonly add: (sink: Sink) => void;
}

/** A hub that nobody watches yet. */
export function eventHub(clock: Clock, run: string): EventHub {
  const sinks: Sink[] = [];
  const sink: Sink = (event: RunEvent) => {
    for (const one of sinks) one(event);
  };
  return {
    run,
    sink,
    tell: (happening) => {
      sink({ ...happening, at: clock.now(), run });
    },
    add: (one) => {
      sinks.push(one);
    },
  };
}

/** Names the present boot of the host; `unknown` where it tells none. */
export const readBootId = async (host: Host, signal: AbortSignal): Promise<string> =>
  (await host.readText('/proc/sys/kernel/random/boot_id', signal))?.trim() ?? 'unknown';

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

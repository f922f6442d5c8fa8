import { asAgentError, engineFailure } from '../engine/failures.ts';

/** The signals that end a run, with their exit codes. */
const exitCodeOfSignal = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

/**
 * A run that does not stop in time is ended by force. Podman kills after five seconds, and then the
 * exit code would not name the signal.
 */
const lastMoment = 3800;

/** Turns a signal or an uncaught error into the abort of a run. */
export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
  /** 128 plus the number of the signal, once a signal came. */
  readonly exitCode: () => number | undefined;
  /**
   * The exit code of a stopped program.
   * @throws the uncaught error that stopped it, if no signal did
   */
  readonly endCode: () => number;
  /** Ignores signals from now on: they arrive because the host shuts down. */
  readonly ignore: () => void;
}

/**
 * Does work until it is done or a signal stops it. Resolves with the exit code of the work or of
 * the signal.
 * @throws the error of the work, if no signal came
 */
export async function untilStopped(
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  using stop = stopSignal();
  try {
    return await work(stop.signal);
  } catch (thrown) {
    const exitCode = stop.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw thrown;
  }
}

/**
 * Listens for signals and uncaught errors until it is disposed of. A second signal changes nothing.
 */
export function stopSignal(): StopSignal {
  const control = new AbortController();
  let exitCode: number | undefined;
  let isIgnored = false;
  const stop = (code: number, reason: Error): void => {
    setTimeout(() => process.exit(code), lastMoment).unref();
    control.abort(reason);
  };
  const onSignal = (name: NodeJS.Signals): void => {
    if (isIgnored) return;
    const code = exitCodeOfSignal[name as keyof typeof exitCodeOfSignal];
    exitCode ??= code;
    stop(code, engineFailure('run.stopped', `stopped by ${name}`, { context: { signal: name } }));
  };
  const onUncaught = (thrown: unknown): void => {
    stop(1, asAgentError(thrown));
  };
  const names = Object.keys(exitCodeOfSignal) as (keyof typeof exitCodeOfSignal)[];
  for (const name of names) process.on(name, onSignal);
  process.on('uncaughtException', onUncaught);
  return {
    signal: control.signal,
    exitCode: () => exitCode,
    endCode: () => {
      if (exitCode === undefined) throw control.signal.reason;
      return exitCode;
    },
    ignore: () => {
      isIgnored = true;
    },
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal);
      process.off('uncaughtException', onUncaught);
    },
  };
}

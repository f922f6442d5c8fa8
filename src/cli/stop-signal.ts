import { engineFailure } from '../engine/failures.ts';

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

import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';

/** Background work of a wait, so that slow work does not delay the wait. */
export interface Tasks {
  /**
   * Starts the work of a name, unless it is running or was started less than `pause` ago. The work
   * reports its failures itself. When it ends, the wait is notified.
   */
  readonly run: (name: string, pause: Millis, work: (signal: AbortSignal) => Promise<void>) => void;
  /** Whether work that was started for the first time has been running for a short time only. */
  readonly isNewRunning: () => boolean;
  /** Stops the running work and waits for it. */
  readonly close: () => Promise<void>;
}

/** How long a first request may take before the status says that there is no answer. */
const shortTime: Millis = seconds(10);

interface Attempt {
  readonly startedAt: number;
  readonly isFirst: boolean;
  /** Undefined once it has ended. */
  readonly work?: Promise<void>;
}

/** Background work of one wait; `notify` makes it poll. */
export function tasksOf(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  notify: () => void,
): Tasks {
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const attempts = new Map<string, Attempt>();
  const start = async (
    name: string,
    attempt: Attempt,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> => {
    try {
      await work(inner);
    } finally {
      attempts.set(name, attempt);
      notify();
    }
  };
  return {
    run: (name, pause, work) => {
      const last = attempts.get(name);
      const startedAt = clock.elapsed();
      const isRunning = last?.work !== undefined;
      if (isRunning || (last !== undefined && startedAt - last.startedAt < pause)) return;
      const attempt = { startedAt, isFirst: last === undefined };
      attempts.set(name, { ...attempt, work: start(name, attempt, work).catch(() => undefined) });
    },
    isNewRunning: () =>
      [...attempts.values()].some(
        ({ isFirst, work, startedAt }) =>
          isFirst && work !== undefined && clock.elapsed() - startedAt < shortTime,
      ),
    close: async () => {
      closing.abort(new Error('the wait is over'));
      await Promise.all([...attempts.values()].flatMap(({ work }) => (work ? [work] : [])));
    },
  };
}

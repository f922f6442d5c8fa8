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

/** Background work of one wait; `notify` makes it poll. */
export function tasksOf(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  notify: () => void,
): Tasks {
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const started = new Map<string, { readonly at: number; readonly isFirst: boolean }>();
  const running = new Map<string, Promise<void>>();
  return {
    run: (name, pause, work) => {
      const last = started.get(name);
      const at = clock.elapsed();
      if (running.has(name) || (last !== undefined && at - last.at < pause)) return;
      started.set(name, { at, isFirst: last === undefined });
      const end = (): void => {
        running.delete(name);
        notify();
      };
      running.set(name, work(inner).then(end, end));
    },
    isNewRunning: () =>
      [...started].some(
        ([name, { at, isFirst }]) =>
          isFirst && running.has(name) && clock.elapsed() - at < shortTime,
      ),
    close: async () => {
      closing.abort(new Error('the wait is over'));
      await Promise.all(running.values());
    },
  };
}

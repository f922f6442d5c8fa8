import { untilAborted, type Watch } from '../../engine/wait.ts';
import type { Millis } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';

/** Background work of a wait, so that slow work does not delay the wait. */
export interface Tasks {
  /**
   * Starts the work of a name, unless it is running or was started less than `pause` ago. The work
   * reports its failures itself. When it ends, the wait polls again.
   */
  readonly run: (name: string, pause: Millis, work: (signal: AbortSignal) => Promise<void>) => void;
  /** A watch of the wait; at its end the running work is stopped and waited for. */
  readonly watch: Watch;
}

/** Background work of one wait, which must have the watch of it. */
export function tasksOf({
  clock,
  signal,
}: {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly signal: AbortSignal;
}): Tasks {
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const started = new Map<string, Millis>();
  const running = new Map<string, Promise<void>>();
  let notify = (): void => undefined;
  return {
    run: (name, pause, work) => {
      const last = started.get(name) ?? Number.NEGATIVE_INFINITY;
      if (running.has(name) || clock.elapsed() - last < pause) return;
      started.set(name, clock.elapsed());
      const end = (): void => {
        running.delete(name);
        notify();
      };
      running.set(name, work(inner).then(end, end));
    },
    watch: async (changed, over) => {
      notify = changed;
      await untilAborted(over);
      closing.abort(new Error('the wait is over'));
      await Promise.all(running.values());
    },
  };
}

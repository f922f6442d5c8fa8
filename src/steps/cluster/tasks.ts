import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';

/** Work beside a wait: what takes long must not hold back what is seen meanwhile. */
export interface Tasks {
  /**
   * Begins work of a name, unless work of that name is under way, or was begun less than `pause` ago.
   * The work tells its failures itself. When it ends, the bell rings.
   */
  readonly run: (name: string, pause: Millis, work: (signal: AbortSignal) => Promise<void>) => void;
  /** Work that was begun for the first time is under way, and for a short time only. */
  readonly isNewUnderWay: () => boolean;
  /** Stops what is under way and waits for it. */
  readonly close: () => Promise<void>;
}

/** How long a first request may take before it is told that there is no answer. */
const shortTime: Millis = seconds(10);

interface Attempt {
  readonly begun: number;
  readonly isFirst: boolean;
  /** Undefined once it has ended. */
  readonly work?: Promise<void>;
}

/** Work beside one wait; `ring` makes it look again. */
export function tasksOf(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ring: () => void,
): Tasks {
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const attempts = new Map<string, Attempt>();
  const begin = async (
    name: string,
    attempt: Attempt,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> => {
    try {
      await work(inner);
    } finally {
      attempts.set(name, attempt);
      ring();
    }
  };
  return {
    run: (name, pause, work) => {
      const last = attempts.get(name);
      const begun = clock.elapsed();
      const isUnderWay = last?.work !== undefined;
      if (isUnderWay || (last !== undefined && begun - last.begun < pause)) return;
      const attempt = { begun, isFirst: last === undefined };
      attempts.set(name, { ...attempt, work: begin(name, attempt, work).catch(() => undefined) });
    },
    isNewUnderWay: () =>
      [...attempts.values()].some(
        ({ isFirst, work, begun }) =>
          isFirst && work !== undefined && clock.elapsed() - begun < shortTime,
      ),
    close: async () => {
      closing.abort(new Error('the wait is over'));
      await Promise.all([...attempts.values()].flatMap(({ work }) => (work ? [work] : [])));
    },
  };
}

import { asAgentError } from '../engine/failures.ts';
import { untilAborted, type Watch } from '../engine/wait.ts';
import { hours, type Millis, seconds } from '../model/duration.ts';
import { together } from './cluster/kube-watch.ts';
import type { StepScope } from '../engine/step.ts';
import type { Clock } from '../ports/clock.ts';

/** Something to be done. Of the actions of one key, one runs at a time. */
export interface Action {
  /** What it is about: `Joined of host 7f3a`. It stands in the log where the action fails. */
  readonly key: string;
  /**
   * Names what is changed, `uid` of an object, where that may be done once only: a view that is listed each half minute
   * shows for a while yet what is gone.
   */
  readonly once?: string | undefined;
}

/** What follows from what was observed. */
export interface Decision<A extends Action> {
  readonly actions: readonly A[];
  /** What is still missing, for the log; undefined when nothing is, and nothing will be. */
  readonly missing: string | undefined;
}

/** A part of the cluster that is brought to what it is to be. */
export interface Reconciler<Seen, A extends Action> {
  /** Notifies whenever it may be worth to observe again. */
  readonly watch: Watch;
  /** How often to observe what notifies nobody; 30 seconds unless given. */
  readonly every?: Millis;
  readonly observe: (signal: AbortSignal) => Promise<Seen> | Seen;
  /** Pure. An action that is decided again while it runs, or shortly after it failed, is not begun twice. */
  readonly decide: (seen: Seen) => Decision<A>;
  /** What it throws is noted once for each cause, and the action is tried again while it is decided. */
  readonly apply: (action: A, signal: AbortSignal) => Promise<void>;
}

/** What of a step's scope a reconciliation works with. */
export type ReconcileScope = Pick<StepScope<unknown>, 'until' | 'note' | 'signal'> & {
  readonly clock: Clock;
};

/** Controllers have no limit of their own: what they work on says when they end. */
export const noLimit: Millis = hours(24 * 365);

/** Actions that run at once. */
const mostAtOnce = 8;

/** What was done is seen within this time; until then it would be decided again. */
const afterSuccess: Millis = seconds(1);
const afterFailure = { first: seconds(1), longest: seconds(30) } as const;

/**
 * Observes, decides and acts until nothing is missing any more. A failed action keeps nothing else waiting, and what cannot be
 * observed or decided now is looked at again: nobody else would begin this work once more.
 */
export async function reconcile<Seen, A extends Action>(
  scope: ReconcileScope,
  sentence: string,
  { watch, every = seconds(30), observe, decide, apply }: Reconciler<Seen, A>,
): Promise<void> {
  const queue = keyedQueue(scope);
  let noted: string | undefined;
  const decided = async (signal: AbortSignal): Promise<Decision<A>> => {
    try {
      return decide(await observe(signal));
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (noted !== message)
        scope.note('warn', `${sentence}: looking again`, { code, reason: message });
      noted = message;
      return { actions: [], missing: message };
    }
  };
  try {
    await scope.until(
      sentence,
      async (signal) => {
        const { actions, missing } = await decided(signal);
        for (const action of actions) queue.add(action, (inner) => apply(action, inner));
        if (missing === undefined && !queue.isBusy()) return { done: undefined };
        return { status: missing ?? 'what was begun is being ended' };
      },
      { watch: together(watch, queue.watch), every, within: noLimit },
    );
  } finally {
    await queue.close();
  }
}

/** Work by keys: one piece of a key at a time, with growing pauses after failures. */
interface KeyedQueue {
  /** Begins the work unless its key is at work, in its pause, or too many others run. */
  readonly add: (action: Action, work: (signal: AbortSignal) => Promise<void>) => void;
  readonly isBusy: () => boolean;
  /** Notifies when work has ended, and when a pause is over. */
  readonly watch: Watch;
  /** Stops the work and waits for it. */
  readonly close: () => Promise<void>;
}

interface KeyState {
  readonly failures: number;
  /** The code of the failure that was noted last. */
  readonly noted?: string;
}

function keyedQueue({ clock, signal, note }: ReconcileScope): KeyedQueue {
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const states = new Map<string, KeyState>();
  const blocked = new Set<string>();
  const done = new Set<string | undefined>();
  const running = new Set<Promise<void>>();
  let notify = (): void => undefined;

  const attempt = async (
    { key, once }: Action,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<Millis> => {
    try {
      await work(inner);
      states.delete(key);
      if (once !== undefined) done.add(once);
      return afterSuccess;
    } catch (error) {
      if (inner.aborted) return 0;
      const { code, message } = asAgentError(error);
      const { failures, noted } = states.get(key) ?? { failures: 0 };
      if (noted !== code) note('warn', `${key}: trying again`, { code, reason: message });
      states.set(key, { failures: failures + 1, noted: code });
      return Math.min(afterFailure.longest, afterFailure.first * 2 ** failures);
    }
  };
  const release = (key: string, pause: Millis): void => {
    const free = (): void => {
      blocked.delete(key);
      notify();
    };
    clock.sleep(pause, inner).then(free, () => undefined);
  };
  return {
    add: (action, work) => {
      const { key, once } = action;
      if (done.has(once) || blocked.has(key) || running.size >= mostAtOnce) return;
      blocked.add(key);
      const run = attempt(action, work).then((pause) => {
        running.delete(run);
        release(key, pause);
        notify();
      });
      running.add(run);
    },
    isBusy: () => running.size > 0,
    watch: (changed, watched) => {
      notify = changed;
      return untilAborted(watched);
    },
    close: async () => {
      closing.abort(new Error('there is nothing more to do'));
      await Promise.all(running);
    },
  };
}

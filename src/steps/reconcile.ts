import { asAgentError } from '../engine/failures.ts';
import { type PollResult, untilAborted, type Watch } from '../engine/wait.ts';
import { type Millis, seconds, unlimited } from '../model/duration.ts';
import { together } from './cluster/kube-watch.ts';
import type { StepScope } from '../engine/step.ts';
import type { Clock } from '../ports/clock.ts';
import { keyQueue } from '../reconcile/queue.ts';

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

/** What was done is seen within this time; until then it would be decided again. */
const afterSuccess: Millis = seconds(1);

/**
 * Observes, decides and acts until nothing is missing any more. A failed action keeps nothing else waiting, and what cannot be
 * observed or decided now is looked at again: nobody else would begin this work once more.
 */
export async function reconcile<Seen, A extends Action>(
  scope: ReconcileScope,
  sentence: string,
  { watch, every = seconds(30), observe, decide, apply }: Reconciler<Seen, A>,
): Promise<void> {
  const noteNew = newNotes(scope);
  const done = new Set<string | undefined>();
  let running = 0;
  let changed = (): void => undefined;
  const decided = async (signal: AbortSignal): Promise<Decision<A>> => {
    try {
      const { actions, missing } = decide(await observe(signal));
      return { actions: actions.filter(({ once }) => !done.has(once)), missing };
    } catch (error) {
      signal.throwIfAborted();
      noteNew('', `${sentence}: looking again`, error);
      return { actions: [], missing: asAgentError(error).message };
    }
  };
  const perform = async (key: string, signal: AbortSignal): Promise<void> => {
    const { actions } = await decided(signal);
    const action = actions.find((one) => one.key === key);
    if (action !== undefined) await apply(action, signal);
    if (action?.once !== undefined) done.add(action.once);
    noteNew(key);
  };
  const queue = keyQueue(scope, {
    settle: afterSuccess,
    reconcile: async (key, signal) => {
      running += 1;
      await perform(key, signal).finally(() => {
        running -= 1;
        changed();
      });
      return {};
    },
    failed: (key, error) => {
      noteNew(key, `${key}: trying again`, error);
    },
  });
  const notified: Watch = (notify, watched) => {
    changed = notify;
    return untilAborted(watched);
  };
  const poll = async (signal: AbortSignal): Promise<PollResult<undefined>> => {
    const { actions, missing } = await decided(signal);
    for (const { key } of actions) queue.add(key);
    if (missing === undefined && running === 0) return { done: undefined };
    return { status: missing ?? 'what was begun is being ended' };
  };
  try {
    await scope.until(sentence, poll, {
      watch: together(watch, notified),
      every,
      within: unlimited,
    });
  } finally {
    await queue.close();
  }
}

/** Notes what fails once for each cause; without an error it works again. */
function newNotes({ note }: ReconcileScope) {
  const noted = new Map<string, string>();
  return (what: string, message = '', error?: unknown): void => {
    if (error === undefined) {
      noted.delete(what);
      return;
    }
    const { code, message: reason } = asAgentError(error);
    if (noted.get(what) !== code) note('warn', message, { code, reason });
    noted.set(what, code);
  };
}

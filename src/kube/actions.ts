/** Something to be done. */
export interface Action {
  readonly type: string;
  /**
   * What it changes, and for what: an action of the same type and target that is decided again is
   * the same one.
   */
  readonly target: string;
}

/** What is done for each type of action; none is left out. */
export type ActionTable<A extends Action, Seen = unknown> = {
  readonly [Type in A['type']]: (
    action: Extract<A, { readonly type: Type }>,
    signal: AbortSignal,
    /** As it was read right before. */
    now: Seen,
  ) => Promise<void>;
};

/** What is decided, and how it is done. */
export interface ActionPlan<Seen, A extends Action> {
  /** As the stores show it. */
  readonly seen: Seen;
  /** Pure. */
  readonly decide: (seen: Seen) => readonly A[];
  /**
   * The same by requests of its own, of all that may have changed since: the uid and owner of an
   * object, who runs it, a cordon, a pause. Undefined where nothing may be changed now. It is read
   * for each action: what is of others is not read for it.
   */
  readonly readAgain: (seen: Seen, signal: AbortSignal, action: A) => Promise<Seen | undefined>;
  readonly table: ActionTable<A, Seen>;
}

/** Actions that run at once. */
const mostAtOnce = 8;

/**
 * Decides, and does what is decided once more by a fresh reading right before it. This is the one
 * place where a decision on stores meets the cluster: the writes of the table name the
 * resourceVersion of what was read here. An action that fails keeps no other waiting. Resolves with
 * what was done.
 * @throws the first failure, after all actions have ended; the signal's reason
 */
export async function performActions<Seen, A extends Action>(
  { seen, decide, readAgain, table }: ActionPlan<Seen, A>,
  signal: AbortSignal,
): Promise<readonly A[]> {
  const failures: unknown[] = [];
  const done: A[] = [];
  const carryOut = async (action: A): Promise<void> => {
    try {
      const now = await readAgain(seen, signal, action);
      const again = now && decide(now).find((one) => isSameAction(one, action));
      if (now === undefined || again === undefined) return;
      // A union cannot be followed through an index: the type of the action is the name of its
      // entry.
      const perform = table[again.type as A['type']] as Perform<A, Seen>;
      await perform(again, signal, now);
      done.push(again);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  };
  const actions = [...decide(seen)];
  const work = async (): Promise<void> => {
    for (let next = actions.shift(); next !== undefined; next = actions.shift())
      await carryOut(next);
  };
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, actions.length) }, work));
  if (failures.length > 0) throw failures[0];
  return done;
}

const isSameAction = (one: Action, other: Action): boolean =>
  one.type === other.type && one.target === other.target;

type Perform<A, Seen> = (action: A, signal: AbortSignal, now: Seen) => Promise<void>;

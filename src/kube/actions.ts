/** A change to the cluster that a decision requests. */
export interface Action {
  readonly type: string;
  /**
   * Object and purpose of the change. An action of the same type and target in a later decision is
   * the same action.
   */
  readonly target: string;
}

/** The implementation of each type of action. */
export type ActionTable<A extends Action, Seen = unknown> = {
  readonly [Type in A['type']]: (
    action: Extract<A, { readonly type: Type }>,
    signal: AbortSignal,
    /** The object as read right before. */
    now: Seen,
  ) => Promise<void>;
};

/** A decision on stores, and the implementation of its actions. */
export interface ActionPlan<Seen, A extends Action> {
  /** The state in the stores. */
  readonly seen: Seen;
  /** A pure function. */
  readonly decide: (seen: Seen) => readonly A[];
  /**
   * The same state by fresh requests, for everything that may have changed since: uid and owner of
   * an object, the program that runs it, a cordon, a pause. Undefined where no change is allowed
   * now. It runs once for each action, and reads only objects of that action.
   */
  readonly readAgain: (seen: Seen, signal: AbortSignal, action: A) => Promise<Seen | undefined>;
  readonly table: ActionTable<A, Seen>;
}

/** The most actions that run at once. */
const mostAtOnce = 8;

/**
 * Decides, and performs an action if a second decision by a fresh reading requests it again. All
 * decisions on stores that change the cluster pass here: the writes of the table name the
 * resourceVersion of that reading. A failed action does not delay the others. Resolves with the
 * performed actions.
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
      // TypeScript cannot follow a union through an index: the type of the action is the key of its
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

/** When an undo runs: whenever the step ends, or only when it fails. */
export type UndoWhen = 'always' | 'failure';

/** What a step registered to be undone. */
export interface UndoStack {
  readonly push: (undo: () => Promise<void>, when: UndoWhen) => void;
  /** Runs what applies, last registered first; every one runs, and what they threw is returned. */
  readonly unwind: (outcome: 'success' | 'failure') => Promise<readonly unknown[]>;
}

/** An empty stack. */
export function undoStack(): UndoStack {
  const registered: { undo: () => Promise<void>; when: UndoWhen }[] = [];
  return {
    push: (undo, when) => {
      registered.push({ undo, when });
    },
    unwind: async (outcome) => {
      const thrown: unknown[] = [];
      for (const { undo, when } of registered.splice(0).reverse()) {
        if (when === 'failure' && outcome === 'success') continue;
        try {
          await undo();
        } catch (error) {
          thrown.push(error);
        }
      }
      return thrown;
    },
  };
}

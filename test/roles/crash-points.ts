/** The state at the time of a journal line. */
export interface Mark {
  readonly isFlushed: boolean;
  /** The number of changes to the world, and of their ends, so far. */
  readonly moves: number;
}

interface CrashPoint {
  /** The index of the last journal line before the crash. */
  readonly crashAfter: number;
  readonly losesUnflushed: boolean;
}

/**
 * The crash points after each line of a run that leave different states: in the length of the
 * journal, and in the changes to the world. Most steps begin with a line that is not flushed, right
 * after the last flushed one: if that line is lost, the next process finds the same state as
 * without it.
 */
export function crashPointsOf(
  marks: readonly Mark[],
  losses: readonly boolean[],
): readonly CrashPoint[] {
  const left = new Map<string, CrashPoint>();
  let flushed = 0;
  for (const [at, { isFlushed, moves }] of marks.entries()) {
    const crashAfter = at + 1;
    if (isFlushed) flushed = crashAfter;
    for (const losesUnflushed of losses) {
      const lines = losesUnflushed ? flushed : crashAfter;
      const key = `${lines} ${moves}`;
      if (!left.has(key)) left.set(key, { crashAfter, losesUnflushed });
    }
  }
  return [...left.values()];
}

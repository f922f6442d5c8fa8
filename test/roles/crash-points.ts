/** What was when a line had been written to the journal. */
export interface Mark {
  readonly isFlushed: boolean;
  /** How often anything had been done to the world, or had ended. */
  readonly moves: number;
}

/** One way to die. */
interface CrashPoint {
  /** The line after which. */
  readonly crashAfter: number;
  readonly losesUnflushed: boolean;
}

/**
 * The ways to die after each line of a run that differ in what they leave: how much of the journal,
 * and how far the world had come. Most steps begin with a line that is not flushed, right after the
 * last one that is: where that line is lost, the next process finds what it found without it.
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

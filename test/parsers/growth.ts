/** Sizes in characters; a time that grows as the text does doubles with each. */
const sizes = [10_000, 20_000, 40_000] as const;

/** A shorter time is too short to be measured, and to harm. */
const negligibleMillis = 100;

/** A text of that size, of one shape at every size. */
export type TextOfSize = (size: number) => string;

/** Milliseconds that work on a text takes. */
type Measure = (work: (text: string) => void, text: string) => number;

/**
 * Why work grows faster than its text; undefined when it does not. Times are the CPU's, of this
 * thread.
 */
export function growthViolation(
  work: (text: string) => void,
  textOf: TextOfSize,
  measure: Measure = cpuMillis,
): string | undefined {
  const quickestOf = (runs: number, text: string): number =>
    Math.min(...Array.from({ length: runs }, () => measure(work, text)));
  // A small text first: a reader that never ends with a large one is slow with it too.
  const atStart = measure(work, textOf(1000));
  if (atStart > 500) return `${Math.round(atStart)} ms for 1000 characters`;
  const large = measure(work, textOf(sizes[2]));
  // One slow run may be a garbage collection; the quickest of three is not.
  for (const runs of [1, 3]) {
    const third = runs === 1 ? large : quickestOf(runs, textOf(sizes[2]));
    if (third < negligibleMillis) return undefined;
    const second = quickestOf(runs, textOf(sizes[1]));
    if (third <= 3 * second) return undefined;
    const first = quickestOf(runs, textOf(sizes[0]));
    if (second <= 3 * first) return undefined;
    if (runs === 3)
      return [first, second, third]
        .map((millis, at) => `${sizes[at]}: ${Math.round(millis)} ms`)
        .join();
  }
  return undefined;
}

function cpuMillis(work: (text: string) => void, text: string): number {
  const before = process.threadCpuUsage();
  try {
    work(text);
  } catch {
    // A text without sense may be refused; how long that takes is what counts.
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

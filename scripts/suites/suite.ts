import type { Output } from './command.ts';

/** How many tests of a suite ended how. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** How a suite ended. */
export interface Outcome extends Counts {
  /** What failed and why, in a line each. */
  readonly failures: readonly string[];
}

/** A part of the tests that can be run by its name. */
export interface Suite {
  readonly name: string;
  /** What it shows, for `--list`. */
  readonly about: string;
  /** Real parts that it runs against; they are got or built before it starts. */
  readonly parts: readonly string[];
  /** Whether it runs the built bundle. */
  readonly needsBundle: boolean;
  /**
   * Suites of one lane run one after the other, the two lanes beside each other; a lane that is
   * through takes over from the end of the other.
   */
  readonly lane: Lane;
  readonly run: (output: Output) => Promise<Outcome>;
}

/** Whole systems take long and wait for nobody; the other lane is whatever starts at once. */
export type Lane = 'programs' | 'systems';

/** Adds up what several suites counted. */
export const sumOf = (counts: readonly Counts[]): Counts =>
  counts.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );

/** The line that a run ends with. */
export const renderCounts = (name: string, { passed, failed, skipped }: Counts): string =>
  `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Whether a suite did what a suite is for: it ran a test, none failed, and none was skipped. */
export const isGreen = ({ passed, failed, skipped }: Counts): boolean =>
  passed > 0 && failed === 0 && skipped === 0;

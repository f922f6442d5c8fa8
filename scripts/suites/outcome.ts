import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

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

/** Adds up what several suites counted. */
export const sumOf = (counts: readonly Counts[]): Counts => ({
  passed: counts.reduce((sum, { passed }) => sum + passed, 0),
  failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  skipped: counts.reduce((sum, { skipped }) => sum + skipped, 0),
});

/** The line that a run ends with. */
export const renderCounts = (name: string, { passed, failed, skipped }: Counts): string =>
  `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Whether a suite ran a test, none failed, and none was skipped. */
export const isGreen = ({ passed, failed, skipped }: Counts): boolean =>
  passed > 0 && failed === 0 && skipped === 0;

/** An outcome with one failure that is no test's. */
export const failedOutcome = (failure: string): Outcome => ({
  passed: 0,
  failed: 1,
  skipped: 0,
  failures: [failure],
});

/** How a run ended, by what vitest left; one that broke, or left nothing, counts as a failure. */
export function endedOutcome(left: Outcome | undefined, exitCode: number): Outcome {
  if (left !== undefined && (exitCode === 0 || left.failed > 0)) return left;
  const { passed, skipped } = left ?? { passed: 0, skipped: 0 };
  const broken = failedOutcome(`vitest ended with exit code ${exitCode}; its output is above`);
  return { ...broken, passed, skipped };
}

/** An error as vitest hands it on. */
interface TestError {
  readonly message: string;
  readonly stack?: string | undefined;
  /** The file of tests beside which it happened. */
  readonly VITEST_TEST_PATH?: unknown;
}

interface WithErrors {
  errors(): readonly TestError[];
}

/** What is read of a file of tests that vitest has run. */
export interface TestFile extends WithErrors {
  readonly relativeModuleId: string;
  readonly children: {
    allSuites(): Iterable<WithErrors>;
    allTests(): Iterable<{
      readonly fullName: string;
      result(): {
        readonly state: string;
        readonly errors?: readonly TestError[] | undefined;
      };
    }>;
  };
}

/**
 * How files of tests have ended, with the errors that belong to none of them, which are named with
 * their stacks.
 */
export function outcomeOf(
  files: readonly TestFile[],
  unhandled: readonly TestError[] = [],
): Outcome {
  const tests = files.flatMap(({ relativeModuleId, children }) =>
    [...children.allTests()].map((test) => {
      return { name: `${relativeModuleId} > ${test.fullName}`, ...test.result() };
    }),
  );
  const failed = tests.filter(({ state }) => state === 'failed');
  const passed = tests.filter(({ state }) => state === 'passed').length;
  const failures = [
    ...failed.map(({ name, errors = [] }) => lineOf(name, errors[0])),
    ...files.flatMap((file) =>
      [file, ...file.children.allSuites()].flatMap((suite) =>
        suite.errors().map((error) => lineOf(file.relativeModuleId, error)),
      ),
    ),
    ...unhandled.map(({ stack, message, VITEST_TEST_PATH: path }) => {
      const where = typeof path === 'string' ? `beside ${path}: ` : '';
      return `${where}${(stack ?? message).split('\n', 6).join('\n')}`;
    }),
  ];
  const skipped = tests.length - passed - failed.length;
  return { passed, failed: failures.length, skipped, failures };
}

/**
 * Its first line; of a property that failed the next two as well, which are the seed and the
 * counterexample.
 */
const lineOf = (
  where: string,
  { message, stack = message }: TestError = { message: '' },
): string => {
  const lines = stack.trim().split('\n', 3);
  const reason = lines.slice(0, lines[1]?.startsWith('{ seed: ') ? 3 : 1).join(' ');
  return [where, reason].filter((text) => text !== '').join(': ');
};

/** Where the reporter below writes, for the process that started vitest. */
export const outcomeFile = 'TEST_OUTCOME_FILE';

/** Reporter of the outcome of a run, as JSON. */
export default class OutcomeReporter implements Reporter {
  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (files, errors) => {
    const file = process.env[outcomeFile];
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcomeOf(files, errors)));
  };
}

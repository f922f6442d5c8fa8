/** How a suite ended. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed and why, in a line each. */
  readonly failures: readonly string[];
}

/** What is read of the report of vitest (`--reporter=json`). */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

/** What a run left that broke before it had a report. */
export const none: VitestReport = { numPassedTests: 0, numTotalTests: 0, testResults: [] };

/** An outcome with one failure that is no test's. */
export const failedOutcome = (failure: string): Outcome => ({
  passed: 0,
  failed: 1,
  skipped: 0,
  failures: [failure],
});

/** How a run of vitest ended; one that broke counts as a failure. */
export function outcomeOf(report: VitestReport, exitCode: number): Outcome {
  const { numPassedTests: passed, numTotalTests: total, testResults } = report;
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) =>
        lineOf(`${name} > ${fullName}`, failureMessages?.[0] ?? ''),
      ),
  );
  const brokenFiles = testResults
    .filter(
      ({ status, assertionResults: tests }) =>
        status === 'failed' && !tests.some((test) => test.status === 'failed'),
    )
    .map(({ name, message }) => lineOf(name, message));
  const failures = [...failed, ...brokenFiles];
  if (failures.length === 0 && exitCode !== 0)
    failures.push(`vitest ended with exit code ${exitCode}; its output is above`);
  const skipped = total - passed - failed.length;
  return { passed, failed: failures.length, skipped, failures };
}

const lineOf = (where: string, message: string): string =>
  `${where}: ${message.split('\n', 1)[0] ?? ''}`;

/** Whether a suite ran a test, none failed, and none was skipped. */
export const isGreen = ({ passed, failed, skipped }: Outcome): boolean =>
  passed > 0 && failed === 0 && skipped === 0;

/** The line that a suite ends with. */
export const countsOf = (name: string, { passed, failed, skipped }: Omit<Outcome, 'failures'>) =>
  `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`;

/** What each suite counted, what failed, a line each, and all suites added up as the last line. */
export function summaryOf(results: ReadonlyMap<string, Outcome>): readonly string[] {
  const sum = (count: 'passed' | 'failed' | 'skipped'): number =>
    [...results.values()].reduce((total, outcome) => total + outcome[count], 0);
  return [
    ...[...results].map(([name, outcome]) => countsOf(name, outcome)),
    ...[...results].flatMap(([name, { passed, failed, skipped, failures }]) => [
      ...failures.map((failure) => `FAIL ${name}: ${failure}`),
      ...(passed + failed === 0 ? [`FAIL ${name} ran no test`] : []),
      ...(skipped > 0 ? [`FAIL ${name} skipped ${skipped} tests`] : []),
    ]),
    countsOf('tests', { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }),
  ];
}

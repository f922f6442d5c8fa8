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

/** What is read here of vitest's JSON report. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  /** The path of the file. */
  readonly name: string;
  readonly status: string;
  /** Why the file could not be run as a whole. */
  readonly message: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/** What is known of a run of vitest beside its report. */
interface VitestRun {
  readonly exitCode: number;
  /** The folder that file names are relative to. */
  readonly root: string;
  /** Errors that belong to no test, each with its stack. */
  readonly unhandled?: readonly string[] | undefined;
}

/** How a run of vitest ended; one that broke, or left no report, counts as a failure. */
export function outcomeOf(
  report: VitestReport | undefined,
  { exitCode, root, unhandled = [] }: VitestRun,
): Outcome {
  const broken = failedOutcome(`vitest ended with exit code ${exitCode}; its output is above`);
  if (report === undefined) return broken;
  const named = [
    ...report.testResults.flatMap((file) => failuresIn(file, root)),
    ...unhandled.map((error) => error.replaceAll(`${root}/`, '')),
  ];
  const hasBroken = report.numFailedTests === 0 && exitCode !== 0;
  const failures = hasBroken && named.length === 0 ? broken.failures : named;
  return {
    passed: report.numPassedTests,
    failed: Math.max(report.numFailedTests, failures.length),
    skipped: report.numPendingTests + report.numTodoTests,
    failures,
  };
}

function failuresIn(
  { name, status, message, assertionResults }: FileReport,
  root: string,
): string[] {
  const file = name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name;
  const tests = assertionResults
    .filter((test) => test.status === 'failed')
    .map(({ fullName, failureMessages = [] }) =>
      lineOf(`${file} > ${fullName}`, failureMessages[0]),
    );
  const isWholeFile = status === 'failed' && (tests.length === 0 || message !== '');
  return isWholeFile ? [...tests, lineOf(file, message)] : tests;
}

const lineOf = (where: string, reason = ''): string => {
  const [first = ''] = reason.trim().split('\n', 1);
  return first === '' ? where : `${where}: ${first}`;
};

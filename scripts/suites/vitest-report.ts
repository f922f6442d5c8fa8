import type { Outcome } from './suite.ts';

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

/**
 * How a run of vitest ended; one that broke, or left no report, counts as a failure.
 * @param root the folder that the names of files are told from
 */
export function outcomeOf(
  report: VitestReport | undefined,
  { exitCode, root }: { readonly exitCode: number; readonly root: string },
): Outcome {
  const broken = [`vitest ended with exit code ${exitCode}; what it said is above`];
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, failures: broken };
  const named = report.testResults.flatMap((file) => failuresIn(file, root));
  const hasBroken = report.numFailedTests === 0 && exitCode !== 0;
  const failures = hasBroken && named.length === 0 ? broken : named;
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

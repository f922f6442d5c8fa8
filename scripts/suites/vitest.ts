import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Output, runCommand } from './command.ts';
import type { Counts } from './suite.ts';

/** The numbers of vitest's JSON report that are read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly success: boolean;
}

/** Runs one vitest project and counts its tests; a run that broke counts as a failure. */
export async function runVitest(project: string, output: Output): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-suite-'));
  const file = join(folder, 'report.json');
  try {
    const code = await runCommand(
      [
        'vitest',
        'run',
        '--project',
        project,
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${file}`,
      ],
      output,
    );
    return countsOf(readReport(file), code);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

function countsOf(report: Report | undefined, exitCode: number): Counts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const failed = report.numFailedTests;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

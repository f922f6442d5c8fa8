import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Output, runCommand } from './command.ts';
import type { Outcome } from './suite.ts';
import { outcomeOf, type VitestReport } from './vitest-report.ts';

/** Runs one vitest project. */
export async function runVitest(project: string, output: Output): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-suite-'));
  const file = join(folder, 'report.json');
  try {
    const exitCode = await runCommand(
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
    return outcomeOf(readReport(file), { exitCode, root: process.cwd() });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}

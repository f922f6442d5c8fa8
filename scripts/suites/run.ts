import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Suite } from './all.ts';
import { failedOutcome, type Outcome, outcomeOf, type VitestReport } from './outcome.ts';
import { unhandledErrorsFile } from './unhandled-errors.ts';

/** Where a command writes to: this terminal, or an open file. */
export type Output = 'inherit' | number;

type Argv = readonly [string, ...string[]];

/** Checks that run no code of the product; each counts as one test. */
const checks: Readonly<Record<string, Argv>> = {
  types: ['tsc', '--noEmit'],
  'lint and fences': ['oxlint'],
  layout: ['prettier', '--check', '--log-level', 'warn', '.'],
  'dead code': ['knip', '--no-progress'],
  'no export of the product for tests alone': [
    ...(['knip', '--no-progress', '--production', '--include', 'exports,types'] as const),
    ...(['--config', 'scripts/lint/product-exports.json'] as const),
  ],
  'the tree speaks of the product alone': ['node', 'scripts/lint/tree.ts'],
  'the measures of the tree': ['node', 'scripts/lint/measures.ts', '--check'],
  'no regular expression that backtracks': ['node', 'test/parsers/regexps.ts'],
  'no retired word': ['node', 'scripts/lint/words.ts', '--check'],
};

/** Runs a command; resolves with its exit code, 128 for a signal. */
export function runCommand(
  [program, ...args]: Argv,
  output: Output = 'inherit',
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve(code ?? (signal === null ? 1 : 128));
    });
  });
}

/** Builds the parts that a suite needs and runs it. */
export async function runSuite(
  { name, parts = [], tests }: Suite,
  output: Output,
): Promise<Outcome> {
  if (parts.length > 0 && (await runCommand(['node', 'scripts/parts.ts', ...parts], output)) !== 0)
    return failedOutcome('a part could not be built; its message is above');
  return tests === undefined ? runChecks(output) : runVitest(name, output);
}

/** Runs the static checks beside each other. */
async function runChecks(output: Output): Promise<Outcome> {
  const codes = await Promise.all(
    Object.entries(checks).map(async ([name, argv]) => {
      const code = await runCommand(argv, output);
      const line = `${code === 0 ? 'ok  ' : 'FAIL'} ${name}\n`;
      if (output === 'inherit') process.stdout.write(line);
      else writeSync(output, line);
      return code;
    }),
  );
  const failures = Object.keys(checks).filter((_, index) => codes[index] !== 0);
  return {
    passed: codes.length - failures.length,
    failed: failures.length,
    skipped: 0,
    failures,
  };
}

async function runVitest(project: string, output: Output): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-suite-'));
  const file = join(folder, 'report.json');
  const errorsFile = join(folder, 'unhandled-errors.json');
  const reporters = [
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
    '--reporter=./scripts/suites/unhandled-errors.ts',
  ];
  try {
    const exitCode = await runCommand(
      ['vitest', 'run', '--project', project, ...reporters],
      output,
      { [unhandledErrorsFile]: errorsFile },
    );
    const unhandled = readJson<readonly string[]>(errorsFile);
    return outcomeOf(readJson<VitestReport>(file), { exitCode, root: process.cwd(), unhandled });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

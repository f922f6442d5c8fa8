import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempDisposableSync, readFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Suite } from './all.ts';
import { endedOutcome, failedOutcome, type Outcome, outcomeFile } from './outcome.ts';

/** Where a command writes to: this terminal, nowhere, or an open file. */
export type Output = 'inherit' | 'ignore' | number;

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
  'no regular expression that backtracks': ['node', 'test/parsers/regexps.ts'],
  'no retired word': ['node', 'scripts/lint/words.ts', '--check'],
};

/** Runs a command; resolves with its exit code, 128 for a signal. */
export async function runCommand(
  [program, ...args]: Argv,
  output: Output = 'inherit',
  { cwd, env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<number> {
  const stdio = ['ignore', output, output] as const;
  const child = spawn(program, args, { cwd, stdio: [...stdio], env: { ...process.env, ...env } });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 128;
}

/** Builds the parts that a suite needs and runs it. */
export async function runSuite(
  { name, parts = [], tests }: Suite,
  output: Output,
): Promise<Outcome> {
  if (parts.length > 0 && (await runCommand(['node', 'scripts/parts.ts', ...parts], output)) !== 0)
    return failedOutcome('a part could not be built; its message is above');
  return tests === undefined
    ? runChecks(output)
    : runVitest(['run', '--project', name, '--reporter=default'], output);
}

/** Runs the static checks beside each other. */
async function runChecks(output: Output): Promise<Outcome> {
  const codes = await Promise.all(
    Object.entries(checks).map(async ([name, argv]) => {
      const code = await runCommand(argv, output);
      const line = `${code === 0 ? 'ok  ' : 'FAIL'} ${name}\n`;
      if (output === 'inherit') process.stdout.write(line);
      else if (output !== 'ignore') writeSync(output, line);
      return code;
    }),
  );
  const failures = Object.keys(checks).filter((_, index) => codes[index] !== 0);
  const failed = failures.length;
  return { passed: codes.length - failed, failed, skipped: 0, failures };
}

/** How vitest is run beside its arguments. */
interface VitestRun {
  readonly cwd?: string;
  /** When it is killed. */
  readonly limitSeconds?: number;
}

const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');

/** Runs vitest to its end. */
export async function runVitest(
  words: readonly string[],
  output: Output,
  { limitSeconds, ...where }: VitestRun = {},
): Promise<Outcome> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-suite-'));
  const file = join(folder.path, 'outcome.json');
  const reporter = `--reporter=${join(import.meta.dirname, 'outcome.ts')}`;
  const limit = ['timeout', '--signal=KILL', `${limitSeconds ?? 0}`] as const;
  const argv: Argv = [...limit, process.execPath, vitest, ...words, reporter];
  const exitCode = await runCommand(argv, output, { ...where, env: { [outcomeFile]: file } });
  const left = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Outcome) : undefined;
  return endedOutcome(left, exitCode);
}

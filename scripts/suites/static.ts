import { type Output, runCommand, write } from './command.ts';
import { checkLayout } from './layout.ts';
import type { Outcome } from './suite.ts';
import { checkTypes } from './types.ts';

interface Check {
  readonly name: string;
  /** Resolves with an exit code. */
  readonly run: (output: Output) => Promise<number>;
}

const command =
  (...argv: [string, ...string[]]): Check['run'] =>
  (output) =>
    runCommand(argv, output);

/** Checks that run no code of ours; each counts as one test. */
const checks: readonly Check[] = [
  { name: 'types', run: checkTypes },
  { name: 'lint and fences', run: command('node', 'scripts/suites/lint/main.ts') },
  { name: 'layout', run: checkLayout },
  { name: 'dead code', run: command('knip', '--no-progress') },
  {
    name: 'the tree speaks of the product alone',
    run: command('node', 'scripts/suites/tree.ts'),
  },
];

/** Runs the static checks beside each other. */
export async function runStaticChecks(output: Output): Promise<Outcome> {
  const verdicts = await Promise.all(checks.map((check) => runCheck(check, output)));
  const failures = checks.filter((_, index) => verdicts[index] !== true).map(({ name }) => name);
  return {
    passed: checks.length - failures.length,
    failed: failures.length,
    skipped: 0,
    failures,
  };
}

async function runCheck({ name, run }: Check, output: Output): Promise<boolean> {
  const isGreen = (await run(output)) === 0;
  write(output, `${isGreen ? 'ok  ' : 'FAIL'} ${name}\n`);
  return isGreen;
}

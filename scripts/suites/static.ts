import { type Output, runCommand, write } from './command.ts';
import type { Counts } from './suite.ts';

interface Check {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
}

/** Checks that run no code of ours; each counts as one test. */
const checks: readonly Check[] = [
  { name: 'types', argv: ['tsc', '--noEmit'] },
  { name: 'lint and fences', argv: ['eslint', '.'] },
  { name: 'layout', argv: ['prettier', '--check', '--log-level', 'warn', '.'] },
  { name: 'dead code', argv: ['knip', '--no-progress'] },
  { name: 'the tree speaks of the product alone', argv: ['node', 'scripts/suites/tree.ts'] },
];

/** Runs the static checks beside each other. */
export async function runStaticChecks(output: Output): Promise<Counts> {
  const verdicts = await Promise.all(checks.map((check) => runCheck(check, output)));
  const passed = verdicts.filter((isGreen) => isGreen).length;
  return { passed, failed: verdicts.length - passed, skipped: 0 };
}

async function runCheck({ name, argv }: Check, output: Output): Promise<boolean> {
  const isGreen = (await runCommand(argv, output)) === 0;
  write(output, `${isGreen ? 'ok  ' : 'FAIL'} ${name}\n`);
  return isGreen;
}

import { runCommand } from './command.ts';
import type { Counts } from './suite.ts';

/** Checks that run no code of ours; each counts as one test. */
const checks: readonly { readonly name: string; readonly argv: readonly [string, ...string[]] }[] =
  [
    { name: 'types', argv: ['tsc', '--noEmit'] },
    { name: 'lint and fences', argv: ['eslint', '.'] },
    { name: 'layout', argv: ['prettier', '--check', '--log-level', 'warn', '.'] },
    { name: 'dead code', argv: ['knip', '--no-progress'] },
    { name: 'the tree speaks of the product alone', argv: ['node', 'scripts/suites/tree.ts'] },
  ];

/** Runs the static checks one after the other. */
export async function runStaticChecks(): Promise<Counts> {
  let passed = 0;
  let failed = 0;
  for (const { name, argv } of checks) {
    const code = await runCommand(argv);
    process.stdout.write(`${code === 0 ? 'ok  ' : 'FAIL'} ${name}\n`);
    if (code === 0) passed += 1;
    else failed += 1;
  }
  return { passed, failed, skipped: 0 };
}

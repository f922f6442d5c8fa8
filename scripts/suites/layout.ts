import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../parts/cache.ts';
import { type Output, runCommand } from './command.ts';

/** Which files were well laid out, by their content, the options and the version of prettier. */
const remembered = join(cacheFolder(), '..', 'layout.json');

/**
 * Checks the layout of every file that has changed since it was last found good; resolves with
 * prettier's exit code. What is remembered speaks of each file alone, so it stays true. The same
 * would not hold of the linter, whose rules look at the types of other files.
 */
export async function checkLayout(output: Output): Promise<number> {
  // Written by one run alone and renamed when it is whole: prettier fails with a torn one.
  const own = `${remembered}.${process.pid}`;
  mkdirSync(dirname(own), { recursive: true });
  if (existsSync(remembered)) copyFileSync(remembered, own);
  const cache = ['--cache', '--cache-strategy=content', `--cache-location=${own}`];
  const code = await runCommand(
    ['prettier', '--check', '--log-level', 'warn', ...cache, '.'],
    output,
  );
  if (existsSync(own)) renameSync(own, remembered);
  return code;
}

// Puts one fault after the other into a copy of the tree, and says which of them no test notices:
// node scripts/mutants.ts [FILTER], a part of a path or of what a mutant means.
import { cpSync, mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { allMutants } from '../test/mutants/all.ts';
import type { Mutant } from '../test/mutants/mutant.ts';
import { runVitest } from './suites/run.ts';

const root = resolve(import.meta.dirname, '..');

/** Tests that hang are noticed too: those of one mutant may take so many times what all took without one. */
const slower = 4;

/** Left out of the copy. */
const apart = new Set(['.git', 'node_modules', 'dist', 'coverage']);

/**
 * The text of a file with its fault.
 * @throws Error when what the mutant changes is not there exactly once
 */
export function mutate(text: string, { from, to, means }: Mutant): string {
  const parts = text.split(from);
  if (parts.length !== 2) {
    throw new Error(`${means}: its text is in the file ${parts.length - 1} times: ${from}`);
  }
  return parts.join(to);
}

/**
 * Runs the unit and the contract tests that import one of the files; tests of `scripts` read how the sources look. Gives what failed
 * first; undefined where nothing did.
 * @throws Error where no test ran
 */
async function firstFailure(
  cwd: string,
  files: readonly string[],
  limitSeconds = 3600,
): Promise<string | undefined> {
  const words = ['related', ...files, '--run', '--project', 'unit', '--project', 'contract'];
  const how = ['--exclude', 'scripts/**', '--bail', '1', '--maxWorkers', '1'];
  const { passed, failures } = await runVitest([...words, ...how], 'ignore', { cwd, limitSeconds });
  if (passed === 0 && failures.length === 0) throw new Error('no test ran');
  return failures[0];
}

async function main(filter: string): Promise<number> {
  const chosen = Object.entries(allMutants).flatMap(([file, mutants]) =>
    mutants
      .filter(({ means }) => `${file} ${means}`.includes(filter))
      .map((mutant) => ({ file, mutant })),
  );
  setPriority(15);
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-mutants-'));
  const copy = folder.path;
  cpSync(root, copy, { recursive: true, filter: (path) => !apart.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const began = performance.now();
  const clean = await firstFailure(copy, [...new Set(chosen.map(({ file }) => file))]);
  const limit = Math.ceil(60 + (slower * (performance.now() - began)) / 1000);
  if (clean !== undefined) throw new Error(`the tests fail without a mutant: ${clean}`);
  let killed = 0;
  for (const { file, mutant } of chosen) {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, mutate(text, mutant));
    const failure = await firstFailure(copy, [file], limit);
    writeFileSync(path, text);
    if (failure !== undefined) killed += 1;
    console.log(
      failure === undefined
        ? `SURVIVED  ${file}: ${mutant.means}`
        : `killed    ${file}: ${mutant.means} (${failure})`,
    );
  }
  console.log(`${killed} of ${chosen.length} mutants killed`);
  return killed === chosen.length ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main(process.argv[2] ?? '');

// Puts one fault after the other into a copy of the tree, and says which of them no test notices:
// node scripts/mutants.ts [FILTER], a part of a path or of what a mutant means.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { allMutants } from '../test/mutants/all.ts';
import type { Mutant } from '../test/mutants/mutant.ts';

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

function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'bootwright-mutants-'));
  cpSync(root, copy, { recursive: true, filter: (path) => !apart.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** What the tests say, or that they did not end. */
interface Verdict {
  readonly isNoticed: boolean;
  /** The first test that failed. */
  readonly by: string;
}

interface JsonReport {
  readonly numTotalTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Runs the unit and the contract tests that import one of the files; tests of `scripts` read how the sources look. */
async function test(copy: string, files: readonly string[], seconds = 3600): Promise<Verdict> {
  const output = join(copy, 'mutant.json');
  rmSync(output, { force: true });
  const words = ['related', ...files, '--run', '--project', 'unit', '--project', 'contract'];
  const how = [
    '--exclude',
    'scripts/**',
    '--bail',
    '1',
    '--maxWorkers',
    '1',
    '--reporter',
    'json',
    '--outputFile',
    output,
  ];
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, ...words, ...how], {
    cwd: copy,
    stdio: 'ignore',
    detached: true,
  });
  const limit = { isOver: false };
  const late = setTimeout(() => {
    limit.isOver = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, seconds * 1000);
  await new Promise((ended) => child.once('close', ended));
  clearTimeout(late);
  return limit.isOver ? { isNoticed: true, by: 'the time limit' } : verdictOf(output);
}

/** @throws Error where no test ran */
function verdictOf(output: string): Verdict {
  const report = JSON.parse(readFileSync(output, 'utf8')) as JsonReport;
  // A role that breaks a rule fails each file that imports it, before a test.
  if (report.numTotalTests === 0 && report.success) throw new Error('no test ran');
  const failed = report.testResults.flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed');
    if (tests.length > 0) return tests.map(({ fullName }) => fullName);
    return message === '' ? [] : [name];
  });
  return { isNoticed: !report.success, by: failed[0] ?? 'an error outside of the tests' };
}

async function main(filter: string): Promise<number> {
  const chosen = Object.entries(allMutants).flatMap(([file, mutants]) =>
    mutants
      .filter(({ means }) => `${file} ${means}`.includes(filter))
      .map((mutant) => ({ file, mutant })),
  );
  setPriority(15);
  const copy = copyOfTree();
  try {
    const began = performance.now();
    const clean = await test(copy, [...new Set(chosen.map(({ file }) => file))]);
    const limit = 60 + (slower * (performance.now() - began)) / 1000;
    if (clean.isNoticed) throw new Error(`the tests fail without a mutant: ${clean.by}`);
    let killed = 0;
    for (const { file, mutant } of chosen) {
      const path = join(copy, file);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, mutate(text, mutant));
      const { isNoticed, by } = await test(copy, [file], limit);
      writeFileSync(path, text);
      if (isNoticed) killed += 1;
      const words = isNoticed
        ? `killed    ${file}: ${mutant.means} (${by})`
        : `SURVIVED  ${file}: ${mutant.means}`;
      console.log(words);
    }
    console.log(`${killed} of ${chosen.length} mutants killed`);
    return killed === chosen.length ? 0 : 1;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

if (import.meta.main) process.exitCode = await main(process.argv[2] ?? '');

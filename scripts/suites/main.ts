import { closeSync, mkdtempDisposableSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputStream } from '../../src/cli/messages.ts';
import { renderDuration } from '../../src/model/duration.ts';
import { allSuites, type Suite } from './all.ts';
import { isGreen, type Outcome, renderCounts, sumOf } from './outcome.ts';
import { type Output, runCommand, runSuite } from './run.ts';

/** Runs suites and adds them up; see docs/testing.md. */
async function main(names: readonly string[]): Promise<number> {
  if (names.includes('--list')) {
    for (const { name, about } of allSuites) print(`${name.padEnd(10)} ${about}`);
    return 0;
  }
  const known = allSuites.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    print(`no suite ${unknown.join(', ')}; there are: ${known.join(', ')}`);
    return 2;
  }
  const chosen = allSuites.filter(({ name, isByNameOnly = false }) =>
    names.length === 0 ? !isByNameOnly : names.includes(name),
  );
  const needsBundle = chosen.some((suite) => suite.needsBundle);
  if (needsBundle && (await runCommand(['node', 'scripts/build.ts'])) !== 0) {
    print('FAIL the program could not be built; the message is above');
    print(renderCounts('tests', { passed: 0, failed: 1, skipped: 0 }));
    return 1;
  }
  return conclude(await runAll(chosen));
}

interface Result {
  readonly suite: Suite;
  readonly outcome: Outcome;
}

/**
 * How many suites run at once: guests are work for one processor, and most others wait for half of
 * their time.
 */
const atOnce = 3;

/** Runs the suites in their order, beside each other where guests are among them. */
async function runAll(suites: readonly Suite[]): Promise<readonly Result[]> {
  const waiting = [...suites];
  const results: Result[] = [];
  const isBeside = suites.length > 1 && suites.some(({ name }) => name === 'guest');
  const work = async (): Promise<void> => {
    for (let suite = waiting.shift(); suite !== undefined; suite = waiting.shift()) {
      results.push({ suite, outcome: await (isBeside ? runHidden(suite) : runShown(suite)) });
    }
  };
  await Promise.all(Array.from({ length: isBeside ? atOnce : 1 }, work));
  return results.toSorted((one, other) => suites.indexOf(one.suite) - suites.indexOf(other.suite));
}

async function runShown(suite: Suite): Promise<Outcome> {
  print(`\n== ${suite.name}: ${suite.about}`);
  return timed(suite, 'inherit');
}

/** Suites that run at once would mix their output: it is shown when a suite has ended. */
async function runHidden(suite: Suite): Promise<Outcome> {
  print(`-- ${suite.name} begins`);
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-output-'));
  const file = join(folder.path, 'output.txt');
  const output = openSync(file, 'w');
  try {
    return await timed(suite, output, () => {
      print(`\n== ${suite.name}: ${suite.about}\n${readFileSync(file, 'utf8')}`);
    });
  } finally {
    closeSync(output);
  }
}

async function timed(suite: Suite, output: Output, show?: () => void): Promise<Outcome> {
  const since = Date.now();
  const outcome = await runSuite(suite, output);
  show?.();
  print(`${renderCounts(suite.name, outcome)} in ${renderDuration(Date.now() - since)}`);
  return outcome;
}

function conclude(results: readonly Result[]): number {
  print('');
  for (const { suite, outcome } of results) print(renderCounts(suite.name, outcome));
  for (const { suite, outcome } of results) {
    for (const failure of outcome.failures) print(`FAIL ${suite.name}: ${failure}`);
    if (outcome.passed + outcome.failed === 0) print(`FAIL ${suite.name} ran no test`);
    if (outcome.skipped > 0) print(`FAIL ${suite.name} skipped ${outcome.skipped} tests`);
  }
  print(renderCounts('tests', sumOf(results.map(({ outcome }) => outcome))));
  return results.every(({ outcome }) => isGreen(outcome)) ? 0 : 1;
}

const print = (line: string): void => {
  outputStream('stdout').write(`${line}\n`);
};

const exitCode = await main(process.argv.slice(2));
// Output that could not be written has set its own.
process.exitCode ??= exitCode;

// Runs suites and adds them up; see docs/testing.md.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempDisposableSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputStream } from '../../src/cli/messages.ts';
import { renderDuration } from '../../src/model/duration.ts';
import { allSuites, type Suite } from './all.ts';

/** The tests of a suite by how they ended. */
interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Names of failed tests, each with the beginning of the reason. */
  readonly failures: readonly string[];
}

/** The parts of the report of vitest (`--reporter=json`) that are read. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    /** The reason of a file that failed outside of its tests. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** A run that broke before it had a report. */
const none: VitestReport = {
  numPassedTests: 0,
  numFailedTests: 0,
  numTotalTests: 0,
  testResults: [],
};

const broken: Outcome = { passed: 0, failed: 1, skipped: 0, failures: [] };

/** Whether a suite ran a test, none failed, and none was skipped. */
const isGreen = ({ passed, failed, skipped }: Outcome): boolean =>
  passed > 0 && failed === 0 && skipped === 0;

const countsOf = (name: string, { passed, failed, skipped }: Omit<Outcome, 'failures'>): string =>
  `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`;

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

const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');

/**
 * How many suites run at once, of which one with guests counts as two: most others wait half of
 * their time.
 */
const atOnce = 4;

const print = (line: string): void => {
  outputStream('stdout').write(`${line}\n`);
};

/** Runs a command that writes to an open file; resolves with its exit code, 128 for a signal. */
async function run([program, ...args]: Argv, output: number): Promise<number> {
  const child = spawn(program, args, { stdio: ['ignore', output, output] });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 128;
}

/** Runs the static checks beside each other. */
async function runChecks(output: number): Promise<Outcome> {
  const failures: string[] = [];
  await Promise.all(
    Object.entries(checks).map(async ([name, argv]) => {
      const code = await run(argv, output);
      writeSync(output, `${code === 0 ? 'ok  ' : 'FAIL'} ${name}\n`);
      if (code !== 0) failures.push(name);
    }),
  );
  const failed = failures.length;
  return { passed: Object.keys(checks).length - failed, failed, skipped: 0, failures };
}

/** Runs a project of vitest; a run that broke counts as a failure. */
async function runTests(name: string, output: number): Promise<Outcome> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-suite-'));
  const file = join(folder.path, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const argv = [process.execPath, vitest, 'run', '--project', name, ...reporters] as const;
  const exitCode = await run([...argv], output);
  const left = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as VitestReport) : none;
  const { numPassedTests: passed, numFailedTests, numTotalTests: total } = left;
  const failed = Math.max(numFailedTests, exitCode === 0 ? 0 : 1);
  const skipped = total - passed - numFailedTests;
  return { passed, failed, skipped, failures: failuresIn(left) };
}

function failuresIn({ testResults }: VitestReport): readonly string[] {
  return testResults.flatMap(({ name, message, assertionResults }) => [
    ...(message === '' ? [] : [`${name}: ${message}`]),
    ...assertionResults.flatMap(({ fullName, failureMessages = [] }) =>
      failureMessages.map((reason) => `${name}: ${fullName}: ${reason}`),
    ),
  ]);
}

/** The most lines of a reason; the output above has all. */
const shownLines = 25;

/** Builds the parts that a suite needs and runs it. */
async function runSuite({ name, parts = [], tests }: Suite, output: number): Promise<Outcome> {
  if (parts.length > 0 && (await run(['node', 'scripts/parts.ts', ...parts], output)) !== 0)
    return broken;
  return tests === undefined ? runChecks(output) : runTests(name, output);
}

/** Runs a suite; the output of one that runs beside others is shown when it has ended. */
async function runShown(suite: Suite, isBeside: boolean): Promise<Outcome> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'bootwright-output-'));
  const file = join(folder.path, 'output.txt');
  const output = isBeside ? openSync(file, 'w') : process.stdout.fd;
  const since = Date.now();
  const title = `\n== ${suite.name}: ${suite.about}`;
  print(isBeside ? `-- ${suite.name} begins` : title);
  const outcome = await runSuite(suite, output);
  if (isBeside) {
    closeSync(output);
    print(`${title}\n${readFileSync(file, 'utf8')}`);
  }
  print(`${countsOf(suite.name, outcome)} in ${renderDuration(Date.now() - since)}`);
  return outcome;
}

/** Runs the suites in their order, beside each other where guests are among them. */
async function runAll(suites: readonly Suite[]): Promise<ReadonlyMap<string, Outcome>> {
  const waiting = [...suites];
  const ended = new Map<string, Outcome>();
  const running = new Set<Promise<void>>();
  const isBeside = suites.length > 1 && suites.some(({ hasGuests }) => hasGuests);
  let free = isBeside ? atOnce : 1;
  const work = async (suite: Suite, places: number): Promise<void> => {
    free -= places;
    ended.set(suite.name, await runShown(suite, isBeside));
    free += places;
  };
  const placesOf = ({ hasGuests }: Suite): number => (isBeside && hasGuests ? 2 : 1);
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.find((suite) => placesOf(suite) <= free);
    if (next === undefined) await Promise.race(running);
    else {
      waiting.splice(waiting.indexOf(next), 1);
      const run = work(next, placesOf(next)).finally(() => running.delete(run));
      running.add(run);
    }
  }
  return new Map(suites.map(({ name }) => [name, ended.get(name) ?? broken]));
}

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
  if (needsBundle && (await run(['node', 'scripts/build.ts'], process.stdout.fd)) !== 0) {
    print('FAIL the program could not be built; the message is above');
    print(countsOf('tests', broken));
    return 1;
  }
  const results = await runAll(chosen);
  const outcomes = [...results.values()];
  const sum = (count: 'passed' | 'failed' | 'skipped'): number =>
    outcomes.reduce((total, outcome) => total + outcome[count], 0);
  print('');
  for (const [name, outcome] of results) {
    print(`${isGreen(outcome) ? 'ok  ' : 'FAIL'} ${countsOf(name, outcome)}`);
    for (const failure of outcome.failures)
      print(`     ${failure.split('\n').slice(0, shownLines).join('\n     ')}`);
  }
  const all = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  print(countsOf('tests', all));
  return outcomes.every(isGreen) ? 0 : 1;
}

const exitCode = await main(process.argv.slice(2));
// Output that could not be written has set its own.
process.exitCode ??= exitCode;

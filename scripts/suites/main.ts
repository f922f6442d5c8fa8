import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderDuration } from '../../src/model/duration.ts';
import { allSuites } from './all.ts';
import { type Output, runCommand, write } from './command.ts';
import { runLanes } from './lanes.ts';
import { isGreen, type Outcome, renderCounts, type Suite, sumOf } from './suite.ts';

/**
 * Runs suites in two lanes and adds them up. The parts that suites need are built beside those that
 * need none.
 */
async function main(names: readonly string[]): Promise<number> {
  if (names.includes('--list')) {
    for (const { name, about } of allSuites) say(`${name.padEnd(10)} ${about}`);
    return 0;
  }
  const unknown = names.filter((name) => !allSuites.some((suite) => suite.name === name));
  if (unknown.length > 0) {
    say(
      `no suite ${unknown.join(', ')}; there are: ${allSuites.map(({ name }) => name).join(', ')}`,
    );
    return 2;
  }
  const chosen =
    names.length === 0 ? allSuites : allSuites.filter(({ name }) => names.includes(name));
  return runAll(chosen);
}

async function runAll(chosen: readonly Suite[]): Promise<number> {
  if (chosen.some(({ needsBundle }) => needsBundle) && (await runCommand(buildBundle)) !== 0) {
    say(renderCounts('tests', { passed: 0, failed: 1, skipped: 0 }));
    return 1;
  }
  const lanes = [...Map.groupBy(chosen, ({ lane }) => lane).values()];
  const building = buildParts(lanes.map((suites) => suites.flatMap(({ parts }) => parts)));
  const runLane = lanes.length === 1 ? runInSight : runOutOfSight;
  const results = await runLanes(lanes, (suite) => runLane(suite, building));
  return conclude(
    results.toSorted((one, other) => chosen.indexOf(one.suite) - chosen.indexOf(other.suite)),
  );
}

interface Result {
  readonly suite: Suite;
  readonly outcome: Outcome;
}

type Building = ReadonlyMap<string, Promise<boolean>>;

async function runInSight(suite: Suite, building: Building): Promise<Result> {
  const since = Date.now();
  say(`\n== ${suite.name}: ${suite.about}`);
  const outcome = await runOne(suite, building, 'inherit');
  say(`${renderCounts(suite.name, outcome)} in ${renderDuration(Date.now() - since)}`);
  return { suite, outcome };
}

/** Two lanes would talk at once: what a suite says is shown when it has ended. */
async function runOutOfSight(suite: Suite, building: Building): Promise<Result> {
  const since = Date.now();
  say(`-- ${suite.name} begins`);
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-said-'));
  const file = join(folder, 'said.txt');
  const output = openSync(file, 'w');
  try {
    const outcome = await runOne(suite, building, output);
    say(`\n== ${suite.name}: ${suite.about}\n${readFileSync(file, 'utf8')}`);
    say(`${renderCounts(suite.name, outcome)} in ${renderDuration(Date.now() - since)}`);
    return { suite, outcome };
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true });
  }
}

const buildBundle = ['node', 'scripts/build.ts'] as const;

/**
 * Starts getting the parts of each lane in their order, so that no lane waits for what only another one needs; the
 * promise of a part resolves when it is there, or could not be had.
 */
function buildParts(lanes: readonly (readonly string[])[]): Building {
  const building = new Map<string, Promise<boolean>>();
  for (const parts of lanes) {
    let before: Promise<unknown> = Promise.resolve();
    for (const part of parts) {
      const known = building.get(part) ?? before.then(() => getPart(part));
      building.set(part, known);
      before = known;
    }
  }
  return building;
}

const getPart = async (part: string): Promise<boolean> =>
  (await runCommand(['node', 'scripts/parts.ts', part])) === 0;

async function runOne(suite: Suite, building: Building, output: Output): Promise<Outcome> {
  for (const part of suite.parts) {
    if ((await building.get(part)) === true) continue;
    const failure = `part ${part} could not be had; the message is above`;
    write(output, `FAIL ${failure}\n`);
    return { passed: 0, failed: 1, skipped: 0, failures: [failure] };
  }
  return suite.run(output);
}

function conclude(results: readonly Result[]): number {
  const isAllGreen = results.every(({ outcome }) => isGreen(outcome));
  say('');
  for (const { suite, outcome } of results) say(renderCounts(suite.name, outcome));
  for (const { suite, outcome } of results) {
    for (const failure of outcome.failures) say(`FAIL ${suite.name}: ${failure}`);
    if (outcome.passed + outcome.failed === 0) say(`FAIL ${suite.name} ran no test`);
  }
  say(renderCounts('tests', sumOf(results.map(({ outcome }) => outcome))));
  return isAllGreen ? 0 : 1;
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

process.exitCode = await main(process.argv.slice(2));

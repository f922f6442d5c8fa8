import { renderDuration } from '../../src/model/duration.ts';
import { allSuites } from './all.ts';
import { runCommand } from './command.ts';
import { type Counts, isGreen, renderCounts, type Suite, sumOf } from './suite.ts';

/**
 * Runs suites one after the other and adds them up. The parts that later suites need are built
 * beside the quick ones.
 */
async function main(names: readonly string[]): Promise<number> {
  if (names.includes('--list')) {
    for (const { name, about } of allSuites) write(`${name.padEnd(10)} ${about}`);
    return 0;
  }
  const unknown = names.filter((name) => !allSuites.some((suite) => suite.name === name));
  if (unknown.length > 0) {
    write(
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
    write(renderCounts('tests', { passed: 0, failed: 1, skipped: 0 }));
    return 1;
  }
  const parts = [...new Set(chosen.flatMap((suite) => suite.parts))];
  const building = buildParts(parts);
  const results: { readonly suite: Suite; readonly counts: Counts }[] = [];
  for (const suite of chosen) {
    const since = Date.now();
    write(`\n== ${suite.name}: ${suite.about}`);
    const counts = await runOne(suite, building);
    results.push({ suite, counts });
    write(`${renderCounts(suite.name, counts)} in ${renderDuration(Date.now() - since)}`);
  }
  return conclude(results);
}

const buildBundle = ['node', 'scripts/build.ts'] as const;

/** Starts getting every part in order; the promise of a part resolves when it and those before are there. */
function buildParts(parts: readonly string[]): ReadonlyMap<string, Promise<boolean>> {
  const building = new Map<string, Promise<boolean>>();
  let before = Promise.resolve(true);
  for (const part of parts) {
    before = before.then(async () => (await runCommand(['node', 'scripts/parts.ts', part])) === 0);
    building.set(part, before);
  }
  return building;
}

async function runOne(
  suite: Suite,
  building: ReadonlyMap<string, Promise<boolean>>,
): Promise<Counts> {
  for (const part of suite.parts) {
    if ((await building.get(part)) === true) continue;
    write(`FAIL part ${part} could not be had; the message is above`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  return suite.run();
}

function conclude(results: readonly { readonly suite: Suite; readonly counts: Counts }[]): number {
  const isAllGreen = results.every(({ counts }) => isGreen(counts));
  write('');
  for (const { suite, counts } of results) write(renderCounts(suite.name, counts));
  for (const { suite, counts } of results) {
    if (counts.passed + counts.failed === 0) write(`FAIL ${suite.name} ran no test`);
  }
  write(renderCounts('tests', sumOf(results.map(({ counts }) => counts))));
  return isAllGreen ? 0 : 1;
}

const write = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

process.exitCode = await main(process.argv.slice(2));

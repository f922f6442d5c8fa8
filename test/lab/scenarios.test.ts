import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundlePath, ensureBundle } from '../../scripts/bundle.ts';
import type { LabReport } from '../../mocks/lab/report.ts';
import {
  DEFAULT_SCENARIO,
  hasCluster,
  readScenario,
  scenarioNames,
} from '../../mocks/lab/scenario.ts';
import { shownOn } from '../guides/follow-guide.ts';
import { runLab, top } from './run-lab.ts';

const others = await Promise.all(
  (await scenarioNames())
    .filter((name) => name !== DEFAULT_SCENARIO)
    .map(async (name) => ({ name, isCluster: hasCluster(await readScenario(name)) })),
);
const named = (isCluster: boolean): readonly string[] =>
  others.filter((one) => one.isCluster === isCluster).map(({ name }) => name);

/**
 * In turn one that mostly waits and one with an API server of its own, of which two cores run two.
 */
const alternating = named(false).flatMap((name, index, waiting) => {
  const working = named(true);
  const isLast = index === waiting.length - 1;
  return [name, ...working.slice(index, isLast ? undefined : index + 1)];
});

/** Scenarios that a guide runs, with its command. */
const lines: Readonly<Record<string, string>> = {
  airgap: shownOn('docs/guides/air-gapped.md', 'scripts/lab --scenario airgap'),
};

async function expectAsPlanned(
  name: string,
  command = `${process.execPath} scripts/lab.ts --scenario ${name} --agent ${bundlePath}`,
): Promise<LabReport> {
  const { exitCode, output, report: seen } = await runLab(command);
  const { expect: planned, faults, dayAfter } = await readScenario(name);
  expect(seen.differences, output).toEqual([]);
  expect(seen.outcome).toBe(planned.outcome);
  expect(seen.dayAfter === undefined, 'it had the day after').toBe(dayAfter === undefined);
  const hasFaults = faults.inventory.length + faults.objects.length > 0;
  expect(seen.faults > 0, 'a fault of a server has struck').toBe(hasFaults);
  expect(exitCode).toBe(0);
  return seen;
}

describe('the lab', () => {
  // Runs that start together would each build the same bundle.
  beforeAll(async () => {
    await ensureBundle(() => undefined);
  });

  it.concurrent(
    'runs the default with the command of the README, and each host boots once',
    async () => {
      const command = shownOn('README.md', 'scripts/lab --page');
      const { hosts, layering } = await expectAsPlanned(DEFAULT_SCENARIO, command);
      expect(layering?.images.map(({ pool }) => pool)).toEqual(['master', 'worker']);
      expect(hosts.map(({ boots }) => boots)).toEqual([1, 1, 1, 1, 1]);
    },
  );

  it.concurrent.each(alternating)('runs %s as expected', async (name) => {
    await expectAsPlanned(name, lines[name]);
  });

  it('lists the scenarios for an unknown name', async () => {
    const child = spawn(process.execPath, ['scripts/lab.ts', '--scenario', 'nothing'], {
      cwd: top,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = await text(child.stderr);
    expect(said).toContain(DEFAULT_SCENARIO);
    expect(said).not.toContain('at ');
  });
});

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ladders } from '../../src/model/stage.ts';
import { cornerOf } from './corners.ts';
import { install, type Straight } from './processes.ts';
import {
  addedCommands,
  bootstrapCommands,
  type Phase,
  serviceRequests,
  singleNodeCommands,
  stageTexts,
} from './replaced-agent.ts';

const differences = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8');
const isDecided = (row: string): boolean => differences.includes(`\n| ${row}`);

const keptOf = (phase: Phase): readonly string[] =>
  phase.filter((command) => typeof command === 'string');
const droppedOf = (phase: Phase) => phase.filter((command) => typeof command !== 'string');

/** The first word of `wanted` that does not occur after the words before it. */
function outOfOrder(all: readonly string[], wanted: readonly string[]): string | undefined {
  let from = 0;
  return wanted.find((one) => {
    const at = all.indexOf(one, from);
    from = at + 1;
    return at === -1;
  });
}

const ranBy = ({ machine }: Straight): readonly string[] =>
  machine.ran.map(({ argv }) => argv.join(' '));

/** Each stage with the info texts of its steps; the status texts of waits are not included. */
function stagesOf({ life }: Straight, ladder: readonly string[]): readonly string[] {
  const staged = life.events.flatMap((event) => {
    if (event.type === 'lanes.started') {
      return event.staged.map(({ first, ahead }) => ({ stage: first, info: ahead }));
    }
    if (event.type !== 'step.started') return [];
    return [{ stage: event.stage, info: event.stageInfo }];
  });
  const texts = staged
    .toSorted((one, other) => ladder.indexOf(one.stage ?? '') - ladder.indexOf(other.stage ?? ''))
    .flatMap(({ stage, info }) =>
      stage === undefined || info === undefined ? [] : [`${stage}/${info}`],
    );
  return [...new Set(texts)];
}

describe.each([
  ['bootstrap', 'bootstrap', bootstrapCommands],
  ['single node', 'single-node', singleNodeCommands],
] as const)('a %s host, compared with assisted-installer', (kind, ladder, phases) => {
  const commands = Object.values(phases).flat();
  let straight: Straight;
  beforeAll(async () => {
    straight = await install({ config: cornerOf(kind, {}), plan: {} });
  });

  it.each(Object.entries(phases))('%s with the same commands in the same order', (_, phase) => {
    expect(outOfOrder(ranBy(straight), keptOf(phase))).toBeUndefined();
  });

  it('runs no other command except documented ones', () => {
    const known = new Set(keptOf(commands));
    const unnamed = ranBy(straight).filter(
      (argv) => !known.has(argv) && !addedCommands.some((added) => added.argv.test(argv)),
    );
    expect(unnamed).toEqual([]);
  });

  it('runs no dropped command', () => {
    const ran = new Set(ranBy(straight));
    expect(droppedOf(commands).filter(({ argv }) => ran.has(argv))).toEqual([]);
  });

  it('runs each added command', () => {
    const ran = ranBy(straight);
    expect(addedCommands.filter(({ argv }) => !ran.some((one) => argv.test(one)))).toEqual([]);
  });

  it('sends the same requests to the service, except documented differences', () => {
    expect(new Set(straight.inventory.calls)).toEqual(new Set(keptOf(serviceRequests[kind])));
  });

  it('has the same stages with the same texts', () => {
    expect(stagesOf(straight, ladders[ladder])).toEqual(
      stageTexts[kind].map(([stage, info]) => `${stage}/${info}`),
    );
  });
});

describe('each difference from assisted-installer', () => {
  const rows = [
    ...[...Object.values(bootstrapCommands), ...Object.values(singleNodeCommands)],
    ...Object.values(serviceRequests),
  ].flatMap((phase) => droppedOf(phase).map(({ row }) => row));

  it.each([...new Set([...rows, ...addedCommands.map(({ row }) => row)])])(
    'is a row of docs/differences.md: %s',
    (row) => {
      expect(isDecided(row)).toBe(true);
    },
  );
});

describe('a bootstrap host', () => {
  it('reports the stages of the other hosts', async () => {
    const { inventory } = await install({ config: cornerOf('bootstrap', {}), plan: {} });
    expect(
      inventory.reports.map(({ host, stage }) => `${host.hostId} ${stage}`).toSorted(),
    ).toEqual(['1 Joined', '2 Joined']);
  });
});

describe('a single node', () => {
  it('is installed with the Ignition that its control plane has rendered', async () => {
    const { machine } = await install({ config: cornerOf('single node', {}), plan: {} });
    expect(machine.installed?.ignition).toContain('by-bootkube');
  });
});

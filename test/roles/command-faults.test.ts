import { beforeAll, describe, expect, it } from 'vitest';
import type { AgentError } from '../../src/model/failure.ts';
import { type CommandFault, commandFaults, type CommandRow } from '../contract/faults/commands.ts';
import { hostCommands } from '../contract/faults/host-commands.ts';
import { layeringCommands } from '../contract/faults/layering-commands.ts';
import {
  begin,
  end,
  type Kept,
  type Place,
  plannedSteps,
  runCell,
  runProcess,
  warningsOf,
} from './command-cells.ts';
import { commandName } from './command-name.ts';
import { corners } from './corners.ts';
import { type FaultHost, faultHosts } from './fault-hosts.ts';
import type { FaultOf } from './faulty-host.ts';

const placesIn = (where: CommandRow['where'] = {}): readonly Place[] =>
  Object.entries(where).flatMap(([step, commands]) =>
    commands.map((command) => ({ step, command })),
  );
const nameOf = ({ step, command }: Place): string => `${step}: ${command}`;

const rows = [...hostCommands, ...layeringCommands];
const rowOf = new Map(
  rows.flatMap((row) =>
    [...placesIn(row.where), ...placesIn(row.alike)].map((place) => [nameOf(place), row] as const),
  ),
);
/** What must be run here on its own. */
const toRun = new Set(rows.flatMap(({ where }) => placesIn(where).map(nameOf)));
const faults = Object.keys(commandFaults) as CommandFault[];

/** What a host without any fault was the first to run, and what it warned of. */
interface Straight {
  readonly places: readonly Place[];
  readonly warnings: ReadonlySet<string>;
}
const straight = new Map<FaultHost, Straight>();
const seen = new Set<string>();

beforeAll(async () => {
  for (const faultHost of faultHosts) {
    const places: Place[] = [];
    const faultOf: FaultOf = (step, argv) => {
      const place = { step, command: commandName(argv) };
      const name = nameOf(place);
      if (toRun.has(name) && !seen.has(name)) places.push(place);
      seen.add(name);
      return undefined;
    };
    const kept = begin(faultHost);
    const life = await runProcess(faultHost, kept, { faultOf });
    expect((life.error as AgentError | undefined)?.code, faultHost.name).toBe(faultHost.code);
    const warnings = new Set(warningsOf(life).map(({ words }) => words));
    straight.set(faultHost, { places, warnings });
    end(kept);
  }
});

describe('every command', () => {
  it('of every plan, and beside it, is in the table', () => {
    const configs = [
      ...corners.map(({ config }) => config),
      ...faultHosts.map(({ host }) => host.config),
    ];
    const planned = configs.flatMap((config) =>
      plannedSteps(config).flatMap(({ id, commands }) =>
        commands.map((argv) => nameOf({ step: id, command: commandName(argv) })),
      ),
    );
    const missing = [...planned, ...seen].filter((name) => !rowOf.has(name));
    expect([...new Set(missing)]).toEqual([]);
  });

  it('of the table is run here', () => {
    expect([...toRun].filter((name) => !seen.has(name))).toEqual([]);
  });
});

describe.each(faultHosts.map((faultHost) => [faultHost.name, faultHost] as const))(
  '%s',
  (_, faultHost) => {
    it('ends as the table says, within its limits, naming the cause', async () => {
      expect(await violationsOn(faultHost)).toEqual([]);
    });

    it.each(faults)('comes through where nothing depends on it: %s', async (fault) => {
      const kept = begin(faultHost);
      const life = await runProcess(faultHost, kept, {
        faultOf: (step, argv) => {
          const row = rowOf.get(nameOf({ step, command: commandName(argv) }));
          return row?.endings[fault].outcome === 'continues' ? fault : undefined;
        },
      });
      expect((life.error as AgentError | undefined)?.code).toBe(faultHost.code);
      const known = straight.get(faultHost)?.warnings;
      expect(warningsOf(life).filter(({ words }) => known?.has(words) !== true)).toEqual([]);
      end(kept);
    });
  },
);

/** Runs the cells of a host one by one; what it did that the table does not say. */
async function violationsOn(faultHost: FaultHost): Promise<readonly string[]> {
  const { places = [], warnings: known = new Set<string>() } = straight.get(faultHost) ?? {};
  const violations: string[] = [];
  let kept: Kept | undefined;
  for (const cell of places.flatMap((place) => cellsOf(place))) {
    const isFirst = kept === undefined;
    let ran = await runCell(faultHost, (kept ??= begin(faultHost)), { cell, known });
    // What failed is begun again by the next process, which may be past the command.
    if (!isFirst && !ran.isMet) {
      end(kept);
      kept = begin(faultHost);
      ran = await runCell(faultHost, kept, { cell, known });
    }
    const { violation } = ran;
    if (violation !== undefined) {
      violations.push(`${nameOf(cell.place)}: ${cell.fault}: ${violation}`);
    }
    if (!ran.isOver && faultHost.chains === true) continue;
    end(kept);
    kept = undefined;
  }
  if (kept !== undefined) end(kept);
  return violations;
}

/** The faults of a command that something depends on. */
const cellsOf = (place: Place) =>
  faults.flatMap((fault) => {
    const ending = rowOf.get(nameOf(place))?.endings[fault];
    return ending === undefined || ending.outcome === 'continues' ? [] : [{ place, fault, ending }];
  });

import {
  type CommandEnding,
  type CommandFault,
  commandFaults,
  type CommandRow,
} from '../../test/contract/faults/commands.ts';
import { hostCommands } from '../../test/contract/faults/host-commands.ts';
import { layeringCommands } from '../../test/contract/faults/layering-commands.ts';
import { allNodeCommands } from '../../test/contract/faults/node-commands.ts';
import { codeCell, table } from './markdown.ts';

const rows: readonly CommandRow[] = [...hostCommands, ...layeringCommands, ...allNodeCommands];
const faults = Object.keys(commandFaults) as CommandFault[];

/** Every code that the table of commands names. */
export const commandCodes = (): readonly string[] =>
  rows.flatMap(({ endings }) => Object.values(endings).flatMap(({ code }) => code ?? []));

/** The section about every command of every step, with its faults. */
export const commandSection = (): readonly string[] => [
  '## Commands on the host',
  '',
  'What becomes of an installation when a command of a step has a fault, from its first try to its last. The tests',
  'run each on a simulated host whose clock is simulated too: a step ends within the limit that its plan shows.',
  'The steps in `os` are those of `bootwright node`, on a node with rpm-ostree. A code of `node-agent` degrades its node until the fault is gone.',
  '',
  'A code is what the installation ends with, and a number how often the step was tried. A warning lets it continue.',
  'Each names the program, or what it printed. Where an installation just continues, nothing depends on the command,',
  'or what it should have done is looked at later.',
  '',
  ...table(
    ['Fault', 'What happens'],
    faults.map((fault) => [fault, commandFaults[fault]]),
  ),
  '',
  ...areas().flatMap(([area, lines]) => [
    `### \`${area}\``,
    '',
    ...table(['Step', 'Commands', ...faults], lines),
    '',
  ]),
];

/** A line for the commands of a step that end alike. */
interface Line {
  readonly step: string;
  readonly commands: readonly string[];
  readonly cells: readonly string[];
}

/** The lines of each area, in the order of their steps. */
function areas(): readonly (readonly [area: string, lines: readonly (readonly string[])[]])[] {
  const lines = rows.flatMap(({ where, alike = {}, endings }) =>
    [where, alike].flatMap((places) =>
      Object.entries(places).map(([step, commands]): Line => ({
        step,
        commands,
        cells: faults.map((fault) => cellOf(endings[fault])),
      })),
    ),
  );
  const sorted = lines.toSorted(
    (one, other) =>
      one.step.localeCompare(other.step, 'en') ||
      (one.commands[0] ?? '').localeCompare(other.commands[0] ?? '', 'en'),
  );
  const byArea = Map.groupBy(sorted, ({ step }) => step.replace(/\/.*/, ''));
  return [...byArea].map(([area, ofArea]) => [
    area,
    ofArea.map(({ step, commands, cells }) => [
      codeCell(step),
      commands.map(codeCell).join(', '),
      ...cells,
    ]),
  ]);
}

function cellOf({ outcome, code, attempts }: CommandEnding): string {
  if (outcome === 'continues') return 'continues';
  const named = code === undefined ? [] : [codeCell(code)];
  if (outcome === 'warns') return ['warning', ...named].join(' ');
  return [...named, ...(attempts > 1 ? [`×${attempts}`] : [])].join(' ');
}

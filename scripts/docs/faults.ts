import {
  type CommandEnding,
  type CommandFault,
  commandFaults,
  type CommandRow,
} from '../../test/contract/faults/commands.ts';
import { hostCommands } from '../../test/contract/faults/host-commands.ts';
import { layeringCommands } from '../../test/contract/faults/layering-commands.ts';
import { allNodeCommands } from '../../test/contract/faults/node-commands.ts';
import { journalFaults, journalRows } from '../../test/contract/faults/journal.ts';
import {
  type RequestKind,
  type Ending,
  faults,
  requestKinds,
} from '../../test/contract/faults/requests.ts';
import { renderDuration } from '../../src/model/duration.ts';
import { everyFailure } from './errors.ts';
import { codeCell, pageOf, sections, table } from './markdown.ts';

/**
 * The page about every request and every command, and every fault of them.
 * @throws RangeError for a code that no failure has
 */
export async function faultsPage(): Promise<string> {
  const codes = new Set((await everyFailure()).map(({ code }) => code));
  const ofRequests = requestKinds.flatMap(({ endings }) =>
    Object.values(endings).flatMap(({ code }) => code ?? []),
  );
  const unknown = [...ofRequests, ...commandCodes()].find((code) => !codes.has(code));
  if (unknown !== undefined) throw new RangeError(`test/contract/faults: no failure ${unknown}`);
  return pageOf('faults', {
    faults: table(['Fault', 'What happens'], Object.entries(faults)),
    requests: sections(requestKinds.flatMap(section)),
    commandFaults: table(['Fault', 'What happens'], Object.entries(commandFaults)),
    commands: sections(
      areas().flatMap(([area, lines]) => [
        `### \`${area}\``,
        table(['Step', 'Commands', ...kindsOfCommand], lines),
      ]),
    ),
    journalFaults: table(['Fault', 'What happens'], Object.entries(journalFaults)),
    lines: table(
      ['Line', 'Full disk or read-only', 'Done by then', 'The next run'],
      journalRows.map(({ means, outcome, done, next }) => [means, outcomes[outcome], done, next]),
    ),
  });
}

function section({ names, limit, endings }: RequestKind): readonly string[] {
  const rows = Object.keys(faults).map((fault) => {
    const { code, attempts, says, isLeft, note } = endings[fault as keyof typeof faults];
    const well = isLeft === true ? 'left' : 'works';
    const outcome = code === undefined ? well : codeCell(code);
    return [fault, outcome, timesOf(attempts), says ?? '', note ?? ''];
  });
  const title = names.join(', ');
  return [
    `### ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    limit === undefined
      ? 'Followed until whoever waits stops it. A code is what the view shows meanwhile.'
      : `Limit of a call with its retries: ${renderDuration(limit)}.`,
    table(['Fault', 'Outcome', 'Attempts', 'The message says', 'Note'], rows),
  ];
}

const timesOf = (attempts: Ending['attempts']): string => {
  if (attempts === 'limit') return 'until the limit';
  return attempts === 'on' ? 'continues' : String(attempts);
};

const commandRows: readonly CommandRow[] = [
  ...hostCommands,
  ...layeringCommands,
  ...allNodeCommands,
];
const kindsOfCommand = Object.keys(commandFaults) as CommandFault[];

/** Every code that the table of commands names. */
const commandCodes = (): readonly string[] =>
  commandRows.flatMap(({ endings }) => Object.values(endings).flatMap(({ code }) => code ?? []));

/** A line for the commands of a step that end alike. */
interface Line {
  readonly step: string;
  readonly commands: readonly string[];
  readonly cells: readonly string[];
}

/** The lines of each area, in the order of their steps. */
function areas(): readonly (readonly [area: string, lines: readonly (readonly string[])[]])[] {
  const lines = commandRows.flatMap(({ where, alike = {}, endings }) =>
    [where, alike].flatMap((places) =>
      Object.entries(places).map(([step, commands]): Line => ({
        step,
        commands,
        cells: kindsOfCommand.map((fault) => cellOf(endings[fault])),
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

const outcomes = {
  ends: 'the run ends with `journal.not-kept`',
  warns: 'the run ends as it would, with a warning',
  continues: 'the run continues until the next line that it needs',
} as const;

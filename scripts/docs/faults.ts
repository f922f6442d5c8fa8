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
import { requireCodes } from './errors.ts';
import { codeCell, pageOf, sections, table } from './markdown.ts';

/**
 * The page about every request and every command, and every fault of them.
 * @throws RangeError for a code that no failure has
 */
export async function faultsPage(): Promise<string> {
  const rows = [...requestKinds, ...commandRows];
  const codes = rows.flatMap(({ endings }) =>
    Object.values<{ code?: string }>(endings).flatMap(({ code }) => code ?? []),
  );
  await requireCodes(codes, 'test/contract/faults');
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

/** The lines of each area, in the order of their steps: one for the commands of a step that end alike. */
function areas(): readonly (readonly [area: string, lines: readonly (readonly string[])[]])[] {
  const lines = commandRows.flatMap(({ where, alike = {}, endings }) =>
    [where, alike].flatMap((places) =>
      Object.entries(places).map(([step, commands]) => ({ step, commands, endings })),
    ),
  );
  const sorted = lines.toSorted(
    (one, other) =>
      one.step.localeCompare(other.step, 'en') ||
      (one.commands[0] ?? '').localeCompare(other.commands[0] ?? '', 'en'),
  );
  return [...Map.groupBy(sorted, ({ step }) => step.replace(/\/.*/, ''))].map(([area, ofArea]) => [
    area,
    ofArea.map(({ step, commands, endings }) => [
      codeCell(step),
      commands.map(codeCell).join(', '),
      ...kindsOfCommand.map((fault) => cellOf(endings[fault])),
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

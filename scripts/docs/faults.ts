import {
  type RequestKind,
  type Ending,
  faults,
  requestKinds,
} from '../../test/contract/faults/requests.ts';
import { renderDuration } from '../../src/model/duration.ts';
import { commandCodes, commandSection } from './command-faults.ts';
import { everyFailure } from './errors.ts';
import { journalSection } from './journal-faults.ts';
import { codeCell, table } from './markdown.ts';

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
  return [
    ...intro,
    ...table(
      ['Fault', 'What happens'],
      Object.entries(faults).map(([fault, what]) => [fault, what]),
    ),
    '',
    ...requestKinds.flatMap(section),
    ...commandSection(),
    ...journalSection(),
  ].join('\n');
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
    '',
    limit === undefined
      ? 'Followed until whoever waits stops it. A code is what the view shows meanwhile.'
      : `Limit of a call with its retries: ${renderDuration(limit)}.`,
    '',
    ...table(['Fault', 'Outcome', 'Attempts', 'The message says', 'Note'], rows),
    '',
  ];
}

const timesOf = (attempts: Ending['attempts']): string => {
  if (attempts === 'limit') return 'until the limit';
  return attempts === 'on' ? 'continues' : String(attempts);
};

const intro: readonly string[] = [
  '# Faults',
  '',
  'This page is written by `npm run docs` from the tables that the tests run. It says how each request, each',
  'command and each write of the journal ends when it has a fault.',
  '',
  '## Requests',
  '',
  'How each request ends when its server, or the way to it, has a fault from its first attempt to its last. The',
  'contract tests run the table over the wire.',
  '',
  'The interface of the inventory service is version 2. [errors.md](errors.md) has a hint for each code.',
  'A step that polls, and the reporter of the run, send again what failed here as passing.',
  '',
];

import {
  type RequestKind,
  type Ending,
  faults,
  requestKinds,
} from '../../test/contract/faults/requests.ts';
import { renderDuration } from '../../src/model/duration.ts';
import { everyFailure } from './errors.ts';
import { codeCell, table } from './markdown.ts';

/**
 * The page about every request and every fault.
 * @throws RangeError for a code that no failure has
 */
export async function faultsPage(): Promise<string> {
  const codes = new Set((await everyFailure()).map(({ code }) => code));
  const named = requestKinds.flatMap(({ endings }) => Object.values(endings));
  const unknown = named.find(({ code }) => code !== undefined && !codes.has(code));
  if (unknown !== undefined) {
    throw new RangeError(`test/contract/faults/requests.ts: no failure ${String(unknown.code)}`);
  }
  return [
    ...intro,
    ...table(
      ['Fault', 'What happens'],
      Object.entries(faults).map(([fault, what]) => [fault, what]),
    ),
    '',
    ...requestKinds.flatMap(section),
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
    `## ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
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
  return attempts === 'on' ? 'goes on' : String(attempts);
};

const intro: readonly string[] = [
  '# Faults',
  '',
  'This page is written by `npm run docs` from the table that the contract tests run over the wire. It says how',
  'each request ends when its server, or the way to it, has a fault from its first attempt to its last.',
  '',
  'The interface of the inventory service is version 2. [errors.md](errors.md) has a hint for each code.',
  'A step that polls, and the reporter of the run, send again what failed here as passing.',
  '',
];

import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  exitCodes,
  type FailureKind,
  type FailureRow,
  type FailureTable,
} from '../../src/model/failure.ts';
import { codeCell, pageOf, table } from './markdown.ts';

const root = resolve(import.meta.dirname, '../..');

/** A row with its code. */
export interface CodedRow extends FailureRow {
  readonly code: string;
}

/** How a table of failures is declared. */
const declaration = /^export const \w+Failures = \{/m;

/**
 * Every failure of the program: the tables that the sources export under a name that ends in
 * `Failures`.
 * @throws RangeError when two tables have the same code
 */
export async function everyFailure(): Promise<readonly CodedRow[]> {
  const files = globSync('src/**/*.ts', { cwd: root })
    .map((file) => resolve(root, file))
    .filter((file) => declaration.test(readFileSync(file, 'utf8')));
  const modules = await Promise.all(files.map((file) => import(file) as Promise<object>));
  const rows = modules
    .flatMap((exports) => Object.entries(exports) as [string, FailureTable][])
    .filter(([name]) => name.endsWith('Failures'))
    .flatMap(([, table]) => Object.entries(table).map(([code, row]) => ({ code, ...row })))
    .sort((one, other) => (one.code < other.code ? -1 : 1));
  const twice = rows.find(({ code }, index) => code === rows[index + 1]?.code);
  if (twice !== undefined) throw new RangeError(`${twice.code} is in two tables`);
  return rows;
}

const whoActs: Readonly<Record<FailureKind, string>> = {
  bug: 'something that the program does not know, or a stop from outside: report it, or run the same line again',
  input: 'flags, files or what the service sent are wrong: fix them',
  unsupported: 'this build cannot do it',
  host: 'the machine needs repair: disk, firmware, a missing tool',
  remote: 'a service, a registry or a store could not be reached or refused: try again later',
  media: 'bytes could not be read, written or verified',
  limit: 'something took longer than it may; the message says what was seen last',
  cluster: 'the cluster cannot become good by waiting: look at it',
};

/** The page about every failure. */
export async function errorsPage(): Promise<string> {
  const failures = await everyFailure();
  const kinds = Object.entries(exitCodes).sort(([, one], [, other]) => one - other);
  return pageOf('errors', {
    exitCodes: table(
      ['Code', 'Kind', 'Who acts'],
      [
        ['0', '', 'nobody: the host is installed, or what was asked for is printed'],
        ...kinds.map(([kind, code]) => [String(code), kind, whoActs[kind as FailureKind]]),
      ],
    ),
    codes: table(
      ['Code', 'Kind', 'Exit', 'What it means', 'What to do'],
      failures.map(({ code, kind, title, hint }) => [
        // The page of a run links to it.
        `<a id="${code}"></a>${codeCell(code)}`,
        kind,
        String(exitCodes[kind]),
        title,
        hint,
      ]),
    ),
  });
}

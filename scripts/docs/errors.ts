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
    .filter((file) => declaration.test(readFileSync(resolve(root, file), 'utf8')))
    .sort();
  const tables = await Promise.all(files.map(tablesIn));
  const rows = tables
    .flat()
    .flatMap((table) => Object.entries(table).map(([code, row]) => ({ code, ...row })));
  const codes = rows.map(({ code }) => code);
  const twice = codes.find((code, index) => codes.indexOf(code) !== index);
  if (twice !== undefined) throw new RangeError(`${twice} is in two tables`);
  return rows.sort((one, other) => (one.code < other.code ? -1 : 1));
}

async function tablesIn(file: string): Promise<readonly FailureTable[]> {
  const exports = (await import(resolve(root, file))) as Record<string, unknown>;
  return Object.entries(exports)
    .filter(([name]) => name.endsWith('Failures'))
    .map(([, table]) => table as FailureTable);
}

const whoActs: Readonly<Record<FailureKind, string>> = {
  bug: 'something that the program does not know, or a stop from outside: report it, or run again',
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

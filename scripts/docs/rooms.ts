import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { format } from 'prettier';
import { readSources, sizeOf } from '../lint/measures.ts';
import { codeCell, table } from './markdown.ts';

const page = resolve(import.meta.dirname, '../../docs/architecture.md');
const heads = ['Folder', 'Files', 'Lines', 'Subject'];

/** Folders of the tree that are a room each; what is deeper belongs to them. */
const patterns = ['src/', 'src/*/', 'src/layering/*/', 'src/steps/*/', 'mocks/', 'scripts/'];

/**
 * The page with a table of the rooms of the tree. Subjects are written by hand, in the order of the page; a room that
 * is new is added at the end without one.
 */
export async function architecturePage(): Promise<string> {
  const text = readFileSync(page, 'utf8');
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('| Folder '));
  const height = lines.slice(first).findIndex((line) => !line.startsWith('|'));
  const subjects = new Map(
    lines.slice(first + 2, first + height).map((line) => {
      const cells = line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim());
      return [(cells[0] ?? '').replaceAll('`', ''), cells.at(-1) ?? ''];
    }),
  );
  const sources = readSources();
  const folders = patterns.flatMap((pattern) =>
    globSync(pattern, { cwd: resolve(page, '../..') }).map((path) => path.replace(/\/$/, '')),
  );
  const rooms = folders.filter((folder) => sizeOf(sources, folder).files > 0);
  const known = [...subjects.keys()].filter((folder) => rooms.includes(folder));
  const fresh = rooms.filter((folder) => !known.includes(folder)).sort();
  const rows = [...known, ...fresh].map((folder) => {
    const { files, lines: length } = sizeOf(sources, folder);
    const rounded = Number(length.toPrecision(2)).toLocaleString('en');
    return [codeCell(folder), String(files), rounded, subjects.get(folder) ?? ''];
  });
  lines.splice(first, height, table(heads, rows));
  return format(lines.join('\n'), { parser: 'markdown', printWidth: 100 });
}

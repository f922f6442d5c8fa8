import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { format } from 'prettier';
import { readSources, sizeOf } from '../lint/measures.ts';
import { codeCell, table } from './markdown.ts';

const page = resolve(import.meta.dirname, '../../docs/architecture.md');

/** Folders of the tree that are a room each; what is deeper belongs to them. */
const patterns = ['src/', 'src/*/', 'src/layering/*/', 'src/steps/*/', 'mocks/', 'scripts/'];

/**
 * The page with a table of the rooms of the tree. Subjects are written by hand, in the order of the page; a room that
 * is new is added at the end without one.
 */
export async function architecturePage(): Promise<string> {
  const text = readFileSync(page, 'utf8');
  const [written = ''] = /^\| Folder (?:.*\n\|)*.*/m.exec(text) ?? [];
  const rows = written.matchAll(/^\| `(\S+)` .* \| +(\S.*?) *\|$/gm);
  const subjects = new Map([...rows].map(([, folder = '', subject = '']) => [folder, subject]));
  const sources = readSources();
  const rooms = patterns
    .flatMap((pattern) => globSync(pattern, { cwd: resolve(page, '../..') }))
    .map((path) => path.replace(/\/$/, ''))
    .filter((folder) => sizeOf(sources, folder).files > 0);
  const known = [...subjects.keys()].filter((folder) => rooms.includes(folder));
  const fresh = rooms.filter((folder) => !known.includes(folder)).sort();
  const cells = [...known, ...fresh].map((folder) => {
    const { files, lines } = sizeOf(sources, folder);
    const rounded = Number(lines.toPrecision(2)).toLocaleString('en');
    return [codeCell(folder), String(files), rounded, subjects.get(folder) ?? ''];
  });
  const made = table(['Folder', 'Files', 'Lines', 'Subject'], cells);
  return format(
    text.replace(written, () => made),
    { parser: 'markdown', printWidth: 100 },
  );
}

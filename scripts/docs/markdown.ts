import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A text as code in a cell of a table. */
export const codeCell = (text: string): string => `\`${text}\``;

/** A table; a bar in a cell does not end it. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The sections of a page, each with an empty line behind it but for the last. */
export const sections = (texts: readonly string[]): string => texts.join('\n\n');

/**
 * The page of this name: its prose is in `templates`, where `{{PLACE}}` is what the sources say.
 * @throws RangeError for a place that is given no text
 */
export function pageOf(name: string, places: Readonly<Record<string, string>>): string {
  const template = readFileSync(join(import.meta.dirname, 'templates', `${name}.md`), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, place: string) => {
    const text = places[place];
    if (text === undefined) throw new RangeError(`${name}.md: nothing is written for ${place}`);
    return text;
  });
}

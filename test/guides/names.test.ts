// Codes, settings, steps and quotes of the program that guides name exist.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { everyFailure } from '../../scripts/docs/errors.ts';
import { settingKeys } from '../../src/config/settings.ts';
import { guidesFolder } from './follow-guide.ts';

const read = (path: string): string => readFileSync(path, 'utf8');
const guides = globSync('*.md', { cwd: guidesFolder }).map(
  (name) => [name, read(join(guidesFolder, name))] as const,
);

const names = new Set<string>([...(await everyFailure()).map(({ code }) => code), ...settingKeys]);
const areas = new Set([...names].map((name) => name.replace(/\..*/, '')));
const top = join(import.meta.dirname, '../..');
const sources = globSync('src/**/*.ts', { cwd: top, exclude: ['**/*.test.ts'] })
  .map((path) => read(join(top, path)))
  .join('\n');

const spansOf = (text: string): readonly string[] =>
  [...text.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, span = '']) => span,
  );

/** The first cells of the tables of messages of a host. */
const quotesIn = (guide: string): readonly string[] =>
  [...guide.matchAll(/^\| Message .*\n\|[-| ]+\n((?:\|.*\n)+)/gm)]
    .flatMap(([, rows = '']) => rows.trimEnd().split('\n'))
    .flatMap((row) => spansOf(row.split(' | ')[0] ?? ''));

/**
 * The constant parts of a quote: without numbers, units and text in brackets.
 */
const fixedParts = (quote: string): readonly string[] =>
  quote
    .split(/…|\d+|[\w-]+\.service|[%()]/)
    .map((part) => part.trim())
    .filter((part) => /[a-z]{3}/.test(part));

describe.each(guides)('%s', (_, guide) => {
  it('names only errors and settings that exist', () => {
    const named = spansOf(guide).filter((span) => {
      const [, area = ''] = /^([a-z0-9-]+)\.[A-Za-z0-9-]+$/.exec(span) ?? [];
      return areas.has(area) && !/\.(?:ya?ml|ign|json|log)$/.test(span);
    });
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });

  it('names only steps that exist', () => {
    const folders = new Set(
      globSync('src/steps/*/', { cwd: top }).map((path) => path.split('/')[2]),
    );
    const steps = spansOf(guide).filter((span) => {
      const [, folder] = /^([a-z-]+)\/[a-z-]+$/.exec(span) ?? [];
      return folder !== undefined && folders.has(folder);
    });
    expect(steps.filter((id) => !sources.includes(`id: '${id}'`))).toEqual([]);
  });

  it('quotes only messages of the program', () => {
    const parts = quotesIn(guide).flatMap(fixedParts);
    expect(parts.filter((part) => !names.has(part) && !sources.includes(part))).toEqual([]);
  });
});

describe('the guides', () => {
  it('quote the program', () => {
    expect(guides.flatMap(([, guide]) => quotesIn(guide)).length).toBeGreaterThan(40);
  });
});

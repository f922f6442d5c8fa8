import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingKeys } from '../../src/config/settings.ts';
import { variableOf } from '../../src/config/environment.ts';
import { everyFailure } from './errors.ts';
import { generatedPages } from '../docs.ts';

const root = resolve(import.meta.dirname, '../..');
const pages = await generatedPages();
const failures = await everyFailure();

describe('generated pages', () => {
  it.each(Object.entries(pages))('%s is up to date with `npm run docs`', (path, text) => {
    expect(readFileSync(resolve(root, path), 'utf8')).toBe(text);
  });

  it('document every setting with a meaning and its variable', () => {
    const rows = (pages['docs/configuration.md'] ?? '').split('\n');
    for (const key of settingKeys) {
      const row = rows.find((line) => line.startsWith(`| \`${key}\` |`)) ?? '';
      expect(row).toContain(`\`${variableOf(key)}\``);
      expect(row.split(' | ')[3], key).toMatch(/\w{3}/);
    }
  });
});

it.each(globSync('docs/*.schema.json', { cwd: root }))('%s has an $id with its name', (path) => {
  const [, name = ''] = /^docs\/(.+)\.schema\.json$/.exec(path) ?? [];
  const schema = JSON.parse(readFileSync(resolve(root, path), 'utf8')) as object;
  expect(schema).toMatchObject({ $id: `urn:bootwright:${name}` });
});

describe('everyFailure', () => {
  it('finds the tables of all areas', () => {
    const areas = new Set(failures.map(({ code }) => code.replace(/\..*/, '')));
    expect([...areas]).toEqual(expect.arrayContaining(['cli', 'config', 'disk', 'run', 'command']));
  });

  it.each(failures)(
    '$code has the format of a code, a title and a hint',
    ({ code, title, hint }) => {
      expect(code).toMatch(/^[a-z0-9-]+\.[a-z0-9-]+$/);
      expect(title).toMatch(/^[A-Z].*[^.]$/);
      expect(hint).toMatch(/^[a-z].*[^.]$/);
      expect(hint, 'a hint names the command to run').not.toMatch(/\brun (?:it |the \w+ )?again/);
    },
  );
});

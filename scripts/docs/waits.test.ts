import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { waitsPage } from './waits.ts';

const root = resolve(import.meta.dirname, '../..');
const page = await waitsPage();

it('calls those waits renewed that have a heartbeat, and no others', () => {
  const ids = globSync('src/steps/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] })
    .filter((file) => file !== 'src/steps/heartbeat.ts')
    .map((file) => readFileSync(resolve(root, file), 'utf8'))
    .filter((text) => /heartbeatOf\(|untilReady\(/.test(text))
    .flatMap((text) => text.split(/ = step\(\{$/m).slice(1))
    .filter((text) => /^ {2}(waitsFor:|\.\.\.gated)/m.test(text))
    .map((text) => /^ {2}id: '([^']+)'/m.exec(text)?.[1]);
  const renewed = page
    .split('\n')
    .filter((line) => line.includes('the text is renewed'))
    .map((line) => /^\| `([^`]+)`/.exec(line)?.[1]);
  expect(renewed).toEqual(ids.sort());
  expect(renewed).toHaveLength(6);
});

it('has every wait in one kind, with what it waits for and its limit', () => {
  const rows = page.split('\n').filter((line) => /^\| `[a-z-]+\/[a-z-]+` \|/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) {
    const [, waitsFor = '', endedBy = '', , limit = ''] = row.split(' | ');
    expect(
      [waitsFor, endedBy, limit].every((cell) => /\w/.test(cell)),
      row,
    ).toBe(true);
  }
});

import { expect, it } from 'vitest';
import { grouped, listed } from './list.ts';
import { readScenario } from './scenario.ts';

const scenario = await readScenario('no-disk');
const said = { ...scenario, title: 'A title', description: 'What befalls a host.\n' };

it('says what a scenario shows, that it ends badly, by what, and how long it takes', () => {
  expect(listed('no-disk', { ...said, usualSeconds: 90 }, undefined)).toBe(
    `no-disk: A title
    What befalls a host.
    Ends: failed, m2 by disk.missing, after about 1 min 30 s.

`,
  );
});

it('says that a scenario ends well, and which is the default', () => {
  const { expect: _, usualSeconds: __, ...more } = said;
  const end = { ...said.expect, outcome: 'installed' as const, hosts: {} };
  const text = listed('cluster', { ...more, usualSeconds: undefined, expect: end }, undefined);
  expect(text).toBe(
    'cluster (the default): A title\n    What befalls a host.\n    Ends: installed.\n\n',
  );
  const isMissed = { ...end, clusterStatus: 'error' };
  expect(listed('n', { ...said, expect: isMissed }, undefined)).toContain(
    'Ends: every host is a node, the installation ended in error',
  );
});

it('ends its lines between words, behind their indent', () => {
  const text = listed('no-disk', scenario, 40);
  const lines = text.split('\n');
  expect(lines.every(({ length }) => length <= 40)).toBe(true);
  expect(lines.slice(1, -2).every((line) => /^ {4}\S/.test(line))).toBe(true);
  const words = (some: string): string => some.replaceAll(/\s+/g, ' ').trim();
  expect(words(text)).toContain(words(scenario.description));
});

it('groups scenarios by how they end', () => {
  const well = { ...said, expect: { ...said.expect, outcome: 'installed' as const } };
  const late = { ...well, expect: { ...well.expect, clusterStatus: 'error' } };
  expect(
    grouped([
      ['bad', said],
      ['good', well],
      ['late', late],
    ]).map(({ scenarios }) => scenarios.map(([name]) => name)),
  ).toEqual([['good'], ['bad', 'late']]);
});

import { describe, expect, it } from 'vitest';
import { closureKeys, textKeys, type Keys } from './keys.ts';

const tree = {
  'src/type.ts': 'export type Size = number;',
  'src/middle.ts': "import type { Size } from './type.ts';\nexport const size: Size = 1;",
  'src/far.ts': "import { size } from './middle.ts';\nexport const twice = size * 2;",
  'src/lazy.ts': "export const load = () => import('./middle.ts');",
  'src/round.ts': "export * from './trip.ts';",
  'src/trip.ts': "export * from './round.ts';",
  'src/alone.ts': "import { join } from 'node:path';\nexport const top = join('/');",
  'src/list.json': '{"names": []}',
  'test/list.ts': "import list from '../src/list.json' with { type: 'json' };\nexport { list };",
};

type Tree = Readonly<Record<string, string | undefined>>;
type KeysOf = typeof textKeys;

const sourcesOf = (files: Tree): Map<string, string> =>
  new Map(
    Object.entries(files).flatMap(([path, text]) => (text === undefined ? [] : [[path, text]])),
  );

/** Which files have another key after a change. */
function changed(keysOf: KeysOf, change: Tree, before: Tree = tree): string[] {
  const old: Keys = keysOf(sourcesOf(before), 'basis');
  const keys = keysOf(sourcesOf({ ...before, ...change }), 'basis');
  return [...keys]
    .filter(([path, key]) => old.get(path) !== key)
    .map(([path]) => path)
    .sort();
}

describe('closureKeys', () => {
  it.each([
    [
      'a type two imports away',
      { 'src/type.ts': 'export type Size = bigint;' },
      ['src/far.ts', 'src/lazy.ts', 'src/middle.ts', 'src/type.ts'],
    ],
    ['a file that nobody imports', { 'src/alone.ts': 'export {};' }, ['src/alone.ts']],
    ['one file of a circle', { 'src/trip.ts': 'export {};' }, ['src/round.ts', 'src/trip.ts']],
    ['data', { 'src/list.json': '{"names": [1]}' }, ['src/list.json', 'test/list.ts']],
    [
      'an import that was not there',
      { 'src/type.ts': undefined },
      ['src/far.ts', 'src/lazy.ts', 'src/middle.ts'],
    ],
    ['nothing', {}, []],
  ])('are others after a change of %s', (_, change, expected) => {
    expect(changed(closureKeys, change)).toEqual(expected);
  });

  it.each([
    ['a declaration file', { 'src/any.d.ts': 'export {};' }],
    ['a file that declares something global', { 'src/any.ts': 'export {};\ndeclare global {}' }],
    ['a file that is no module', { 'src/any.ts': 'const everywhere = 1;' }],
  ])('are all others after a change of %s', (_, change) => {
    expect(changed(closureKeys, change)).toEqual(
      [...Object.keys(tree), ...Object.keys(change)].sort(),
    );
  });

  it('are all others with another basis', () => {
    const sources = sourcesOf(tree);
    const before = new Set(closureKeys(sources, 'basis').values());
    const kept = [...closureKeys(sources, 'other').values()].filter((key) => before.has(key));
    expect(kept).toEqual([]);
  });

  it('do not follow a file to another place', () => {
    const moved = closureKeys(sourcesOf({ 'mocks/type.ts': tree['src/type.ts'] }), 'basis');
    const here = closureKeys(sourcesOf({ 'src/type.ts': tree['src/type.ts'] }), 'basis');
    expect(moved.get('mocks/type.ts')).not.toBe(here.get('src/type.ts'));
  });
});

describe('textKeys', () => {
  it.each([
    ['a type', { 'src/type.ts': 'export type Size = bigint;' }, ['src/type.ts']],
    ['an import that was not there', { 'src/type.ts': undefined }, ['src/middle.ts']],
  ])('are others after a change of %s', (_, change, expected) => {
    expect(changed(textKeys, change)).toEqual(expected);
  });
});

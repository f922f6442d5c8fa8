import { describe, expect, it } from 'vitest';
import { flagFailure } from './failures.ts';
import { scanFlags } from './go-flags.ts';

const unknown = (name: string) => flagFailure('cli.unknown-flag', name);
const lookup = (name: string): { readonly isBoolean: boolean } | undefined =>
  ({ b: { isBoolean: true }, bool: { isBoolean: true }, s: { isBoolean: false } })[name];
const scan = (...argv: readonly string[]) => scanFlags(argv, { lookup, unknown });

describe('scanFlags', () => {
  it.each([
    ['a value that follows', ['-s', 'v'], [['s', 'v']]],
    ['two dashes', ['--s', 'v'], [['s', 'v']]],
    ['a value after =', ['--s=v=w'], [['s', 'v=w']]],
    ['an empty value after =', ['-s='], [['s', '']]],
    ['an empty value that follows', ['-s', ''], [['s', '']]],
    ['a value that looks like a flag', ['--s', '--bool'], [['s', '--bool']]],
    ['a boolean alone', ['--bool'], [['bool', undefined]]],
    ['a boolean with a value', ['-bool=false'], [['bool', 'false']]],
    [
      'flags in any order, repeated',
      ['-b', '-s', '1', '--s=2'],
      [
        ['b', undefined],
        ['s', '1'],
        ['s', '2'],
      ],
    ],
  ])('reads %s', (_, argv, uses) => {
    const { uses: found, rest } = scan(...argv);
    expect(found.map(({ name, text }) => [name, text])).toEqual(uses);
    expect(rest).toEqual([]);
  });

  it.each([
    ['a word', ['-b', 'word', '-s', 'v'], ['word', '-s', 'v']],
    ['the word after a boolean', ['--bool', 'false', '-s', 'v'], ['false', '-s', 'v']],
    ['a dash', ['-b', '-', '-s'], ['-', '-s']],
    ['two dashes', ['-b', '--', '-s'], ['-s']],
    ['an empty word', ['', '-b'], ['', '-b']],
  ])('stops at %s', (_, argv, rest) => {
    expect(scan(...argv).rest).toEqual(rest);
  });

  it.each([[['---s']], [['--=v']], [['-=v']], [['-s']], [['-b', '--s']]])('refuses %j', (argv) => {
    expect(() => scan(...argv)).toThrow(expect.objectContaining({ code: 'cli.bad-flag' }));
  });
});

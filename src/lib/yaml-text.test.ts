import { describe, expect, it } from 'vitest';
import { parseYaml } from './yaml-text.ts';

const problemsOf = (text: string, hasAliases = true): readonly string[] =>
  parseYaml(text, { hasAliases }).errors.map(({ code }) => code);
const valueOf = (text: string): unknown =>
  parseYaml(text, { hasAliases: true }).toJS({ maxAliasCount: -1 });

const doubled = (times: number): string =>
  Array.from({ length: times }, (_, at) =>
    at === 0 ? 'a0: &a0 x\n' : `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]\n`,
  ).join('');

describe('parseYaml', () => {
  it.each([
    ['an alias without an anchor', 'no: *.example.com'],
    ['an alias before its anchor', 'a: *b\nb: &b 1'],
    ['an alias within its own anchor', 'a: &a [*a]'],
    ['an alias without an anchor as a key', '*a : 1'],
  ])('reports an error for %s and still returns a value', (_, text) => {
    expect(problemsOf(text)).toEqual(['BAD_ALIAS']);
    expect(() => valueOf(text)).not.toThrow();
  });

  it.each([
    ['a key with a line break before the colon', "a: 'x'\n  : y\n", 7],
    ['an empty key', ': x\n', 0],
    ['an empty key in braces', '{a: 1, : x}', 7],
    ['a null key', 'a: 1\n~: x\n', 5],
  ])('reports %s as a key that is not a string', (_, text, offset) => {
    const errors = parseYaml(text).errors.map(({ code, pos }) => [code, pos[0]]);
    expect(errors).toEqual([['NON_STRING_KEY', offset]]);
  });

  it('collects errors without stack traces and restores Error.stackTraceLimit', () => {
    const before = Error.stackTraceLimit;
    const { errors } = parseYaml(`a: [b${', 192.0.2.0/24]\n'.repeat(50)}`);
    expect(errors.length).toBeGreaterThan(100);
    const framesOf = ({ stack = '' }: Error): number => stack.split('\n    at ').length - 1;
    expect(Math.max(...errors.map(framesOf))).toBe(1);
    expect(Error.stackTraceLimit).toBe(before);
  });

  it('resolves an alias to the last definition of its anchor before it', () => {
    const text = 'x: &a 1\nb: &b [*a]\ny: &a [*b]\nz: *a';
    expect([problemsOf(text), valueOf(text)]).toEqual([[], { x: 1, b: [1], y: [[1]], z: [[1]] }]);
  });

  it('accepts more than a hundred aliases, but not aliases that expand exponentially', () => {
    const many = `a: &a 1\nb: [${'*a, '.repeat(500)}]`;
    expect([problemsOf(many), Object.keys(valueOf(many) as object)]).toEqual([[], ['a', 'b']]);
    expect(problemsOf(doubled(40))).toEqual(['RESOURCE_EXHAUSTION']);
    expect(valueOf(doubled(40))).toBeNull();
  });

  it('accepts aliases that expand a text to 3 MiB, and longer texts without aliases', () => {
    const repeated = (text: string, times: number) =>
      problemsOf(`a: &a ${text}\nb: [${'*a, '.repeat(times)}]`);
    expect(repeated('x'.repeat(4096), 700)).toEqual([]);
    expect(repeated('x'.repeat(4096), 800)).toEqual(['RESOURCE_EXHAUSTION']);
    expect(problemsOf(`? &a ${'x'.repeat(900_000)}\n: [{*a : 1}, {*a : 1}]`)).toEqual([]);
    expect(problemsOf(`? &a ${'x'.repeat(900_000)}\n: [${'{*a : 1},'.repeat(3)}]`)).toEqual([
      'RESOURCE_EXHAUSTION',
    ]);
    expect(problemsOf(`a: ${'x'.repeat(4 * 1024 * 1024)}`)).toEqual([]);
  });

  it('reads a binary value as Go does, as a string', () => {
    const document = parseYaml('a: !!binary eMOkeA==', { version: '1.1' });
    expect([document.warnings, document.errors, document.toJS()]).toEqual([[], [], { a: 'xäx' }]);
  });

  it.each(['[', '{', '{a: ', '- ', '? ', '[{', '- - [', ' a: {'])(
    'refuses a repeated %j where it is nested too deeply',
    (part) => {
      const { errors } = parseYaml(part.repeat(8000));
      expect(errors[0]?.code).toBe('RESOURCE_EXHAUSTION');
      expect(errors[0]?.pos[0]).toBeLessThan(2000);
    },
  );

  it.each(['- a\n', '[],', ',', '&a ', '!a ', '---\n', '#\n'])(
    'refuses a million %j at the limit of tokens',
    (part) => {
      const text = `${part === ',' || part === '[],' ? '[' : ''}${part.repeat(1_000_000)}`;
      expect(problemsOf(text)).toEqual(['RESOURCE_EXHAUSTION']);
    },
  );
});

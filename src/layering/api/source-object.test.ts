import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { readListed, readObjects, decodeSource } from './source-object.ts';

describe('readObjects', () => {
  const read = (text: string) => readObjects({ path: 'f.yaml', text });

  it('reads every document except empty ones', () => {
    expect(read('a: 1\n---\n# nothing\n---\nb: 2\n').map(({ value }) => value)).toEqual([
      { a: 1 },
      { b: 2 },
    ]);
  });

  it('reads scalars as kubectl does', () => {
    const [object] = read('a: on\nb: "on"\nc: 2001-01-01\nd: 12:30:45\ne: 0x10\n');
    expect(object?.value).toEqual({ a: true, b: 'on', c: '2001-01-01', d: '12:30:45', e: 16 });
  });

  it.each([
    ['0o644, 0O6_44, -0o7, 0644, 0B11, 0X1f', [420, 420, -7, 420, 3, 31]],
    ['e1, ., -., 12e4567, .inf', ['e1', '.', '-.', '12e4567', '.inf']],
    ['1e3, .5, 0o8, 1:30.5', [1000, 0.5, '0o8', '1:30.5']],
  ])('reads %s as Go does', (text, expected) => {
    expect(read(`a: [${text}]\n`)[0]?.value).toEqual({ a: expected });
  });

  it('places a member, or a missing member by its parent', () => {
    const [object] = read('a:\n  b:\n  - c: 1\n  - c: 2\n    d: |\n      x\n      y\n    e: "x"\n');
    expect(object?.place(['a', 'b', 1, 'c'])).toBe('f.yaml:4');
    expect(object?.place(['a', 'b', 0, 'missing'])).toBe('f.yaml:3');
  });

  it('places members of JSON by line', () => {
    const [object] = read('{\n  "a": {\n    "b": 1\n  }\n}\n');
    expect(object?.place(['a', 'b'])).toBe('f.yaml:3');
  });

  it('places members of long JSON by line', () => {
    const long = `"x": "${'x'.repeat(70_000)}"`;
    const [object] = read(`\n{${long},\n "a": [\n  1,\n  {"b.c":\n 2, "d": {\n"e": 3}}], "f": 1}`);
    const lineOf = (...path: readonly (string | number)[]) => object?.place(path);
    expect(lineOf()).toBe('f.yaml:2');
    expect(lineOf('a')).toBe('f.yaml:3');
    expect(lineOf('a', 1)).toBe('f.yaml:5');
    expect(lineOf('a', 1, 'd', 'e')).toBe('f.yaml:7');
    // A missing member has the line of its nearest existing ancestor.
    expect(lineOf('a', 1, 'd', 'g', 'h')).toBe('f.yaml:6');
    expect(lineOf('a', 7)).toBe('f.yaml:3');
    expect(lineOf('f')).toBe('f.yaml:7');
  });

  it('indexes the lines of long JSON once', () => {
    const [object] = read(`{"a": 1,${'\n'.repeat(100_000)}"b": 2}`);
    const before = process.threadCpuUsage();
    const places = Array.from({ length: 1000 }, () => object?.place(['b']));
    expect(new Set(places)).toEqual(new Set(['f.yaml:100001']));
    // CPU time, in microseconds.
    expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it('places members of long objects in a List by line', () => {
    const text = `{"kind": "List", "items": [{"x": "${'x'.repeat(70_000)}"},\n{\n"a": 1}]}`;
    const [, second] = readListed({ path: 'f', text }, 'an object');
    expect(second && 'value' in second ? second.place(['a']) : '').toBe('f:3');
  });

  it.each([
    ['a: [1', 'layering.malformed-file', /f\.yaml:1/],
    ['%YAML 1.2\n---\na: 0644', 'layering.malformed-file', /f\.yaml:1: .*%YAML 1\.2/],
    ['a: 1\na: 2\n', 'layering.malformed-file', /f\.yaml:2/],
    ['- a\n', 'layering.wrong-object', /f\.yaml:1: an object is expected, and this is a list/],
    ['a: *b', 'layering.malformed-file', /f\.yaml:1: the alias has no anchor before it/],
    ['a: &a {b: *a}', 'layering.malformed-file', /f\.yaml:1: the alias contains itself/],
  ])('refuses %j', (text, code, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code }) as Error);
    expect(() => read(text)).toThrow(message);
  });

  it.each([
    ['a: |\r\n  x\r\n  y\r\n', 'x\ny\n'],
    [String.raw`{"a": "\ud83d\ude00"}`, '\u{1f600}'],
  ])('reads %j', (text, expected) => {
    expect(read(text).map(({ value }) => value['a'])).toEqual([expected]);
  });
});

describe('decodeSource', () => {
  it.each<[string, readonly number[]]>([
    ['a\u00e4\u{1f600}\r\n', [...Buffer.from('a\u00e4\u{1f600}\r\n')]],
    ['a', [0xef, 0xbb, 0xbf, 0x61]],
    ['', []],
  ])('reads %j', (text, bytes) => {
    expect(decodeSource('f', Uint8Array.from(bytes))).toEqual({ path: 'f', text });
  });

  it.each<[string, readonly number[]]>([
    ['a Latin-1 letter', [0x61, 0x0a, 0x62, 0x0a, 0xe4, 0x0a]],
    ['an incomplete character at the end', [0x61, 0x0a, 0xc3]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
  ])('refuses %s', (...[, bytes]) => {
    const message = 'a text is expected, in UTF-8, and this file is not UTF-8';
    expect(decodeSource('f', Uint8Array.from(bytes))).toMatchObject({ place: 'f:1', message });
  });

  it('reports a binary file and the expected object', () => {
    expect(decodeSource('f', Uint8Array.from([0x7f, 0]), 'a Pod')).toMatchObject({
      place: 'f:1',
      message: 'a Pod is expected, in UTF-8, and this file is binary',
    });
  });
});

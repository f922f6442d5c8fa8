import { describe, expect, it } from 'vitest';
import { readObjects } from './source-object.ts';

const read = (text: string) => readObjects({ path: 'f.yaml', text });

describe('readObjects', () => {
  it('reads every document, and leaves empty ones out', () => {
    expect(read('a: 1\n---\n# nothing\n---\nb: 2\n').map(({ value }) => value)).toEqual([
      { a: 1 },
      { b: 2 },
    ]);
  });

  it('reads words as kubectl does', () => {
    const [object] = read('a: on\nb: "on"\nc: 2001-01-01\nd: 12:30:45\ne: 0x10\n');
    expect(object?.value).toEqual({ a: true, b: 'on', c: '2001-01-01', d: '12:30:45', e: 16 });
  });

  it('knows the line of a part, or of what is nearest around it', () => {
    const [object] = read('a:\n  b:\n  - c: 1\n  - c: 2\n    d: |\n      x\n      y\n    e: "x"\n');
    expect(object?.place(['a', 'b', 1, 'c'])).toBe('f.yaml:4');
    expect(object?.place(['a', 'b', 0, 'missing'])).toBe('f.yaml:3');
    expect(object?.placeInText(['a', 'b', 1, 'd'], 2)).toBe('f.yaml:7');
    expect(object?.placeInText(['a', 'b', 1, 'e'], 2)).toBe('f.yaml:8');
  });

  it('knows the lines of JSON', () => {
    const [object] = read('{\n  "a": {\n    "b": 1\n  }\n}\n');
    expect(object?.place(['a', 'b'])).toBe('f.yaml:3');
  });

  it('reads long JSON without its lines', () => {
    const [object] = read(`\n{"a": "${'x'.repeat(70_000)}"}`);
    expect(object?.place(['a'])).toBe('f.yaml:1');
  });

  it.each([
    ['a: [1', 'layering.malformed-file', /f\.yaml:1/],
    ['a: 1\na: 2\n', 'layering.malformed-file', /f\.yaml:2/],
    ['- a\n', 'layering.wrong-object', /f\.yaml:1: an object is expected/],
  ])('refuses %j', (text, code, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code }) as Error);
    expect(() => read(text)).toThrow(message);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readStringArray } from './string-array.ts';

describe('readStringArray', () => {
  it.each([
    ['[]', []],
    [' [ "a" , "b" ] ', ['a', 'b']],
    [String.raw`["\u00e9\n", "a\"b"]`, ['é\n', 'a"b']],
  ])('reads %s', (text, items) => {
    expect(readStringArray(text)).toEqual({ items });
  });

  it.each([
    ['--append-karg', 1],
    ['{"a":1}', 1],
    ['["a", 3]', 7],
    ['["a" "b"]', 6],
    ['["a",]', 6],
    ['["a"', 5],
    ['["a"] x', 7],
    ["['a']", 2],
    ['', 1],
  ])('says where %s stops being one', (text, at) => {
    expect(readStringArray(text)).toMatchObject({ at });
  });

  it('reads what JSON.stringify writes of any strings', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (items) => {
        expect(readStringArray(JSON.stringify(items))).toEqual({ items });
      }),
    );
  });

  it('accepts a text exactly when JSON.parse makes an array of strings of it', () => {
    const words = fc.constantFrom('[', ']', ',', '"a"', '1', ' ', 'null', '"', '{}');
    fc.assert(
      fc.property(fc.array(words, { maxLength: 7 }), (parts) => {
        const text = parts.join('');
        expect('items' in readStringArray(text)).toBe(isArrayOfStrings(text));
      }),
    );
  });
});

function isArrayOfStrings(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === 'string');
  } catch {
    return false;
  }
}

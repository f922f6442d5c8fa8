import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { decodeSource, yamlText } from './source-text.ts';

describe('decodeSource', () => {
  it.each<[string, readonly number[]]>([
    ['a\u00e4\u{1f600}\r\n', [...Buffer.from('a\u00e4\u{1f600}\r\n')]],
    ['a', [0xef, 0xbb, 0xbf, 0x61]],
    ['', []],
  ])('reads %j', (text, bytes) => {
    expect(decodeSource('f', Uint8Array.from(bytes))).toEqual({ path: 'f', text });
  });

  it.each<[string, readonly number[], string]>([
    ['a letter of Latin 1', [0x61, 0x0a, 0x62, 0x0a, 0xe4, 0x0a], 'f:3'],
    ['half of a character at the end', [0x61, 0x0a, 0xc3], 'f:2'],
    ['a surrogate', [0xed, 0xa0, 0x80], 'f:1'],
  ])('refuses %s with its line', (...[, bytes, place]) => {
    const problem = 'this line is not UTF-8: save the file as UTF-8';
    expect(decodeSource('f', Uint8Array.from(bytes))).toMatchObject({ place, problem });
  });

  it('says of a binary file that it is one, and what is wanted', () => {
    expect(decodeSource('f', Uint8Array.from([0x7f, 0]), 'a Pod')).toMatchObject({
      place: 'f:1',
      problem: 'a Pod is expected, in UTF-8, and this file is binary',
    });
  });
});

describe('yamlText', () => {
  it.each([
    ['a: 1\r\nb: 2\rc: 3\u0085d: 4\n', 'a: 1\nb: 2\nc: 3\nd: 4\n'],
    ['a: \t\u00a0\ufeff\ufffd\u{1f600}', 'a: \t\u00a0\ufeff\ufffd\u{1f600}'],
    ['{"a": "\u0085\u2028\u007f\uffff"}\r', String.raw`{"a": "\u0085\u2028\u007f\uffff"}` + '\n'],
    ['{a: b}\u0085', '{a: b}\n'],
  ])('takes %j', (text, expected) => {
    expect(yamlText({ path: 'f', text })).toBe(expected);
  });

  it.each([
    ['\u0000', 'U+0000', String.raw`\u0000`],
    ['\u0008', 'U+0008', String.raw`\u0008`],
    ['\u000b', 'U+000B', String.raw`\u000b`],
    ['\u000c', 'U+000C', String.raw`\u000c`],
    ['\u000e', 'U+000E', String.raw`\u000e`],
    ['\u001f', 'U+001F', String.raw`\u001f`],
    ['\u007f', 'U+007F', String.raw`\u007f`],
    ['\u0084', 'U+0084', String.raw`\u0084`],
    ['\u0086', 'U+0086', String.raw`\u0086`],
    ['\u2028', 'U+2028', String.raw`\u2028`],
    ['\u2029', 'U+2029', String.raw`\u2029`],
    ['\ufffe', 'U+FFFE', String.raw`\ufffe`],
  ])('refuses %j with its line, and says how to write it', (character, name, escape) => {
    const problem = `the character ${name} is not allowed in YAML unescaped: remove it, or write it as ${escape} in double quotes`;
    expect(yamlText({ path: 'f', text: `a: 1\r\nb: # ${character}\n` })).toMatchObject({
      code: 'layering.malformed-file',
      place: 'f:2',
      problem,
    });
  });
});

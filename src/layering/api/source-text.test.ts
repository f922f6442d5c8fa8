import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { decodeSource } from './source-text.ts';

describe('decodeSource', () => {
  it.each<[string, readonly number[]]>([
    ['a\u00e4\u{1f600}\r\n', [...Buffer.from('a\u00e4\u{1f600}\r\n')]],
    ['a', [0xef, 0xbb, 0xbf, 0x61]],
    ['', []],
  ])('reads %j', (text, bytes) => {
    expect(decodeSource('f', Uint8Array.from(bytes))).toEqual({ path: 'f', text });
  });

  it.each<[string, readonly number[]]>([
    ['a letter of Latin 1', [0x61, 0x0a, 0x62, 0x0a, 0xe4, 0x0a]],
    ['half of a character at the end', [0x61, 0x0a, 0xc3]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
  ])('refuses %s', (...[, bytes]) => {
    const message = 'a text is expected, in UTF-8, and this file is not UTF-8';
    expect(decodeSource('f', Uint8Array.from(bytes))).toMatchObject({ place: 'f:1', message });
  });

  it('says of a binary file that it is one, and what is wanted', () => {
    expect(decodeSource('f', Uint8Array.from([0x7f, 0]), 'a Pod')).toMatchObject({
      place: 'f:1',
      message: 'a Pod is expected, in UTF-8, and this file is binary',
    });
  });
});

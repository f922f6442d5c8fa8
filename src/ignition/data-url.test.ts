import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decodeDataUrl, encodeDataUrl, isDataUrl } from './data-url.ts';

const bytesOf = (text: string): number[] => [...Buffer.from(text)];

describe('a data URL', () => {
  it.each([
    ['without a media type', 'data:,a', 'a'],
    ['with an empty payload', 'data:,', ''],
    ['with an empty base64 payload', 'data:;base64,', ''],
    ['with escapes', 'data:,a%20b%2C', 'a b,'],
    ['in base64', 'data:;base64,YWI=', 'ab'],
    ['in base64 with a line feed', 'data:;base64,YW\nI=', 'ab'],
    ['with a media type', 'data:text/plain,a', 'a'],
    ['with a charset', 'data:text/plain;charset=utf-8;base64,YQ==', 'a'],
    ['with a quoted parameter', 'data:text/plain;a="b,c;d";base64,YQ==', 'a'],
    ['with a private media type', 'data:x-a/b,a', 'a'],
    ['with a parameter called base64', 'data:text/plain;base64=1,YQ==', 'YQ=='],
  ])('%s is decoded', (_, url, content) => {
    expect([...decodeDataUrl(url)]).toEqual(bytesOf(content));
  });

  it('may hold bytes that are not UTF-8', () => {
    expect([...decodeDataUrl('data:,%ff%00')]).toEqual([0xff, 0x00]);
  });

  it.each([
    ['a raw space', 'data:,a b'],
    ['a letter beyond ASCII', 'data:,é'],
    ['half an escape', 'data:,%4'],
    ['no comma', 'data:text/plain'],
    ['an unknown media type', 'data:font/woff,a'],
    ['unpadded base64', 'data:;base64,YQ'],
    ['padding in the middle', 'data:;base64,YQ==YQ=='],
    ['letters that are not base64', 'data:;base64,Y*=='],
    ['the URL-safe alphabet', 'data:;base64,__-_'],
    ['an open quotation', 'data:text/plain;a="b,c'],
    ['a broken escape in a parameter', 'data:text/plain;a=%zz,b'],
    ['the scheme in capitals', 'DATA:,a'],
  ])('with %s is refused', (_, url) => {
    expect(() => decodeDataUrl(url)).toThrow(
      expect.objectContaining({ code: 'ignition.data-url', kind: 'input' }),
    );
  });

  it('gives back any bytes that were encoded', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const url = encodeDataUrl(bytes, 'text/plain');
        expect(isDataUrl(url)).toBe(true);
        expect([...decodeDataUrl(url)]).toEqual([...bytes]);
      }),
    );
  });

  it('gives back any text that was percent-encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const url = `data:,${encodeURIComponent(text.toWellFormed())}`;
        expect(Buffer.from(decodeDataUrl(url)).toString()).toBe(text.toWellFormed());
      }),
    );
  });
});

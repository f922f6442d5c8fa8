import { describe, expect, it } from 'vitest';
import { elementsIn, membersOf, objectIdentifier } from './pkcs10.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const element = (hex: string) => elementsIn(bytes(hex))[0]!;

describe('elements of DER', () => {
  it('are those that fill the bytes', () => {
    const found = elementsIn(bytes('02 01 07  30 02 05 00  04 00'));
    expect(found.map(({ tag, content }) => [tag, content.toString('hex')])).toEqual([
      [0x02, '07'],
      [0x30, '0500'],
      [0x04, ''],
    ]);
    expect(found[1]?.whole).toEqual(bytes('30 02 05 00'));
    expect(elementsIn(Buffer.alloc(0))).toEqual([]);
  });

  it.each([127, 128, 255, 256, 70_000])('have %i bytes', (length) => {
    const size =
      length < 256 ? [0x81, length] : [0x83, length >> 16, (length >> 8) & 255, length & 255];
    const header = length < 128 ? [length] : length === 256 ? [0x82, 1, 0] : size;
    const [found] = elementsIn(
      Buffer.concat([Buffer.from([0x04, ...header]), Buffer.alloc(length)]),
    );
    expect(found?.content).toHaveLength(length);
  });

  it.each([
    ['a tag alone', '30'],
    ['a length without its bytes', '30 82 01'],
    ['less content than the length says', '04 03 00 00'],
    ['a length of several bytes that fits in one', '04 81 01 00'],
    ['a length that begins with a zero', `04 82 00 80 ${'00'.repeat(128)}`],
    ['a length without end', '30 80 00 00'],
    ['a length of four bytes', '04 84 00 00 00 01 00'],
    ['a tag of several bytes', '1f 81 01 00'],
    ['a byte behind the last one', '05 00 00'],
  ])('are not read with %s', (_, hex) => {
    expect(() => elementsIn(bytes(hex))).toThrow();
  });

  it('have the members that are looked for, and no other', () => {
    const sequence = element('30 05 02 01 07 05 00');
    expect(membersOf(sequence, [0x02, 0x05]).map(({ tag }) => tag)).toEqual([0x02, 0x05]);
    for (const tags of [[0x02], [0x05, 0x02], [0x02, 0x05, 0x05]]) {
      expect(() => membersOf(sequence, tags)).toThrow();
    }
  });
});

describe('an object identifier', () => {
  it.each([
    ['06 03 55 04 03', '2.5.4.3'],
    ['06 09 2a 86 48 86 f7 0d 01 09 0e', '1.2.840.113549.1.9.14'],
    ['06 01 27', '0.39'],
    ['06 02 88 37', '2.999'],
  ])('%s is %s', (hex, text) => {
    expect(objectIdentifier(element(hex))).toBe(text);
  });

  it.each([
    ['another element', '04 03 55 04 03'],
    ['nothing', '06 00'],
    ['a part without its end', '06 02 55 84'],
    ['a part that begins with a zero', '06 03 55 80 04'],
    ['a part longer than any', `06 0a 55 ${'ff'.repeat(8)} 01`],
  ])('is not read from %s', (_, hex) => {
    expect(() => objectIdentifier(element(hex))).toThrow();
  });
});

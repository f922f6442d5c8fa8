import { expect, it } from 'vitest';
import { plainLine, plainText, withTexts } from './plain-text.ts';

it.each([
  ['an ordinary text: äöü 漢字 🚀', 'an ordinary text: äöü 漢字 🚀'],
  ['\u001b[1;31mred\u001b[0m \u001b[?25l\u001b[2J', 'red '],
  ['\u001b]0;title\u0007', ' ]0;title '],
  ['one\r\ntwo\rthree\n\tfour', 'one\ntwo three\n\tfour'],
  ['\u202egnp.exe\u2066\u200b\u00ad\ufeff', 'gnp.exe'],
  ['a\u009bb\u0085c\u2028d\u0000e\u007ff', 'a b c d e f'],
  ['half \ud83d', 'half \ufffd'],
])('%j is shown as %j', (text, shown) => {
  expect(plainText(text)).toBe(shown);
});

it.each([
  ['12345', '12345'],
  ['123456', '1234…'],
  ['123🚀56', '123\ufffd…'],
])('shortens %s to five characters: %s', (text, shown) => {
  expect(plainText(text, 5)).toBe(shown);
});

it('plainLine joins the lines of a text', () => {
  expect(plainLine('\n one \r\n\n\ttwo\rthree ')).toBe('one two three');
});

it('withTexts maps every string of a value and leaves other values unchanged', () => {
  const value = { a: 'x', b: ['x', 1, { c: 'x', d: null }], e: undefined, f: true };
  expect(withTexts(value, (text) => `${text}!`)).toEqual({
    a: 'x!',
    b: ['x!', 1, { c: 'x!', d: null }],
    e: undefined,
    f: true,
  });
});

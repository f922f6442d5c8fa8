import { describe, expect, it } from 'vitest';
import { bodyShapes } from './body-shapes.ts';
import { readerTable } from './forged-readers.ts';
import { growthViolation, type TextOfSize } from './growth.ts';

/** Units that texts repeat, each with and without an invalid end. */
const units: readonly string[] = [
  ...['a', ' ', '\n', '\t', '\r', '-', '.', '/', '=', '"', "'", '\\', '{', '[', '(', ',', ':', '@'],
  ...['%', '~', '0', '9.', 'é', '\u0085', 'a/', '../', 'a b ', 'a=b ', 'a: b\n', '- ', '? ', '&a '],
  ...[
    '*a ',
    '# ',
    '#\n',
    '$A',
    '${A}',
    '%zz',
    '{"a":',
    '[1,',
    'https://',
    '//u:p@',
    'sha256:',
    '<a>',
  ],
  ...['-----BEGIN CERTIFICATE-----\n', '\u001b[', '|\n', "''", 'a,'],
];

const textOf =
  (unit: string, end: string): TextOfSize =>
  (size) =>
    `${unit.repeat(Math.ceil(size / unit.length))}${end}`;

describe('reading an untrusted text takes linear time', () => {
  it.each(Object.entries(readerTable))('for the reader of %s', (_, { read, wrap }) => {
    const work = (text: string): void => {
      const bytes = Buffer.from(text);
      const result = read(wrap?.(bytes) ?? bytes);
      if (result instanceof Promise) result.catch(() => undefined);
    };
    const violations = units.flatMap((unit) =>
      ['', '!'].flatMap((end) => {
        const violation = growthViolation(work, textOf(unit, end));
        return violation === undefined ? [] : [`${JSON.stringify(unit + end)}: ${violation}`];
      }),
    );
    expect(violations).toEqual([]);
  });

  it.each(bodyShapes)('$about', ({ read, textOf: body }) => {
    expect(growthViolation(read, body)).toBeUndefined();
  });
});

describe('growthViolation', () => {
  it.each([
    ['linear', ({ length }: string) => length / 100, undefined],
    [
      'quadratic',
      ({ length }: string) => (length / 1000) ** 2,
      '10000: 100 ms,20000: 400 ms,40000: 1600 ms',
    ],
    ['quick', ({ length }: string) => (length / 5000) ** 2, undefined],
    ['endless', ({ length }: string) => length * 60, '60000 ms for 1000 characters'],
  ])('classifies %s work', (_, measured, violation) => {
    const measure = (_work: unknown, text: string): number => measured(text);
    expect(growthViolation(String, textOf('a', ''), measure)).toBe(violation);
  });
});

import { expect, it } from 'vitest';
import { type Figure, isWithin, percentile, valueOf } from './process.ts';

const bare = { name: 'bare', measured: 60 };
const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

it.each([
  [hundred, 99, 99],
  [[3, 1, 2], 50, 2],
  [[], 99, Number.NaN],
])('percentile of %o at %d is %d', (values, percent, most) => {
  expect(percentile(values, percent)).toBe(most);
});

it.each<[Figure, number, boolean]>([
  [['memory', 'MiB', 90, 100], 90, true],
  [['memory', 'MiB', 90, 1.5, bare], 1.5, true],
  [['memory', 'MiB', 90, 1.4, bare], 1.5, false],
  [['memory', 'MiB', Number.NaN, 100], Number.NaN, false],
])('the figure %o has the value %f, within its bound: %s', (figure, value, isKept) => {
  expect([valueOf(figure), isWithin(figure)]).toEqual([value, isKept]);
});

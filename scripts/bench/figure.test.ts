import { describe, expect, it } from 'vitest';
import { type Figure, isWithin, percentile, renderTable, valueOf } from './figure.ts';

const absolute: Figure = {
  name: 'memory',
  unit: 'MiB',
  measured: 90,
  bound: 100,
  command: 'npm run bench -- memory',
};
const ratio: Figure = { ...absolute, baseline: { name: 'bare', measured: 60 }, bound: 1.5 };
const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

it.each([
  [hundred, 99, 99],
  [[3, 1, 2], 50, 2],
  [[], 99, Number.NaN],
])('percentile of %o at %d is %d', (values, percent, most) => {
  expect(percentile(values, percent)).toBe(most);
});

describe('a figure', () => {
  it.each([
    [absolute, 90, true],
    [ratio, 1.5, true],
    [{ ...ratio, bound: 1.4 }, 1.5, false],
    [{ ...absolute, measured: Number.NaN }, Number.NaN, false],
  ])('%o has the value %f, within its bound: %s', (figure, value, isKept) => {
    expect([valueOf(figure), isWithin(figure)]).toEqual([value, isKept]);
  });

  it('is a row of the table, in bold when it exceeds its bound', () => {
    const [, , kept, broken] = renderTable([ratio, { ...absolute, bound: 80 }]).split('\n');
    expect(kept).toBe(
      '| memory | 90.00 MiB | bare: 60.00 MiB | × 1.50 | × 1.5 | yes | `npm run bench -- memory` |',
    );
    expect(broken).toContain('| 80 MiB | **no** |');
  });
});

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

describe('measurements', () => {
  it.each([
    [hundred, 99, 99],
    [hundred, 50, 50],
    [[3, 1, 2], 50, 2],
    [[5], 99, 5],
  ])('have a value that most do not exceed', (values, percent, most) => {
    expect(percentile(values, percent)).toBe(most);
  });

  it('of nothing are no number', () => {
    expect(percentile([], 99)).toBeNaN();
  });
});

describe('a figure', () => {
  it.each([
    { what: 'itself', figure: absolute, value: 90, isKept: true },
    { what: 'its ratio to a baseline', figure: ratio, value: 1.5, isKept: true },
    { what: 'a ratio too high', figure: { ...ratio, bound: 1.4 }, value: 1.5, isKept: false },
  ])('is held against its bound by $what', ({ figure, value, isKept }) => {
    expect([valueOf(figure), isWithin(figure)]).toEqual([value, isKept]);
  });

  it('that was not measured keeps no bound', () => {
    expect(isWithin({ ...absolute, measured: Number.NaN })).toBe(false);
  });

  it('is a row of the table, and stands out when its bound is not kept', () => {
    const [, , kept, broken] = renderTable([ratio, { ...absolute, bound: 80 }]).split('\n');
    expect(kept).toBe(
      '| memory | 90.00 MiB | bare: 60.00 MiB | × 1.50 | × 1.5 | yes | `npm run bench -- memory` |',
    );
    expect(broken).toContain('| 80 MiB | **no** |');
  });
});

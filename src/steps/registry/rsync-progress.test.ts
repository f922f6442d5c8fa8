import { describe, expect, it } from 'vitest';
import { parseRsyncPercent, rsyncProgress } from './rsync-progress.ts';

it.each([
  ['         21.39G 100%   85.21MB/s    0:03:59 (xfr#1, to-chk=0/2)', 100],
  ['32.77K   0%    0.00kB/s    0:00:00  ', 0],
  ['sending incremental file list', undefined],
  ['', undefined],
])('reads %j as %s percent', (line, percent) => {
  expect(parseRsyncPercent(line)).toBe(percent);
});

describe('rsyncProgress', () => {
  it.each([
    ['steps of five', [0, 4, 5, 9, 10, 16], [5, 10, 16]],
    ['the last step in any case', [98, 100], [98, 100]],
    ['a hundred once', [100, 100, 50], [100]],
    ['nothing that goes back', [40, 20, 44, 45], [40, 45]],
  ])('tells %s', (_what, seen, told) => {
    const percents: (number | undefined)[] = [];
    const read = rsyncProgress(({ percent }) => percents.push(percent));
    for (const percent of seen) read(`1.0G ${percent}% 1MB/s`);
    expect(percents).toEqual(told);
  });
});

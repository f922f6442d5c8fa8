import { expect, it } from 'vitest';
import { keepsPartitions } from './kept-partitions.ts';

it.each([
  [['--save-partlabel', 'data*'], true],
  [['--save-partindex=5-'], true],
  [['--append-karg', '--save-partlabels'], false],
  [[], false],
])('%j keeps partitions: %s', (args, expected) => {
  expect(keepsPartitions(args)).toBe(expected);
});

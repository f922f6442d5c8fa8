import { describe, expect, it } from 'vitest';
import {
  copiesNetwork,
  keepsPartitions,
  kernelArgumentChanges,
  missingChanges,
} from './writer-args.ts';

describe('kernel arguments among those of the writer', () => {
  it.each<[string[], string[], string[]]>([
    [[], [], []],
    [['--append-karg', 'a', '--append-karg', 'b', '--delete-karg', 'c'], ['a', 'b'], ['c']],
    [['--append-karg=a=1', '--delete-karg=c'], ['a=1'], ['c']],
    [['--console', 'ttyS0', '--append-karg'], [], []],
    [['--copy-network', '--append-karg', 'x', '-n'], ['x'], []],
  ])('%j', (args, append, remove) => {
    expect(kernelArgumentChanges(args)).toEqual({ append, remove });
  });

  it('are changed only where they are not yet as wanted', () => {
    const wanted = { append: ['a', 'b'], remove: ['c', 'd'] };
    expect(missingChanges(wanted, ['b', 'c', 'quiet'])).toEqual({ append: ['a'], remove: ['c'] });
  });

  it.each([
    [['-n'], true],
    [['--copy-network'], true],
    [['--network-dir', '/x'], false],
  ])('%j copies the network: %s', (args, expected) => {
    expect(copiesNetwork(args)).toBe(expected);
  });
});

it.each([
  [['--save-partlabel', 'data*'], true],
  [['--save-partindex=5-'], true],
  [['--append-karg', '--save-partlabels'], false],
  [[], false],
])('%j keeps partitions: %s', (args, expected) => {
  expect(keepsPartitions(args)).toBe(expected);
});

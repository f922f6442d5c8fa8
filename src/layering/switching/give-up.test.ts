import { describe, expect, it } from 'vitest';
import { givenUp } from './give-up.ts';
import type { NodeStanding } from './node-standing.ts';

const node = (change: Partial<NodeStanding> = {}): NodeStanding => ({
  ...{ name: 'm1', bootId: 'b1', readiness: { isReady: true }, state: 'Done', reason: '' },
  ...{ hasConfig: true, isTold: false, drain: 'none', pods: {}, leaving: [] },
  ...change,
});
const record = (isDone: boolean): NodeStanding['pods'] => ({
  record: {
    ...{ name: 'p', act: 'record', isDone, hasFailed: false, bootId: 'b1', status: 'runs' },
  },
});

describe('givenUp', () => {
  it.each<[string, NodeStanding, 'nothing' | 'toReturn' | 'unfinished']>([
    ['was not begun', node(), 'nothing'],
    ['is being drained', node({ drain: 'draining' }), 'toReturn'],
    ['is drained', node({ drain: 'drained' }), 'toReturn'],
    [
      'is drained, and could not be told',
      node({ drain: 'drained', pods: record(false) }),
      'toReturn',
    ],
    ['knows its image', node({ drain: 'drained', pods: record(true) }), 'unfinished'],
    ['was told', node({ drain: 'drained', isTold: true }), 'unfinished'],
    ['was told, and is degraded', node({ isTold: true, state: 'Degraded' }), 'unfinished'],
    ['is through', node({ isTold: true }), 'nothing'],
  ])('of a node that %s', (_, one, where) => {
    const { toReturn, unfinished } = givenUp([one]);
    const expected = { nothing: [0, 0], toReturn: [1, 0], unfinished: [0, 1] }[where];
    expect([toReturn.length, unfinished.length]).toEqual(expected);
  });
});

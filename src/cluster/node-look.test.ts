import { describe, expect, it } from 'vitest';
import { lookAtNodes, type NodeStanding } from './node-look.ts';

const waiting: NodeStanding = { name: 'm2', missing: 'NotReady, container network is not ready' };

describe('a look at nodes', () => {
  it.each([
    ['master', 2, [], false, '0 of 2 masters ready; no master has joined yet'],
    [
      'master',
      2,
      [{ name: 'm1' }],
      false,
      '1 of 2 masters ready; no further master has joined yet',
    ],
    [
      'master',
      2,
      [{ name: 'm1' }, waiting],
      false,
      '1 of 2 masters ready; m2: NotReady, container network is not ready',
    ],
    ['master', 2, [{ name: 'm1' }, { name: 'm3' }], true, '2 of 2 masters ready'],
    ['master', 1, [{ name: 'm1' }, waiting], true, undefined],
    ['arbiter', 1, [], false, '0 of 1 arbiter ready; no arbiter has joined yet'],
  ] as const)('of role %s, %i wanted: %j', (...[role, target, nodes, isDone, status]) => {
    const look = lookAtNodes(role, target, nodes);
    expect(look.isDone).toBe(isDone);
    expect(status === undefined ? [] : [status]).toEqual(status === undefined ? [] : [look.status]);
  });
});

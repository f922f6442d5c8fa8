import { describe, expect, it } from 'vitest';
import { decideDrain } from './drain.ts';
import { keyOf } from './objects.ts';

const nodeWith = (annotations: Readonly<Record<string, string>>) => ({
  metadata: {
    name: 'm1',
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [keyOf(key), value]),
    ),
  },
});

describe('the drain controller', () => {
  it.each<readonly [string, Readonly<Record<string, string>>, object | undefined]>([
    ['leaves a node alone that asks for nothing', {}, undefined],
    [
      'empties a node that was never emptied',
      { desiredDrain: 'drain-r1' },
      { kind: 'cordon', node: 'm1', wish: 'drain-r1' },
    ],
    [
      'is through with a wish that it has met',
      { desiredDrain: 'drain-r1', lastAppliedDrain: 'drain-r1' },
      undefined,
    ],
    [
      'lets a node be filled again',
      { desiredDrain: 'uncordon-r1', lastAppliedDrain: 'drain-r1' },
      { kind: 'uncordon', node: 'm1', wish: 'uncordon-r1' },
    ],
    [
      'empties a node once more, for another MachineConfig',
      { desiredDrain: 'drain-r2', lastAppliedDrain: 'uncordon-r1' },
      { kind: 'cordon', node: 'm1', wish: 'drain-r2' },
    ],
    ['knows no other wish', { desiredDrain: 'empty-r1' }, undefined],
    ['wants the name of a MachineConfig', { desiredDrain: 'drain-' }, undefined],
  ])('%s', (_, annotations, deed) => {
    expect(decideDrain(nodeWith(annotations))).toEqual(deed);
  });
});

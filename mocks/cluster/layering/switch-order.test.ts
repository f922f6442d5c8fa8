import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { keyOf } from './objects.ts';
import { type NodeRestart, wrongWithRestart, wrongWithRollOut } from './switch-order.ts';

interface NodeShape {
  readonly role?: 'master' | 'arbiter' | 'worker';
  readonly image?: string;
  readonly desired?: string;
  readonly isReady?: boolean;
  readonly isCordoned?: boolean;
  readonly drain?: string;
  readonly state?: string;
}

function nodeOf(name: string, shape: NodeShape = {}): KubeObject {
  const { role = 'master', image = 'stock', desired = image, isReady = true } = shape;
  const { isCordoned = false, drain = '', state = 'Done' } = shape;
  const all = { currentImage: image, desiredImage: desired, lastAppliedDrain: drain, state };
  return {
    metadata: {
      name,
      labels: { [`node-role.kubernetes.io/${role}`]: '' },
      annotations: Object.fromEntries(
        Object.entries(all).map(([key, value]) => [keyOf(key), value]),
      ),
    },
    spec: { unschedulable: isCordoned },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  };
}

const drained: NodeShape = { image: 'built', isCordoned: true, drain: 'drain-r' };
const [m2, m3, w1, w2] = [
  nodeOf('m2'),
  nodeOf('m3'),
  nodeOf('w1', { role: 'worker' }),
  nodeOf('w2', { role: 'worker' }),
];
const nodes = [nodeOf('m1', drained), m2, m3, w1, w2];

/** A restart in order, but for a change. */
const restarted = (shape: NodeShape, change: Partial<NodeRestart> = {}): NodeRestart => ({
  node: nodeOf(shape.role === 'worker' ? 'w1' : 'm1', { ...drained, ...shape }),
  image: 'built',
  recorded: 'built',
  nodes,
  ...change,
});

describe('the order of a switch', () => {
  it.each<readonly [string, NodeRestart, readonly string[]]>([
    ['is kept', restarted({}), []],
    ['is kept by a worker', restarted({ role: 'worker' }), []],
    [
      'is broken by a node that takes pods',
      restarted({ isCordoned: false }),
      ['node m1 was restarted although it was not drained'],
    ],
    [
      'is broken by a node that was only cordoned',
      restarted({ drain: 'uncordon-r' }),
      ['node m1 was restarted although it was not drained'],
    ],
    [
      'is broken by a node that is told nothing',
      restarted({ image: '' }),
      [
        'node m1 was restarted although its currentImage is not there, not built',
        'node m1 was restarted although its desiredImage is not there, not built',
      ],
    ],
    [
      'is broken by a node that is to move elsewhere',
      restarted({ desired: 'other' }),
      ['node m1 was restarted although its desiredImage is other, not built'],
    ],
    [
      'is broken by a disk without the record',
      restarted({}, { recorded: '' }),
      ['node m1 was restarted although its disk records nothing, not built'],
    ],
    [
      'is broken while another node of the pool is away',
      restarted({}, { nodes: [...nodes, nodeOf('m4', { isReady: false })] }),
      ['node m1 was restarted although node m4 of its pool was not at rest'],
    ],
    [
      'is broken while another node of the pool takes no pods',
      restarted({}, { nodes: [...nodes, nodeOf('m4', { isCordoned: true })] }),
      ['node m1 was restarted although node m4 of its pool was not at rest'],
    ],
    [
      'is broken while another node of the pool is degraded',
      restarted({}, { nodes: [...nodes, nodeOf('m4', { state: 'Degraded' })] }),
      ['node m1 was restarted although node m4 of its pool was not at rest'],
    ],
    [
      'does not care for nodes of another pool',
      restarted({}, { nodes: [...nodes, nodeOf('w3', { role: 'worker', isReady: false })] }),
      [],
    ],
    [
      'is broken by one of two masters',
      restarted({}, { nodes: [nodeOf('m1', drained), m2] }),
      ['node m1 was restarted although of the masters only 2 were Ready'],
    ],
    [
      'counts an arbiter',
      restarted({}, { nodes: [nodeOf('m1', drained), m2, nodeOf('a1', { role: 'arbiter' })] }),
      [],
    ],
    ['lets a worker go beside two masters', restarted({ role: 'worker' }, { nodes: [m2, m3] }), []],
  ])('%s', (_, restart, incidents) => {
    expect(wrongWithRestart(restart)).toEqual(incidents);
  });

  it.each([
    ['three masters', 'master', nodes, undefined],
    [
      'two masters',
      'master',
      [m2, m3, w1],
      'the roll-out of pool master began although of the masters only 2 were Ready',
    ],
    ['workers beside two masters', 'worker', [m2, m3, w1], undefined],
  ])('lets the operator at a pool: %s', (...[, pool, found, incident]) => {
    expect(wrongWithRollOut(pool, found)).toBe(incident);
  });
});

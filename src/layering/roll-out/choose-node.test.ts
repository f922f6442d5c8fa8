import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { chooseNode } from './choose-node.ts';
import { isDegraded, maxUnavailable, unreadyReason } from './node-state.ts';

const target = { config: 'r2', image: 'i2' };

interface Traits {
  readonly state?: string;
  readonly desired?: string;
  readonly current?: string;
  readonly isReady?: boolean;
  readonly isCordoned?: boolean;
  readonly zone?: string;
  readonly created?: string;
}

function node(name: string, traits: Traits = {}): KubeObject {
  const { state = 'Done', desired = '1', current = desired, isReady = true } = traits;
  const { isCordoned = false, zone = 'a', created = '2026-01-01T00:00:00Z' } = traits;
  return {
    metadata: {
      name,
      creationTimestamp: created,
      labels: { 'topology.kubernetes.io/zone': zone },
      annotations: {
        [nodeKeys.state]: state,
        [nodeKeys.desiredConfig]: `r${desired}`,
        [nodeKeys.desiredImage]: `i${desired}`,
        [nodeKeys.currentConfig]: `r${current}`,
        [nodeKeys.currentImage]: `i${current}`,
      },
    },
    spec: isCordoned ? { unschedulable: true } : {},
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  };
}

const pool = (name: string, spec: object = {}): KubeObject => ({ metadata: { name }, spec });
const done = { desired: '2' };
const working = { desired: '2', current: '1', state: 'Working' };
const degraded = { desired: '2', current: '1', state: 'Degraded' };

describe('the state of a node', () => {
  const condition = (type: string, status: string) => ({ type, status });
  it.each<[string | undefined, ...object[]]>([
    [undefined, condition('Ready', 'True')],
    ['not Ready'],
    ['DiskPressure', condition('Ready', 'True'), condition('DiskPressure', 'True')],
    ['DiskPressure', condition('Ready', 'True'), condition('DiskPressure', 'Unknown')],
    ['NetworkUnavailable', condition('Ready', 'True'), condition('NetworkUnavailable', 'True')],
    // The operator ignores this condition too.
    [undefined, condition('Ready', 'True'), condition('MemoryPressure', 'True')],
  ])('is unready because of %s with %j', (reason, ...conditions) => {
    expect(unreadyReason({ ...node('n'), status: { conditions } })).toBe(reason);
  });

  it.each([
    ['Degraded', true],
    ['Unreconcilable', true],
    ['Working', false],
    ['Done', false],
  ])('is degraded in agent state %s: %s', (state, expected) => {
    expect(isDegraded(node('n', { state }))).toBe(expected);
  });
});

describe('maxUnavailable', () => {
  it.each<[string, unknown, number, number]>([
    ['worker', undefined, 10, 1],
    ['worker', 0, 10, 1],
    ['worker', 3, 10, 3],
    ['worker', '25%', 10, 2],
    ['worker', '5%', 10, 1],
    // The operator ignores a quoted number.
    ['worker', '2', 10, 1],
    ['worker', '12.5%', 100, 1],
    ['worker', '0%', 10, 1],
    ['worker', -1, 10, 1],
    ['worker', `${'9'.repeat(400)}%`, 10, 1],
    ['arbiter', 3, 3, 1],
  ])('of pool %s with %j and %i nodes is %i', (...[name, wanted, nodes, expected]) => {
    expect(maxUnavailable(pool(name, { maxUnavailable: wanted }), nodes)).toBe(expected);
  });
});

describe('chooseNode', () => {
  it.each<[string, readonly KubeObject[], string | undefined, object?, string?]>([
    ['the first node by name', [node('b'), node('a')], 'a'],
    ['the first node by name of a sorted list', [node('a'), node('b'), node('c')], 'a'],
    ['the older node', [node('a', { created: '2026-02-01T00:00:00Z' }), node('b')], 'b'],
    ['the first node by zone', [node('a', { zone: 'b' }), node('b', { created: '2027' })], 'b'],
    ['no node that already has the target', [node('a', done), node('b')], 'b'],
    ['no node while another is updated', [node('a', working), node('b')], undefined],
    [
      'no node while another has just been chosen',
      [node('a', { desired: '2', current: '1' }), node('b')],
      undefined,
    ],
    ['no node while another is degraded', [node('a', degraded), node('b')], undefined],
    [
      'no node while another is not Ready',
      [node('a', { ...done, isReady: false }), node('b')],
      undefined,
    ],
    [
      'no node while another is cordoned',
      [node('a', { ...done, isCordoned: true }), node('b')],
      undefined,
    ],
    [
      'a second node with maxUnavailable 2',
      [node('a', working), node('b')],
      'b',
      { maxUnavailable: 2 },
    ],
    [
      'no second master with maxUnavailable 2',
      [node('a', working), node('b')],
      undefined,
      { maxUnavailable: 2 },
      'master',
    ],
    ['no node of a paused pool', [node('a')], undefined, { paused: true }],
    ['a degraded node with another target', [node('a', { state: 'Degraded' }), node('b')], 'a'],
    [
      'no node that is being updated to another target',
      [node('a', { ...working, desired: '3' }), node('b', done)],
      undefined,
    ],
    [
      'no node while the first is cordoned by a user',
      [node('a', { isCordoned: true }), node('b')],
      undefined,
    ],
    [
      'a node other than the cordoned one with maxUnavailable 2',
      [node('a', { isCordoned: true }), node('b')],
      'b',
      { maxUnavailable: 2 },
    ],
    [
      'a degraded node that its drain has cordoned',
      [node('a', { state: 'Degraded', isCordoned: true })],
      'a',
    ],
    ['no node without an agent', [node('a', { state: '' })], undefined],
  ])('chooses %s', (...[, nodes, expected, spec, name = 'worker']) => {
    const choice = chooseNode({ pool: pool(name, spec), nodes, target });
    expect('node' in choice ? choice.node.metadata.name : undefined).toBe(expected);
    if (!('node' in choice))
      expect(choice.waitsFor).toMatch(
        /^the pool is paused$|^1 of at most 1 unavailable: \w \(.+\)$/,
      );
  });

  it('waits for nothing once every node has the target as desired', () => {
    const nodes = [node('a', done), node('b', working)];
    expect(chooseNode({ pool: pool('worker'), nodes, target })).toEqual({ waitsFor: undefined });
  });

  it('names a chosen node whose agent has not begun as such', () => {
    const nodes = [node('a', { desired: '2', current: '1' }), node('b')];
    expect(chooseNode({ pool: pool('worker'), nodes, target })).toEqual({
      waitsFor: '1 of at most 1 unavailable: a (its agent has not begun)',
    });
  });

  it('waits while an etcd member of another pool is unavailable, and names it', () => {
    const [own, other] = [node('a'), node('m', { ...done, isReady: false })];
    const two = pool('infra', { maxUnavailable: 2 });
    expect(chooseNode({ pool: two, nodes: [own], members: [own, other], target })).toEqual({
      waitsFor: '1 of at most 1 unavailable: m (not Ready)',
    });
  });

  it('chooses a node whose image is not in the target', () => {
    const nodes = [node('a', done)];
    const choice = chooseNode({
      pool: pool('w'),
      nodes,
      target: { config: 'r2', image: undefined },
    });
    expect(choice).toHaveProperty('node');
  });
});

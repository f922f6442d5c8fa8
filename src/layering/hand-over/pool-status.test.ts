import { describe, expect, it } from 'vitest';
import {
  layeredCluster,
  masterBuild,
  masterImage,
  masterRendered,
  nodeObject,
  poolObject,
} from '../../../test/layering/layered-pool.ts';
import { nodesOfPool, stagingReferences, poolStatus } from './pool-status.ts';

describe('poolStatus', () => {
  it('reports the whole status of a layered pool', () => {
    expect(poolStatus('master', layeredCluster({ nodes: ['m1'] }))).toEqual({
      pool: 'master',
      isLayered: true,
      isPaused: false,
      conditions: { updated: 'True', updating: 'False', degraded: 'False' },
      rendered: masterRendered,
      pushSpec: 'registry.example.com/ocl/master:latest',
      build: { name: masterBuild, phase: 'Succeeded' },
      image: masterImage,
      nodes: [{ name: 'm1', state: 'Done', currentImage: masterImage, desiredImage: masterImage }],
      violations: [],
    });
  });

  it.each([
    [{ status: {} }, 'not started'],
    [{ status: { conditions: [{ type: 'Building', status: 'True' }] } }, 'Building'],
  ])('reports the phase of the build and the pause', (build, phase) => {
    const status = poolStatus('master', layeredCluster({ build, pool: { paused: true } }));
    expect(status.build.phase).toBe(phase);
    expect(status.isPaused).toBe(true);
  });
});

const infra = poolObject('infra');
const expressed = poolObject('gpu', {
  nodeSelector: {
    matchExpressions: [
      { key: 'gpu', operator: 'In', values: ['a', 'b'] },
      { key: 'old', operator: 'DoesNotExist' },
      { key: 'zone', operator: 'Exists' },
      { key: 'zone', operator: 'NotIn', values: ['z9'] },
    ],
  },
});
const pools = [poolObject('worker'), infra, expressed, poolObject('master')];
const node = (name: string, ...roles: readonly string[]) => {
  const made = nodeObject(name, roles[0] ?? '');
  const labels = Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, '']));
  return { ...made, metadata: { ...made.metadata, labels } };
};
const withLabels = (name: string, labels: Record<string, string>) => {
  const made = node(name, 'worker');
  return {
    ...made,
    metadata: { ...made.metadata, labels: { ...made.metadata.labels, ...labels } },
  };
};

const nodes = [
  node('m', 'master', 'worker'),
  node('w', 'worker'),
  node('i', 'worker', 'infra'),
  withLabels('g', { gpu: 'a', zone: 'z1' }),
  withLabels('g-far', { gpu: 'a', zone: 'z9' }),
  withLabels('g-old', { gpu: 'a', zone: 'z1', old: '' }),
  withLabels('g-other', { gpu: 'c', zone: 'z1' }),
  { metadata: { name: 'nobody' } },
];

describe('nodesOfPool', () => {
  it.each([
    ['master', ['m']],
    ['infra', ['i']],
    ['gpu', ['g']],
    ['worker', ['w', 'g-far', 'g-old', 'g-other']],
    ['none', []],
  ])('assigns each node to one pool: %s', (pool, names) => {
    const found = nodesOfPool(pool, { pools, nodes });
    expect(found.map(({ metadata }) => metadata.name)).toEqual(names);
  });

  it.each([
    [{ metadata: { name: 'p' } }],
    [poolObject('p', { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Gt' }] } })],
    [poolObject('p', { nodeSelector: {} })],
    [poolObject('p', { nodeSelector: { matchLabels: {}, matchExpressions: [] } })],
  ])('assigns no node to a pool without a usable selector', (pool) => {
    expect(nodesOfPool('p', { pools: [pool], nodes })).toEqual([]);
  });

  it('assigns a Windows node to no pool', () => {
    const windows = withLabels('x', { 'kubernetes.io/os': 'windows' });
    expect(nodesOfPool('worker', { pools, nodes: [windows] })).toEqual([]);
  });
});

const address = '10.0.0.1:5000';
const staged = `${address}/ocl/master@sha256:${'a'.repeat(64)}`;

describe('stagingReferences', () => {
  const found = (object: object): readonly string[] =>
    stagingReferences(address, 'things', [{ metadata: { name: 'x' }, ...object }]);

  it.each([
    ['a spec', { spec: { osImageURL: staged } }],
    ['a status', { status: { currentImagePullSpec: staged } }],
    ['an annotation', { metadata: { name: 'x', annotations: { key: staged } } }],
    ['the bare address', { spec: { osImageURL: address } }],
  ])('finds %s', (_, object) => {
    expect(found(object)).toEqual(['things x']);
  });

  it.each([`1${staged}`, `10.0.0.1:50000/x`, `registry.example.com/10.0.0.1`, `a.${staged}`])(
    'ignores %s',
    (osImageURL) => {
      expect(found({ spec: { osImageURL } })).toEqual([]);
    },
  );
});

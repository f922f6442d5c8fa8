import { describe, expect, it } from 'vitest';
import { nodeObject, poolObject } from '../../../test/layering/layered-pool.ts';
import { nodesOfPool } from './pool-nodes.ts';

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
  ])('gives each node to one pool: %s', (pool, names) => {
    const found = nodesOfPool(pool, { pools, nodes });
    expect(found.map(({ metadata }) => metadata.name)).toEqual(names);
  });

  it.each([
    [{ metadata: { name: 'p' } }],
    [poolObject('p', { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Gt' }] } })],
  ])('gives none to a pool that selects none', (pool) => {
    expect(nodesOfPool('p', { pools: [pool], nodes })).toEqual([]);
  });
});

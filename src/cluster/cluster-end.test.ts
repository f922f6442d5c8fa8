import { expect, it } from 'vitest';
import type { KubeObject } from '../ports/kube.ts';
import { clusterNotSettled } from './cluster-end.ts';

const object = (name: string, conditions: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { name },
  status: {
    conditions: Object.entries(conditions).map(([type, status]) => ({
      type,
      status,
      message: `${type} of ${name}`,
    })),
  },
});
const version = object('version', { Available: 'True' });
const settled = { Available: 'True', Degraded: 'False', Progressing: 'False' };
const dns = object('dns', settled);

it.each<[string, KubeObject | undefined, readonly KubeObject[], string | undefined]>([
  ['nothing', undefined, [dns], 'the ClusterVersion is not there yet'],
  [
    'a version on its way',
    object('version', { Available: 'False', Progressing: 'True' }),
    [dns],
    'the ClusterVersion is not available: Progressing of version',
  ],
  ['no operator', version, [], 'no ClusterOperator is there yet'],
  [
    'one that is not available',
    version,
    [dns, object('etcd', { ...settled, Available: 'False' })],
    'ClusterOperator etcd is not available: Available of etcd',
  ],
  [
    'one that says nothing yet',
    version,
    [object('a', {}), dns],
    'ClusterOperator a is not available',
  ],
  [
    'one that is degraded, though available',
    version,
    [dns, object('network', { ...settled, Degraded: 'True', Progressing: 'True' })],
    'ClusterOperator network is degraded: Degraded of network',
  ],
  [
    'the first of two',
    version,
    [
      object('b', { ...settled, Progressing: 'True' }),
      object('c', { ...settled, Degraded: 'True' }),
    ],
    'ClusterOperator b is progressing: Progressing of b',
  ],
  ['all settled', version, [dns, object('etcd', settled)], undefined],
])('the end of an installation: %s', (...[, seen, operators, expected]) => {
  expect(clusterNotSettled(seen, operators)).toBe(expected);
});

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
  ['no ClusterVersion', undefined, [dns], 'the ClusterVersion is not there yet'],
  [
    'a ClusterVersion that is installing',
    object('version', { Available: 'False', Progressing: 'True' }),
    [dns],
    'the ClusterVersion is not available: Progressing of version',
  ],
  ['no ClusterOperator', version, [], 'no ClusterOperator is there yet'],
  [
    'a ClusterOperator that is not available',
    version,
    [dns, object('etcd', { ...settled, Available: 'False' })],
    'ClusterOperator etcd is not available: Available of etcd',
  ],
  [
    'a ClusterOperator without conditions',
    version,
    [object('a', {}), dns],
    'ClusterOperator a is not available',
  ],
  [
    'a ClusterOperator that is degraded but available',
    version,
    [dns, object('network', { ...settled, Degraded: 'True', Progressing: 'True' })],
    'ClusterOperator network is degraded: Degraded of network',
  ],
  [
    'two unsettled ClusterOperators, of which it names the first',
    version,
    [
      object('b', { ...settled, Progressing: 'True' }),
      object('c', { ...settled, Degraded: 'True' }),
    ],
    'ClusterOperator b is progressing: Progressing of b',
  ],
  [
    'settled ClusterVersion and ClusterOperators',
    version,
    [dns, object('etcd', settled)],
    undefined,
  ],
])('clusterNotSettled with %s', (...[, seen, operators, expected]) => {
  expect(clusterNotSettled(seen, operators)).toBe(expected);
});

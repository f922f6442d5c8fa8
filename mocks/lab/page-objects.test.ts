import { expect, it } from 'vitest';
import type { KubeObject } from '../../src/ports/kube.ts';
import { type ShownKind, stateOf } from './page-objects.ts';

const condition = (type: string, status: boolean, message = ''): object => ({
  type,
  status: status ? 'True' : 'False',
  message,
});

const object = (status: object, spec: object = {}): KubeObject => ({
  metadata: { name: 'x' },
  status,
  spec,
});

const having = (...conditions: readonly object[]): KubeObject => object({ conditions });

it.each<[ShownKind, KubeObject, string, string]>([
  ['Node', having(condition('Ready', true)), 'Ready', 'good'],
  ['Node', having(condition('Ready', false, 'no CNI')), 'NotReady: no CNI', 'waiting'],
  ['ClusterOperator', having(condition('Available', true)), 'Available', 'good'],
  ['ClusterOperator', having(condition('Degraded', true, 'EOF')), 'Degraded: EOF', 'bad'],
  ['ClusterOperator', having(condition('Progressing', true)), 'Progressing', 'busy'],
  ['ClusterVersion', object({}), 'not available', 'waiting'],
  [
    'MachineConfigPool',
    object({ machineCount: 3, updatedMachineCount: 1 }, { paused: true }),
    '1 of 3 updated, paused',
    'busy',
  ],
  ['MachineOSConfig', object({ currentImagePullSpec: 'a@b' }), 'has its image', 'good'],
  ['MachineOSBuild', having(condition('Building', true)), 'Building', 'busy'],
  ['MachineOSBuild', having(condition('Succeeded', true)), 'Succeeded', 'good'],
  ['MachineOSBuild', having(condition('Failed', true, 'no')), 'Failed: no', 'bad'],
  ['CertificateSigningRequest', object({}), 'Pending', 'waiting'],
  ['CertificateSigningRequest', having(condition('Approved', true)), 'Approved', 'good'],
  ['CertificateSigningRequest', having(condition('Denied', true)), 'Denied', 'bad'],
])('%s', (kind, seen, ...shown) => {
  const { state, tone } = stateOf(kind, seen);
  expect([state, tone]).toEqual(shown);
});

import { describe, expect, it } from 'vitest';
import { type OperatorObjects, operatorReason } from './ownership.ts';

const none: OperatorObjects = { deployment: undefined, pods: [] };

const deployment = (spec: object): OperatorObjects => ({
  ...none,
  deployment: { metadata: { name: 'machine-config-controller' }, spec },
});

const daemonSet = { kind: 'DaemonSet', name: 'machine-config-daemon', controller: true };

function pod(nodeName: string, owner: object, more: object = {}): OperatorObjects {
  const ownerReferences = [{ ...daemonSet, ...owner }];
  const metadata = { name: 'mcd-x', ownerReferences };
  return { ...none, pods: [{ metadata, spec: { nodeName }, ...more }] };
}

const replicaSet = { kind: 'ReplicaSet', name: 'machine-config-controller-7d9f' };
const controller = { labels: { 'k8s-app': 'machine-config-controller' } };
const left = (metadata: object, phase = 'Running'): OperatorObjects => ({
  ...none,
  pods: [{ metadata: { name: 'mcc-x', ...metadata }, status: { phase } }],
});

const now = Date.parse('2026-11-26T12:00:00Z');
const lease = (spec: object): OperatorObjects => ({
  ...none,
  now,
  lease: {
    metadata: { name: 'machine-config-controller' },
    spec: { holderIdentity: 'mcc-x', leaseDurationSeconds: 137, ...spec },
  },
});

const nodes = [{ metadata: { name: 'w0' } }, { metadata: { name: 'w1' } }];

describe('operatorReason', () => {
  it.each<[string, OperatorObjects, string | undefined]>([
    ['nothing of it is there', none, undefined],
    ['its deployment has a replica', deployment({ replicas: 1 }), 'Deployment'],
    ['its deployment says nothing of replicas', deployment({}), 'Deployment'],
    ['its deployment is scaled down', deployment({ replicas: 0 }), undefined],
    ['its daemon is on a node of the pool', pod('w1', {}), 'node w1'],
    ['its daemon is on another node', pod('m0', {}), undefined],
    ['its daemon has ended there', pod('w1', {}, { status: { phase: 'Failed' } }), undefined],
    ['a pod has only the name of it', pod('w1', { name: 'other' }), undefined],
    ['a ReplicaSet has the name of it', pod('w1', { kind: 'ReplicaSet' }), undefined],
    ['it is an owner that does not control', pod('w1', { controller: false }), undefined],
    ['a pod of its deployment works on', pod('m0', replicaSet), 'mcd-x'],
    [
      'a pod of its deployment is being removed',
      left({ deletionTimestamp: '2026-11-26T12:00:00Z', ...controller }),
      'mcc-x',
    ],
    ['nobody looks after its pod any more', left(controller, 'Pending'), 'mcc-x'],
    ['its pod has ended', left(controller, 'Succeeded'), undefined],
    ['a pod has only the name of it', left({ name: 'machine-config-controller-1-x' }), undefined],
    [
      'another pod has the label of it',
      left({ ...controller, ownerReferences: [{ ...daemonSet, name: 'other' }] }),
      undefined,
    ],
    ['its lease is renewed', lease({ renewTime: '2026-11-26T11:57:43.000000Z' }), 'lease'],
    ['its lease says no time', lease({}), 'lease'],
    ['its lease has run out', lease({ renewTime: '2026-11-26T11:57:42.999000Z' }), undefined],
    [
      'its lease was given back',
      lease({ holderIdentity: '', renewTime: '2026-11-26T12:00:00.000000Z' }),
      undefined,
    ],
  ])('where %s', (_, objects, expected) => {
    const reason = operatorReason(objects, nodes);
    if (expected === undefined) expect(reason).toBeUndefined();
    else expect(reason).toContain(expected);
  });
});

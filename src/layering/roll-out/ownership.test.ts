import { describe, expect, it } from 'vitest';
import { leaseObserver, type OperatorObjects, operatorReason } from './ownership.ts';

const none: OperatorObjects = { deployments: [], leases: [], pods: [], now: 0 };

const deployment = (spec: object, name = 'machine-config-controller'): OperatorObjects => ({
  ...none,
  deployments: [{ metadata: { name }, spec }],
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

const heldLease = (spec: object, name = 'machine-config-controller') => ({
  metadata: { name },
  spec: { holderIdentity: 'mcc-x', leaseDurationSeconds: 137, ...spec },
});
const lease = (age: number, spec: object = {}, name?: string): OperatorObjects => ({
  ...none,
  now: 1_000_000,
  leases: [{ lease: heldLease(spec, name), since: 1_000_000 - age }],
});

const nodes = [{ metadata: { name: 'w0' } }, { metadata: { name: 'w1' } }];

describe('operatorReason', () => {
  it.each<[string, OperatorObjects, string | undefined]>([
    ['the operator has no objects', none, undefined],
    ['its deployment has a replica', deployment({ replicas: 1 }), 'Deployment'],
    ['its deployment has no replicas field', deployment({}), 'Deployment'],
    ['its deployment is scaled down', deployment({ replicas: 0 }), undefined],
    ['its daemon is on a node of the pool', pod('w1', {}), 'node w1'],
    ['its daemon is on another node', pod('m0', {}), undefined],
    ['a ReplicaSet has the name of its daemon', pod('w1', { kind: 'ReplicaSet' }), undefined],
    ['its daemon is an owner but not the controller', pod('w1', { controller: false }), undefined],
    ['a pod of its deployment still runs', pod('m0', replicaSet), 'mcd-x'],
    [
      'a pod of its deployment is being removed',
      left({ deletionTimestamp: '2026-11-26T12:00:00Z', ...controller }),
      'mcc-x',
    ],
    ['its pod is orphaned', left(controller, 'Pending'), 'mcc-x'],
    ['its pod has ended', left(controller, 'Succeeded'), undefined],
    ['a pod has only its name', left({ name: 'machine-config-controller-1-x' }), undefined],
    [
      'a pod of another owner has its label',
      left({ ...controller, ownerReferences: [{ ...daemonSet, name: 'other' }] }),
      undefined,
    ],
    ['its lease was renewed', lease(137_000), 'lease'],
    ['its lease has expired', lease(137_001), undefined],
    ['its lease has no duration', lease(500_000, { leaseDurationSeconds: undefined }), 'lease'],
    ['its lease was released', lease(0, { holderIdentity: '' }), undefined],
    [
      'the lease of another program was renewed',
      lease(0, {}, 'machine-config-operator'),
      undefined,
    ],
    ['its builder has a deployment', deployment({}, 'machine-os-builder'), 'machine-os-builder'],
  ])('when %s', (_, objects, expected) => {
    const reason = operatorReason(objects, nodes);
    if (expected === undefined) expect(reason).toBeUndefined();
    else expect(reason).toContain(expected);
  });
});

describe('leaseObserver', () => {
  it('counts from the observed change of a lease, not from its renewTime', () => {
    let now = 1_000;
    const observed = leaseObserver({ elapsed: () => now });
    const sinceOf = (renewTime: string, name?: string): number =>
      observed(heldLease({ renewTime }, name)).since;
    expect(sinceOf('2020-01-01T00:00:00.000000Z')).toBe(1_000);
    now = 2_000;
    expect(sinceOf('2020-01-01T00:00:00.000000Z')).toBe(1_000);
    expect(sinceOf('2020-01-01T00:00:00.000000Z', 'machine-os-builder')).toBe(2_000);
    expect(sinceOf('2020-01-01T00:00:26.000000Z')).toBe(2_000);
  });
});

import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { deployments, leases, pods } from '../../kube/kinds.ts';
import {
  leaseObserver,
  type OperatorObjects,
  operatorReason,
  operatorReasonNow,
} from './ownership.ts';

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

describe('operatorReasonNow', () => {
  const namespace = 'openshift-machine-config-operator';
  const ask = (kube: ReturnType<typeof fakeKube>, ...names: readonly string[]) => {
    const clock = fakeClock();
    const observed = leaseObserver(clock);
    const { signal } = new AbortController();
    return operatorReasonNow({ kube, clock, observed, namespace, nodes: names }, signal);
  };
  const inNamespace = (metadata: object) => ({ name: 'x', namespace, ...metadata });

  it.each<[string, readonly string[], string | undefined]>([
    ['its node', ['w0'], 'node w0'],
    ['another node', ['w1'], undefined],
    ['several nodes', ['w1', 'w0'], 'node w0'],
    ['no node', [], undefined],
  ])('counts a daemon on w0 for %s', async (_, names, reason) => {
    const kube = fakeKube().put(pods, {
      metadata: inNamespace({ ownerReferences: [daemonSet] }),
      spec: { nodeName: 'w0' },
    });
    const found = await ask(kube, ...names);
    if (reason === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(reason);
  });

  it('reads the Deployments, the leases and the orphaned pods of both programs', async () => {
    for (const name of ['machine-config-controller', 'machine-os-builder']) {
      const metadata = inNamespace({ name });
      expect(await ask(fakeKube().put(deployments, { metadata }))).toContain(name);
      const held = { ...heldLease({}, name), metadata };
      expect(await ask(fakeKube().put(leases, held))).toContain(`lease ${name}`);
      const orphan = { metadata: inNamespace({ labels: { 'k8s-app': name } }) };
      expect(await ask(fakeKube().put(pods, orphan))).toContain('its pod x');
    }
    const other = { metadata: inNamespace({ namespace: 'default', name: 'machine-os-builder' }) };
    expect(await ask(fakeKube().put(deployments, other))).toBeUndefined();
  });
});

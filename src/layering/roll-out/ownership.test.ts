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
  ])('where %s', (_, objects, expected) => {
    const reason = operatorReason(objects, nodes);
    if (expected === undefined) expect(reason).toBeUndefined();
    else expect(reason).toContain(expected);
  });
});

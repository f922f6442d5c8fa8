import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../test/support/cluster-objects.ts';
import { signingRequestObject } from '../../test/support/kubelet-request.ts';
import type { KubeKind, KubeObject } from '../ports/kube.ts';
import { readSigningRequest } from './csr/signing-request.ts';
import { dropText, kept } from './kept.ts';
import { certificateSigningRequests, configMaps, nodes } from './kinds.ts';
import { internalAddresses, readinessOf, taintsOf } from './node.ts';

const kindOf = (group: string, plural: string): KubeKind => ({ group, version: 'v1', plural });
const metadata = { name: 'x', namespace: 'n', uid: 'u', resourceVersion: '1', labels: { a: 'b' } };

describe('what is kept', () => {
  it.each<[string, KubeKind, object, object]>([
    ['what has no entry', configMaps, { data: { a: 'b' } }, { data: { a: 'b' } }],
    [
      'a node',
      nodes,
      {
        spec: { taints: [1], unschedulable: true },
        status: { conditions: [1], addresses: [2], images: [3], nodeInfo: {} },
      },
      {
        spec: { taints: [1], unschedulable: true },
        status: { conditions: [1], addresses: [2] },
      },
    ],
    [
      'a cluster operator',
      kindOf('config.openshift.io', 'clusteroperators'),
      { spec: {}, status: { conditions: [1], versions: [2], relatedObjects: [3] } },
      { spec: {}, status: { conditions: [1], versions: [2] } },
    ],
    [
      'a CSV without status',
      kindOf('operators.coreos.com', 'clusterserviceversions'),
      { spec: { version: '4.16.0', icon: 'i', install: {} } },
      { spec: { version: '4.16.0' }, status: {} },
    ],
    ['a kind of that plural of another group', kindOf('x', 'nodes'), { status: 1 }, { status: 1 }],
  ])('of %s', (...[, kind, object, expected]) => {
    expect(kept(kind, { metadata, ...object })).toEqual({ metadata, ...expected });
  });

  it('is all that is read of a node', () => {
    const addresses = ['192.0.2.1'];
    const node = nodeObject({
      name: 'm0',
      notReady: 'PLEG is not healthy',
      addresses,
      taints: ['t'],
    });
    const lean = kept(nodes, { ...node, status: { ...Object(node['status']), images: [1] } });
    expect(lean['status']).not.toHaveProperty('images');
    expect([readinessOf(lean), internalAddresses(lean), taintsOf(lean)]).toEqual([
      readinessOf(node),
      addresses,
      taintsOf(node),
    ]);
  });

  it('of a request that nobody has decided is what that is made by', () => {
    const open = signingRequestObject('client', 'pem', { spec: { uid: 'u', extra: { a: ['b'] } } });
    const lean = kept(certificateSigningRequests, open);
    expect(lean.metadata).toEqual(open.metadata);
    expect(readSigningRequest(lean)).toEqual(readSigningRequest(open));
    expect(lean['spec']).not.toHaveProperty('extra');
  });

  it('of a request that was read is all but its text, and only there', () => {
    const open = signingRequestObject('client', 'pem');
    const lean = kept(certificateSigningRequests, open);
    dropText(lean);
    expect(readSigningRequest(lean)).toEqual({ ...readSigningRequest(open), pem: '' });
    dropText(open);
    expect(readSigningRequest(open)?.pem).toBe('pem');
  });

  it('holds once what ten thousand requests have in common', () => {
    const [one, other] = [1, 2].map(() => {
      const { spec } = kept(certificateSigningRequests, signingRequestObject('client', 'pem'));
      return (spec as { readonly groups: unknown }).groups;
    });
    expect(one).toBe(other);
  });

  it.each<['client' | 'serving', string, string]>([
    ['client', 'Approved', 'pem'],
    ['client', 'Denied', ''],
    ['client', 'Failed', ''],
    ['serving', 'Approved', ''],
  ])('of a decided %s request (%s) is what tells it again: "%s"', (purpose, type, pem) => {
    const open = signingRequestObject(purpose, 'pem', { spec: { extra: { a: ['b'] } } });
    const conditions = [{ type, status: 'True', reason: 'r', message: 'm' }];
    const lean = kept(certificateSigningRequests, {
      ...open,
      status: { conditions, certificate: 'c' },
    });
    expect(lean['status']).toEqual({ conditions: [{ type, status: 'True' }] });
    expect(lean['spec']).not.toHaveProperty('extra');
    const { username } = readSigningRequest(open)!;
    expect(readSigningRequest(lean)).toMatchObject({ purpose, username, pem });
    expect(readSigningRequest(lean)?.state).toBe(type === 'Approved' ? 'approved' : 'denied');
  });

  it('is not the text of a request that no kubelet makes', () => {
    const huge = signingRequestObject('client', 'x'.repeat(20_000));
    const lean = kept(certificateSigningRequests, huge);
    expect(readSigningRequest(lean)).toMatchObject({ pem: '', state: 'pending' });
  });

  it('is not what was applied last', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', a: 'b' };
    const lean = kept(configMaps, { metadata: { ...metadata, annotations } });
    expect(lean.metadata).toEqual({ ...metadata, annotations: { a: 'b' } });
  });

  it.each<unknown>([undefined, null, 'text', [1], { conditions: 'x' }, { conditions: [null] }])(
    'can be told of any status: %j',
    (status) => {
      for (const kind of [nodes, certificateSigningRequests]) {
        const object = { metadata, spec: status, status } as KubeObject;
        expect(kept(kind, object).metadata).toEqual(metadata);
      }
    },
  );
});

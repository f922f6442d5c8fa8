import { describe, expect, it } from 'vitest';
import { signingRequestObject } from '../../test/support/kubelet-request.ts';
import type { KubeKind } from '../ports/kube.ts';
import { readRequest } from '../cluster/csr/read-request.ts';
import { trimObject } from './trim-object.ts';
import { certificateSigningRequests, configMaps, nodes, secrets } from '../kube/kinds.ts';

const kindOf = (group: string, plural: string): KubeKind => ({ group, version: 'v1', plural });
const metadata = { name: 'x', namespace: 'n', uid: 'u', resourceVersion: '1', labels: { a: 'b' } };

describe('trimObject', () => {
  it.each<[string, KubeKind, object, object]>([
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
    [
      'install assets',
      secrets,
      { data: { 'bootstrap.ign.gz': 'a', 'master.ign': 'b', kubeconfig: 'c' } },
      { data: { kubeconfig: 'c' } },
    ],
    [
      'a bootstrap data Secret',
      secrets,
      { data: { value: 'a', format: 'b' } },
      { data: { format: 'b' } },
    ],
    ['a kubeconfig', secrets, { data: { value: 'a' } }, { data: { value: 'a' } }],
    [
      'a kind with the same plural in another group',
      kindOf('x', 'nodes'),
      { status: 1 },
      { status: 1 },
    ],
  ])('trims %s', (...[, kind, object, expected]) => {
    expect(trimObject(kind, { metadata, ...object })).toEqual({ metadata, ...expected });
  });

  it('keeps what the decision about a certificate request needs', () => {
    const request = signingRequestObject('client', 'pem', { spec: { extra: { a: ['b'] } } });
    const lean = trimObject(certificateSigningRequests, request);
    expect(lean).toEqual(readRequest(request));
    expect(JSON.stringify(lean)).not.toMatch(/pem|extra/);
  });

  it('removes the last-applied annotation', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', a: 'b' };
    const lean = trimObject(configMaps, { metadata: { ...metadata, annotations } });
    expect(lean.metadata).toEqual({ ...metadata, annotations: { a: 'b' } });
  });
});

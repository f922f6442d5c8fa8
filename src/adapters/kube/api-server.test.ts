import { expect, it } from 'vitest';
import type { KubeKind } from '../../ports/kube.ts';
import { collectionPath, objectPath, selectionPath, withQuery } from './api-server.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };
const operators: KubeKind = {
  group: 'config.openshift.io',
  version: 'v1',
  plural: 'clusteroperators',
};

it.each([
  [collectionPath(nodes), '/api/v1/nodes'],
  [collectionPath({ ...nodes, plural: 'pods' }, 'ns'), '/api/v1/namespaces/ns/pods'],
  [collectionPath(operators), '/apis/config.openshift.io/v1/clusteroperators'],
  [objectPath({ kind: nodes, name: 'm0' }), '/api/v1/nodes/m0'],
  [objectPath({ kind: nodes, name: 'm0' }, 'status'), '/api/v1/nodes/m0/status'],
  [
    objectPath({ kind: operators, namespace: 'a:b', name: 'c?d' }),
    '/apis/config.openshift.io/v1/namespaces/a%3Ab/clusteroperators/c%3Fd',
  ],
  [selectionPath({ kind: nodes }), '/api/v1/nodes'],
  [
    selectionPath(
      { kind: nodes, labelSelector: 'node-role.kubernetes.io/master', fieldSelector: '' },
      { limit: 50, continue: undefined },
    ),
    '/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fmaster&limit=50',
  ],
  [withQuery('/x', { a: 'b=c&d', e: 0 }), '/x?a=b%3Dc%26d&e=0'],
])('builds the path %s', (path, expected) => {
  expect(path).toBe(expected);
});

it.each(['', '.', '..', 'a/b', '../secrets', 'a%2e'])(
  'refuses %j, which would change the path of the request',
  (name) => {
    const refused = expect.objectContaining({ code: 'kube.invalid' }) as Error;
    expect(() => objectPath({ kind: nodes, name })).toThrow(refused);
    expect(() => objectPath({ kind: nodes, name: 'a', namespace: name })).toThrow(refused);
    expect(() => objectPath({ kind: nodes, name: 'a' }, name)).toThrow(refused);
    expect(() => collectionPath({ ...nodes, group: 'g', version: name })).toThrow(refused);
  },
);

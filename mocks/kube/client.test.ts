import { describe, expect, it } from 'vitest';
import { pathOfKind, pathOfObject, pathOfSelection } from './client.ts';

const nodes = { group: '', version: 'v1', plural: 'nodes' };
const etcds = { group: 'operator.openshift.io', version: 'v1', plural: 'etcds' };
const secrets = { group: '', version: 'v1', plural: 'secrets' };

describe('the path of objects', () => {
  it.each([
    ['a kind of the core group', pathOfKind(nodes), '/api/v1/nodes'],
    ['a kind of another group', pathOfKind(etcds), '/apis/operator.openshift.io/v1/etcds'],
    ['a namespace', pathOfKind(secrets, 'a b'), '/api/v1/namespaces/a%20b/secrets'],
    ['one object', pathOfObject({ kind: nodes, name: 'm0' }), '/api/v1/nodes/m0'],
    [
      'a subresource',
      pathOfObject({ kind: etcds, name: 'cluster' }, 'status'),
      '/apis/operator.openshift.io/v1/etcds/cluster/status',
    ],
    ['a selection of all', pathOfSelection({ kind: nodes }), '/api/v1/nodes'],
    [
      'a selection by label, watched',
      pathOfSelection(
        { kind: nodes, labelSelector: 'node-role.kubernetes.io/master=' },
        { watch: 'true', resourceVersion: undefined },
      ),
      '/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fmaster%3D&watch=true',
    ],
  ])('is as the API server has it for %s', (_, path, wanted) => {
    expect(path).toBe(wanted);
  });
});

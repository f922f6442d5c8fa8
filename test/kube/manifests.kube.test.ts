import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { startRig } from '../../scripts/api-server.ts';
import { checkManifests } from '../../src/capi/manifests.ts';
import { ownNames } from '../../src/capi/api.ts';
import type { KubeObject } from '../../src/ports/kube.ts';

let rig: Kube;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

interface Given {
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly metadata?: object;
  readonly rest?: object;
}

/** A MachineConfig unless another kind is given. */
const objectOf = ({
  group = 'machineconfiguration.openshift.io',
  version = 'v1',
  kind = 'MachineConfig',
  metadata = {},
  rest = { spec: {} },
}: Given): KubeObject => ({
  apiVersion: group === '' ? version : `${group}/${version}`,
  kind,
  metadata: { name: 'a', ...metadata },
  ...rest,
});

async function created(given: Given): Promise<KubeObject | 'refused'> {
  const { group = 'machineconfiguration.openshift.io', version = 'v1' } = given;
  const plural = `${(given.kind ?? 'MachineConfig').toLowerCase()}s`;
  const kind = { group, version, plural };
  try {
    const object = await rig.client.create(kind, objectOf(given));
    const { name, namespace } = object.metadata;
    await rig.client.remove({ kind, name, ...(namespace === undefined ? {} : { namespace }) });
    return object;
  } catch (error) {
    if (error instanceof KubeRefusal) return 'refused';
    throw error;
  }
}

const findingsOf = (given: Given): number => {
  const annotations = { [ownNames.manifestFolder]: 'manifests' };
  const text = JSON.stringify(objectOf(given));
  const data = { 'a.json': Buffer.from(text).toString('base64') };
  const secret = { metadata: { name: 'a', namespace: 'a', annotations }, data };
  return checkManifests([secret]).filter(({ isWarning }) => !isWarning).length;
};

const role = 'machineconfiguration.openshift.io/role';
const labels = { a: 'b' };
const pod = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } };
const daemonSet = {
  group: 'apps',
  kind: 'DaemonSet',
  rest: { spec: { selector: { matchLabels: labels }, template: pod } },
};
const configMap = { group: '', kind: 'ConfigMap', rest: {} };
const within = { metadata: { namespace: 'default' } };
const secretOf = (type: string, data: object): Given => ({
  ...{ ...configMap, ...within, kind: 'Secret' },
  rest: { type: `kubernetes.io/${type}`, stringData: data },
});
const mirrorSet = (mirror: object): Given => ({
  group: 'config.openshift.io',
  kind: 'ImageDigestMirrorSet',
  rest: { spec: { imageDigestMirrors: [{ source: 'a.example/x', ...mirror }] } },
});

describe('a manifest', () => {
  it.each<[string, Given]>([
    ['two roles', { metadata: { labels: { [role]: 'master,worker' } } }],
    ['a blank after a role', { metadata: { labels: { [role]: 'worker ' } } }],
    ['capitals in the prefix of a label', { metadata: { labels: { 'A.Example.com/a': '' } } }],
    ['a blank in the key of an annotation', { metadata: { annotations: { 'my note': '' } } }],
    ['an empty key of an annotation', { metadata: { annotations: { 'a.b/': '' } } }],
    ['another version', { version: 'v1beta1' }],
    ['a text as its spec', { rest: { spec: 'x' } }],
    ['a list as its spec', { rest: { spec: [] } }],
    ['a text as kernel arguments', { rest: { spec: { kernelArguments: 'nosmt' } } }],
    ['_ in its name', { metadata: { name: '99-worker_rt' } }],
    ['_ in the name of a pool', { kind: 'MachineConfigPool', metadata: { name: 'infra_gpu' } }],
    [
      'capitals in the name of a ConfigMap',
      { ...configMap, metadata: { name: 'My-config', namespace: 'default' } },
    ],
    ['_ in its namespace', { ...configMap, metadata: { namespace: 'Open_Shift' } }],
    ['a resourceVersion', { metadata: { resourceVersion: '12' } }],
    [
      'an owner without a uid',
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'a' }] } },
    ],
    ['no namespace', configMap],
    [
      'a dot in the name of a Namespace',
      { ...configMap, kind: 'Namespace', metadata: { name: 'a.b' } },
    ],
    ['a blank in a key of its data', { ...configMap, ...within, rest: { data: { 'a b': '' } } }],
    [
      'a key of its data that begins with ..',
      { ...configMap, ...within, rest: { data: { '..a': '' } } },
    ],
    [
      'a text as kubeletConfig',
      { kind: 'KubeletConfig', rest: { spec: { kubeletConfig: 'maxPods: 9' } } },
    ],
    ['a mirror twice', mirrorSet({ mirrors: ['b.example/x', 'b.example/x'] })],
    ['another policy of a mirror', mirrorSet({ mirrorSourcePolicy: 'Never' })],
    ['a text as immutable', { ...configMap, ...within, rest: { immutable: 'yes' } }],
    ['another key than its type needs', secretOf('dockerconfigjson', { '.dockercfg': '{}' })],
    ['a byte order mark', secretOf('dockerconfigjson', { '.dockerconfigjson': '\uFEFF{}' })],
    ['a certificate and no key', secretOf('tls', { 'tls.crt': 'a' })],
    [
      '_ in the name of a DaemonSet',
      { ...daemonSet, metadata: { name: 'a_b', namespace: 'default' } },
    ],
  ])('with %s is refused by the API server and by us', async (_, given) => {
    expect(await created(given)).toBe('refused');
    expect(findingsOf(given)).toBe(1);
  });

  it.each<[string, Given]>([
    ['an empty label', { metadata: { labels: { a: null } } }],
    ['capitals in the prefix of an annotation', { metadata: { annotations: { 'A.B/c': '' } } }],
    ['no spec', { rest: {} }],
    ['a certificate and an empty key', secretOf('tls', { 'tls.crt': 'a', 'tls.key': '' })],
    ['an empty resourceVersion', { metadata: { resourceVersion: '', ownerReferences: [] } }],
    ['a null config', { rest: { spec: { config: null, extensions: null } } }],
    ['a name of a DaemonSet', { ...daemonSet, metadata: { name: 'a.b', namespace: 'default' } }],
    [
      'a name of RBAC',
      {
        group: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        metadata: { name: 'System:My_role' },
        rest: { rules: [] },
      },
    ],
  ])('with %s is accepted by both', async (_, given) => {
    expect(await created(given)).toMatchObject({ kind: given.kind ?? 'MachineConfig' });
    expect(findingsOf(given)).toBe(0);
  });

  it.each<[string, Given]>([
    ['spec', { rest: { spec: { kernelArgs: ['nosmt'] } } }],
    ['MachineConfig', { rest: { spec: {}, kernelArguments: ['nosmt'] } }],
  ])('with an unknown field of its %s is refused, as the API server drops it', async (...row) => {
    const object = await created(row[1]);
    expect(object).toMatchObject({ kind: 'MachineConfig' });
    expect(JSON.stringify({ ...Object(object), metadata: {} })).not.toContain('nosmt');
    expect(findingsOf(row[1])).toBe(1);
  });
});

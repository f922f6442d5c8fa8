import { describe, expect, it } from 'vitest';
import { yamlIn } from '../lib/yaml-text.ts';
import type { Fields } from '../lib/fields.ts';
import type { KubeObject } from '../ports/kube.ts';
import { installSecrets, type RenderChoices, renderedFiles } from './render.ts';

const base = [
  'apiVersion: v1',
  'metadata: {name: demo}',
  'baseDomain: example.com',
  'controlPlane: {name: master, replicas: 3}',
  'compute: [{name: worker, replicas: 2}]',
  'platform: {none: {}}',
  `pullSecret: '{"auths":{}}'`,
];
const configOf = (...more: readonly string[]) => yamlIn([...base, ...more].join('\n')) as Fields;

const choices: RenderChoices = {
  namespace: 'demo',
  distributionVersion: '4.20.0',
  releaseImage: `registry.example/release@sha256:${'a'.repeat(64)}`,
  agentImage: 'registry.example/bootwright:latest',
  installDevice: undefined,
  rootDeviceHints: undefined,
  metal3: { url: 'https://images.example/rhcos.qcow2', checksum: 'abc' },
};

const specOf = (object: KubeObject | undefined) => object?.['spec'] as Record<string, unknown>;
const objectsOf = (...given: Parameters<typeof renderedFiles>) =>
  renderedFiles(...given).flatMap(({ objects }) => objects);
const kindOf = (objects: readonly KubeObject[], kind: string) =>
  objects.find((one) => one.kind === kind);

describe('the objects of an install-config', () => {
  it('have separate files for Metal3, and no MachineDeployment without workers', () => {
    const names = renderedFiles(configOf(), choices).map(({ name }) => name);
    expect(names.filter((name) => name.includes('metal3'))).toEqual([
      '10-metal3-cluster.yaml',
      '11-metal3-masters.yaml',
      '12-metal3-workers.yaml',
    ]);
    const none = objectsOf({ ...configOf(), compute: [{ name: 'worker', replicas: 0 }] }, choices);
    expect(kindOf(none, 'MachineDeployment')).toBeUndefined();
  });

  it.each([[[]], [null], [[{ name: 'worker' }]]])(
    'have three workers by default: compute %j',
    (compute) => {
      const workers = kindOf(objectsOf({ ...configOf(), compute }, choices), 'MachineDeployment');
      expect(specOf(workers)['replicas']).toBe(3);
    },
  );

  it('share no name with those of another cluster in the namespace', () => {
    const idsOf = (name: string) =>
      objectsOf({ ...configOf(), metadata: { name } }, choices)
        .filter(({ kind }) => kind !== 'Namespace')
        .map(({ kind, metadata }) => `${String(kind)}/${metadata.name}`);
    const others = new Set(idsOf('two'));
    expect(idsOf('one').filter((id) => others.has(id))).toEqual([]);
  });

  it('leave infrastructure references empty without Metal3', () => {
    const disk = { rootDeviceHints: { minSizeGigabytes: 400 } };
    const objects = objectsOf(configOf(), { ...choices, metal3: undefined, ...disk });
    expect(objects.map(({ kind }) => kind).filter((kind) => kind?.startsWith('Metal3'))).toEqual(
      [],
    );
    expect(specOf(kindOf(objects, 'Cluster'))['infrastructureRef']).toEqual({
      apiGroup: '',
      kind: '',
      name: 'demo',
    });
    const spec = specOf(kindOf(objects, 'OpenShiftControlPlane'))['configSpec'];
    expect(spec).toMatchObject(disk);
    expect(spec).toHaveProperty('writeMode', undefined);
  });

  it('carry over networks, proxy, SSH keys, trust bundle and mirrors', () => {
    const config = configOf(
      'networking:',
      '  clusterNetwork: [{cidr: 10.1.0.0/16, hostPrefix: 23}]',
      '  serviceNetwork: [10.2.0.0/16]',
      'sshKey: |',
      '  ssh-ed25519 a',
      '  ssh-ed25519 b',
      'proxy: {httpProxy: "http://proxy:3128"}',
      'additionalTrustBundle: PEM',
      'imageDigestSources:',
      '- source: quay.io/openshift-release-dev/ocp-release',
      '  mirrors: [mirror.example:5000/release]',
      '- {source: quay.io/b, mirrors: [mirror.example:5000/b], sourcePolicy: AllowContactingSource}',
      '- source: quay.io/openshift-release-dev/ocp-release',
      '  mirrors: [mirror.example:5000/release, second.example/release]',
      '  sourcePolicy: NeverContactSource',
    );
    const objects = objectsOf(config, choices);
    expect(specOf(kindOf(objects, 'Cluster'))['clusterNetwork']).toEqual({
      pods: { cidrBlocks: ['10.1.0.0/16'] },
      services: { cidrBlocks: ['10.2.0.0/16'] },
    });
    const spec = specOf(kindOf(objects, 'OpenShiftControlPlane'))['configSpec'] as {
      registries: string;
    };
    expect(spec).toMatchObject({
      sshAuthorizedKeys: ['ssh-ed25519 a', 'ssh-ed25519 b'],
      proxy: { httpProxy: 'http://proxy:3128' },
      additionalTrustBundle: 'PEM',
    });
    // src/lib/image-mirrors.test.ts covers the format.
    expect(spec.registries.match(/(?<=location = ").*(?=")|blocked/g)).toEqual([
      ...['quay.io/openshift-release-dev/ocp-release', 'blocked'],
      ...['mirror.example:5000/release', 'second.example/release'],
      ...['quay.io/b', 'mirror.example:5000/b'],
    ]);
  });

  it.each([
    ['without a platform', '{none: {}}', 'api.demo.example.com'],
    ['of baremetal with apiVIPs', '{baremetal: {apiVIPs: [192.0.2.5]}}', '192.0.2.5'],
    ['of baremetal with apiVIP', '{baremetal: {apiVIP: 192.0.2.6}}', '192.0.2.6'],
  ])('take the API endpoint from the platform: %s', (_, platform, host) => {
    const lines = base.map((line) =>
      line.startsWith('platform') ? `platform: ${platform}` : line,
    );
    const objects = objectsOf(yamlIn(lines.join('\n')) as Fields, choices);
    expect(specOf(kindOf(objects, 'Cluster'))['controlPlaneEndpoint']).toEqual({
      host,
      port: 6443,
    });
  });
});

describe('the files of the installer in Secrets', () => {
  const namesIn = (all: readonly KubeObject[]) =>
    all.map((one) => Object.keys(one['data'] as object));
  const file = (name: string, size = 1) => ({ name, content: Buffer.alloc(size, 'a') });

  it('carry the cluster label and the folder annotation', () => {
    const folder = {
      manifests: [file('b.yaml'), file('a.yaml')],
      openshift: [file('c.yaml')],
      state: [{ name: '.openshift_install_state.json', content: Buffer.from('{}') }],
    };
    const { state, manifests } = installSecrets(folder, 'demo', 'ns');
    expect(state).toMatchObject({
      metadata: { name: 'demo-install-state', labels: { 'bootwright.io/install-state': 'demo' } },
      data: { '.openshift_install_state.json': 'e30=' },
    });
    expect(namesIn(manifests)).toEqual([['a.yaml', 'b.yaml'], ['c.yaml']]);
    expect(manifests[1]?.metadata).toEqual({
      name: 'demo-openshift-0',
      namespace: 'ns',
      annotations: { 'bootwright.io/manifest-folder': 'openshift' },
      labels: {
        'bootwright.io/install-manifests': 'demo',
        'cluster.x-k8s.io/cluster-name': 'demo',
        'clusterctl.cluster.x-k8s.io/move': '',
      },
    });
  });

  it('are split by size', () => {
    const files = ['a', 'b', 'c'].map((name) => file(`${name}.yaml`, 300 * 1024));
    const folder = { manifests: files, openshift: [], state: [] };
    const { manifests } = installSecrets(folder, 'demo', 'ns');
    expect(namesIn(manifests)).toEqual([['a.yaml', 'b.yaml'], ['c.yaml']]);
  });
});

import { describe, expect, it } from 'vitest';
import { withEndedPods } from '../../../test/support/ended-pods.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import {
  clusterRoleBindings,
  imageStreams,
  pods,
  secrets,
  serviceAccounts,
} from '../../kube/kinds.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { Secret } from '../../model/secret.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import {
  gatherCluster,
  gatheringImages,
  gatheringPod,
  gatheringSecret,
  neededGathering,
  removeLeftBinding,
} from './must-gather.ts';
import type { StepScope } from './scope.ts';

const { signal } = new AbortController();
const inError = { isInError: true, failedOperators: [] };
const images = '{"ocp":"o","cnv":"c","lso":"l"}';

describe('gatheringImages', () => {
  it.each([
    ['returns none without a setting', '', inError, []],
    ['returns a single image', 'quay.io/mg:1', inError, ['ocp=quay.io/mg:1']],
    ['returns the ocp image of an object for a failed cluster', images, inError, ['ocp=o']],
    [
      'returns the image of a failed operator',
      images,
      { isInError: false, failedOperators: ['cnv', 'odf'] },
      ['cnv=c'],
    ],
    [
      'returns the images of the cluster and its failed operators',
      images,
      { isInError: true, failedOperators: ['lso', 'cnv'] },
      ['ocp=o', 'lso=l', 'cnv=c'],
    ],
    ['takes a list as an image name', '["a"]', inError, ['ocp=["a"]']],
  ])('%s', (...[, setting, gathering, expected]) => {
    const found = gatheringImages(setting, gathering);
    expect(found.map(({ name, image }) => `${name}=${image}`)).toEqual(expected);
  });
});

describe('neededGathering', () => {
  const failed = { name: 'cnv', type: 'olm', status: 'failed' } as const;
  it.each([
    ['gathers for a failed cluster', 'error', [{ status: 'failed' }], inError],
    ['does not gather for a cancelled cluster', 'cancelled', [{ status: 'failed' }], undefined],
    [
      'gathers for a failed operator',
      'installed',
      [failed],
      { isInError: false, failedOperators: ['cnv'] },
    ],
    [
      'does not gather for available operators',
      'installed',
      [{ ...failed, status: 'available' }],
      undefined,
    ],
    [
      'does not gather for a failed operator of the release',
      'installed',
      [{ ...failed, type: 'builtin' }],
      undefined,
    ],
    [
      'gathers for the failed operators of a failed cluster',
      'error',
      [failed, { ...failed, name: 'odf', status: 'available' }],
      { isInError: true, failedOperators: ['cnv'] },
    ],
  ] as const)('%s', async (...[, status, operators, expected]) => {
    const inventory = fakeInventory({ cluster: { status } });
    inventory.setOperators(operators);
    const scope = { inventory, signal } as unknown as StepScope;
    expect(await neededGathering(scope)).toEqual(expected);
  });
});

const namespace = 'assisted-installer';
const configOf = (input: ConfigInput = {}) => ({ ...Config.parse(input), namespace });
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  name: 'assisted-installer-controller',
  uid: 'j',
};
const controller = {
  metadata: {
    name: 'assisted-installer-controller-x',
    namespace,
    ownerReferences: [{ ...job, controller: true, blockOwnerDeletion: true }],
  },
  spec: { nodeName: 'm1', hostAliases: [{ ip: '10.0.0.9' }] },
};

describe('the must-gather pod', () => {
  const service = { url: 'https://svc.example/', token: new Secret('s3cret') };
  const gatherers = [
    { name: 'ocp', image: 'o' },
    { name: 'cnv', image: 'c' },
  ];

  it('runs on the node of the controller, with a share of the time per image and an upload at the end', () => {
    const pod = gatheringPod(configOf({ service, cluster: { id: 'C' } }), gatherers, controller);
    expect(pod).toMatchObject({
      spec: {
        nodeName: 'm1',
        hostNetwork: true,
        hostAliases: [{ ip: '10.0.0.9' }],
        activeDeadlineSeconds: 1800,
        restartPolicy: 'Never',
        securityContext: { runAsUser: 0 },
        initContainers: [
          { image: 'o', command: ['/bin/bash', '-c', 'timeout 600 /usr/bin/gather; sync; exit 0'] },
          { image: 'c', volumeMounts: [{ mountPath: '/must-gather', subPath: 'must-gather/cnv' }] },
        ],
        containers: [{ name: 'upload', image: 'o' }],
      },
    });
    expect(JSON.stringify(pod)).not.toContain('s3cret');
  });

  it('keeps passwords of the service and the proxies in a Secret', () => {
    const url = 'https://user:pa55@svc.example/base/';
    const config = configOf({
      service: { url, token: new Secret('s3cret') },
      proxy: { http: 'http://p:pa55@proxy.example:3128' },
      cluster: { id: 'C' },
    });
    const pod = gatheringPod(config, gatherers, controller);
    expect(JSON.stringify(pod)).not.toMatch(/pa55|s3cret/);
    expect(pod).toMatchObject({
      spec: {
        containers: [{ envFrom: [{ secretRef: { name: 'assisted-installer-must-gather' } }] }],
      },
    });
    expect(gatheringSecret(config)).toMatchObject({
      kind: 'Secret',
      stringData: {
        HTTP_PROXY: 'http://p:pa55@proxy.example:3128',
        TARGET:
          'https://user:pa55@svc.example/base/api/assisted-install/v2/clusters/C/logs?logs_type=controller',
      },
    });
  });

  it('uses the CA and the insecure setting of the controller', () => {
    const caFile = '/etc/assisted-service/ca.crt';
    const pod = gatheringPod(
      configOf({ service: { ...service, caFile, insecure: true } }),
      gatherers,
      controller,
    );
    const { spec } = pod as unknown as { readonly spec: { containers: { env: object[] }[] } };
    const value = `insecure\ncacert = "${caFile}"`;
    expect(spec.containers[0]?.env).toContainEqual({ name: 'OPTIONS', value });
    expect(spec).toMatchObject({ volumes: [{}, {}, { hostPath: { path: caFile } }] });
  });
});

describe('gatherCluster', () => {
  const stream = {
    metadata: { name: 'must-gather', namespace: 'openshift' },
    status: { tags: [{ tag: 'latest', items: [{ dockerImageReference: 'release' }] }] },
  };
  const gather = (admin: ReturnType<typeof fakeKube>, config = configOf()) => {
    const note = (): void => undefined;
    const scope = { adminKube: admin, config, clock: fakeClock(), signal, note };
    return gatherCluster(scope, inError, controller);
  };
  const leftIn = (admin: ReturnType<typeof fakeKube>) =>
    [pods, serviceAccounts, clusterRoleBindings, secrets].flatMap((kind) => admin.objectsOf(kind));

  it('uses the image of the release and removes its objects', async () => {
    const kube = fakeKube().put(imageStreams, stream);
    const admin = withEndedPods(kube, { phase: 'Succeeded', log: 'uploaded' });
    await gather(admin);
    const made = admin.writes.filter(({ verb }) => verb === 'create' || verb === 'apply');
    expect(made.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'serviceaccounts assisted-installer-must-gather',
      'clusterrolebindings assisted-installer-must-gather',
      'secrets assisted-installer-must-gather',
      'pods assisted-installer-must-gather',
    ]);
    expect(made[3]?.body).toMatchObject({ spec: { initContainers: [{ image: 'release' }] } });
    // A namespaced object cannot own a cluster-scoped one.
    expect(made.map(({ body }) => (body as typeof controller).metadata.ownerReferences)).toEqual([
      [job],
      undefined,
      [job],
      [job],
    ]);
    expect(leftIn(admin)).toEqual([]);
  });

  it('fails with the last output of the pod and removes its objects', async () => {
    const log = 'packing\ncurl: (22) The requested URL returned error: 413\n';
    const kube = fakeKube().put(imageStreams, stream);
    const admin = withEndedPods(kube, { phase: 'Failed', log });
    await expect(gather(admin)).rejects.toMatchObject({
      code: 'controller.not-gathered',
      message: expect.stringContaining('returned error: 413') as string,
    });
    expect(leftIn(admin)).toEqual([]);
  });

  it('uses a configured image and takes over objects of an earlier run', async () => {
    const account = { metadata: { name: 'assisted-installer-must-gather', namespace } };
    const kube = fakeKube()
      .put(serviceAccounts, account)
      .put(secrets, { ...account, stringData: { TARGET: 'https://before.example' } });
    const admin = withEndedPods(kube, { phase: 'Succeeded', log: '' });
    const service = { url: 'https://svc.example' };
    await gather(admin, configOf({ images: { mustGather: 'mine' }, service }));
    const renewed = admin.writes.find(({ verb, kind }) => verb === 'apply' && kind === 'secrets');
    expect(JSON.stringify(renewed?.body)).toContain('https://svc.example/api');
    expect(leftIn(admin)).toEqual([]);
  });

  it('fails without an image', async () => {
    const admin = fakeKube();
    await expect(gather(admin)).rejects.toMatchObject({ code: 'controller.not-gathered' });
    expect(admin.writes).toEqual([]);
  });

  it('removes the service account when the binding is denied', async () => {
    const kube = fakeKube().put(imageStreams, stream);
    const admin = {
      ...kube,
      apply: (...given: Parameters<typeof kube.apply>) =>
        given[0].kind === 'ClusterRoleBinding'
          ? Promise.reject(kubeFailure('kube.denied', '403', { context: { status: 403 } }))
          : kube.apply(...given),
    };
    await expect(gather(admin)).rejects.toMatchObject({ code: 'kube.denied' });
    expect(leftIn(admin)).toEqual([]);
  });
});

it('removes the cluster role binding of a killed controller', async () => {
  const name = 'assisted-installer-must-gather';
  const kube = fakeKube().put(clusterRoleBindings, { metadata: { name } });
  const others = kube.put(clusterRoleBindings, { metadata: { name: 'other' } });
  const notes: string[] = [];
  const note = (_: string, text: string): void => void notes.push(text);
  const scope = { kube, signal, note } as unknown as StepScope;
  await removeLeftBinding(scope);
  expect(others.objectsOf(clusterRoleBindings).map((one) => one.metadata.name)).toEqual(['other']);
  kube.lastError(kubeFailure('kube.denied', 'no'));
  await removeLeftBinding(scope);
  expect(notes).toHaveLength(1);
});

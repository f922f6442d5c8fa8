import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  buildTo,
  buildsOf,
  cluster,
  type Cluster,
  controllerPod,
  currentName,
  currentOf,
  digestOf,
  dropPods,
  endJob,
  eventsOf,
  namespace,
  osConfigOf,
  repository,
  targetOf,
} from '../../../test/layering/build-site.ts';
import { nodeObject } from '../../../test/layering/layered-pool.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import {
  deployments,
  events,
  jobs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  pods,
  secrets,
} from '../../cluster/kinds.ts';
import { buildKeys } from '../../layering/api/os-build.ts';
import { rolledBackKey } from '../../layering/roll-out/image-origin.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';

describe('build images', () => {
  it('builds what a layered pool has no image of, and has it rolled out', async () => {
    const site = cluster();
    const { kube, advance, start } = site;
    const end = start();
    await advance();
    const [job] = kube.objectsOf(jobs) as unknown as readonly [KubeObject & { spec: object }];
    const name = currentName(kube);
    expect(job.metadata).toMatchObject({
      name: `build-${name}`,
      labels: { app: 'bootwright-build', [buildKeys.pool]: 'master' },
      ownerReferences: [{ kind: 'MachineOSBuild', name, uid: currentOf(kube)?.metadata.uid }],
    });
    expect(job.spec).toMatchObject({
      ...{ activeDeadlineSeconds: 10_800, backoffLimit: 3 },
      template: {
        spec: {
          nodeSelector: { 'kubernetes.io/arch': 'arm64' },
          volumes: [{ name: 'objects' }, { name: 'push', secret: { secretName: 'ocl-push' } }, {}],
          containers: [
            {
              image: 'r.test/bootwright:1',
              resources: { requests: { memory: '1Gi' }, limits: { memory: '8Gi' } },
            },
          ],
        },
      },
    });
    expect(currentOf(kube)).toMatchObject({
      metadata: {
        finalizers: ['foregroundDeletion'],
        ownerReferences: [{ kind: 'MachineOSConfig' }],
      },
      status: {
        builder: {
          imageBuilderType: 'Job',
          job: { group: 'batch', resource: 'jobs', namespace, name: `build-${name}` },
        },
      },
    });
    expect(buildsOf(kube)).toEqual([['0', 'Prepared']]);
    expect(targetOf(kube)).toEqual({ waitsFor: `MachineOSBuild ${name} to succeed` });
    endJob(kube, 'active');
    await advance(2);
    expect(buildsOf(kube)).toEqual([['0', 'Building']]);
    endJob(kube, { digest: digestOf('a') });
    await advance();
    const image = `${repository}@${digestOf('a')}`;
    expect(currentOf(kube)?.['status']).toMatchObject({
      digestedImagePushSpec: image,
      conditions: expect.arrayContaining([
        expect.objectContaining({
          type: 'Succeeded',
          status: 'True',
          reason: 'Ready',
          message: 'Build Ready',
        }),
      ]) as object[],
    });
    expect(osConfigOf(kube).status).toEqual({
      currentImagePullSpec: image,
      observedGeneration: 1,
      machineOSBuild: {
        group: 'machineconfiguration.openshift.io',
        resource: 'machineosbuilds',
        name,
      },
    });
    expect(targetOf(kube)).toEqual({
      target: { config: `rendered-master-${'0'.repeat(32)}`, image },
    });
    expect(kube.objectsOf(jobs), 'the Job is removed').toEqual([]);
    expect(kube.objectsOf(secrets)).toEqual([]);
    expect(eventsOf(kube)).toEqual(['OSBuildStarted', 'OSBuildSucceeded']);
    const written = kube.writes.length;
    await advance(60);
    expect(kube.writes.length, 'nothing more is written').toBe(written);
    await end();
  });

  it('gives the pod both objects in a Secret, with the push spec of the build', async () => {
    const { kube, advance, start } = cluster();
    const end = start();
    await advance();
    const [secret] = kube.objectsOf(secrets) as unknown as readonly [
      { data: Record<string, string> },
    ];
    const bytes = (key: string): Buffer => Buffer.from(secret.data[key] ?? '', 'base64');
    expect(JSON.parse(bytes('os-config.json').toString())).toMatchObject({
      kind: 'MachineOSConfig',
      spec: { renderedImagePushSpec: `${repository}:${currentName(kube)}` },
    });
    expect(JSON.parse(gunzipSync(bytes('machine-config.json.gz')).toString())).toMatchObject({
      kind: 'MachineConfig',
      spec: { config: { ignition: { version: '3.5.0' } } },
    });
    await end();
  });

  it('takes the image that is there when only kernel arguments changed', async () => {
    const site = cluster();
    const end = site.start();
    await buildTo(site, 'a');
    site.render('1', { kernelArguments: ['quiet'] });
    await site.advance();
    const image = `${repository}@${digestOf('a')}`;
    expect(
      site.kube.writes.filter(({ verb, kind }) => verb === 'create' && kind === 'jobs'),
    ).toHaveLength(1);
    expect(targetOf(site.kube)).toEqual({
      target: { config: `rendered-master-${'1'.repeat(32)}`, image },
    });
    expect(eventsOf(site.kube)).toContain('OSImageReused');
    await end();
  });

  it('builds again after a change of the Containerfile, and goes back to what was built before', async () => {
    const site = cluster();
    const end = site.start();
    await buildTo(site, 'a');
    const first = currentName(site.kube);
    site.order({ containerFile: [{ content: 'FROM configs AS final\n' }] }, 2);
    await buildTo(site, 'b');
    expect(osConfigOf(site.kube).status.currentImagePullSpec).toBe(
      `${repository}@${digestOf('b')}`,
    );
    site.order({}, 3);
    await site.advance();
    expect(currentName(site.kube)).toBe(first);
    expect(osConfigOf(site.kube).status.currentImagePullSpec).toBe(
      `${repository}@${digestOf('a')}`,
    );
    expect(site.kube.objectsOf(jobs)).toEqual([]);
    await end();
  });

  it('takes no image for a build that the operator has made, which says of no image what it was built from', async () => {
    const ordered = { containerFile: [{ content: 'FROM configs AS final\n' }] };
    const other = cluster();
    other.order(ordered, 2);
    const endOther = other.start();
    await other.advance();
    const next = currentOf(other.kube)!;
    await endOther();
    const site = cluster();
    const end = site.start();
    await buildTo(site, 'a');
    const bare = ({ metadata, ...build }: KubeObject): KubeObject => ({
      ...{ ...build, metadata: { ...metadata, annotations: {} } },
    });
    site.kube.put(machineOSBuilds, bare(currentOf(site.kube)!));
    site.kube.put(machineOSBuilds, { ...bare(next), status: {} });
    site.order(ordered, 2);
    await site.advance();
    expect(site.kube.objectsOf(jobs)).toHaveLength(1);
    expect(eventsOf(site.kube)).not.toContain('OSImageReused');
    await end();
  });

  it('stops a build that the pool no longer wants, and begins it again when it does', async () => {
    const site = cluster();
    const end = site.start();
    await site.advance();
    site.order({ containerFile: [{ content: 'FROM configs AS final\n' }] }, 2);
    await site.advance();
    expect(
      buildsOf(site.kube)
        .map(([, phase]) => phase)
        .sort(),
    ).toEqual(['Interrupted', 'Prepared']);
    expect(site.kube.objectsOf(jobs).map(({ metadata }) => metadata.name)).toEqual([
      `build-${currentName(site.kube)}`,
    ]);
    site.order({}, 3);
    await site.advance(12);
    expect(
      buildsOf(site.kube)
        .map(([, phase]) => phase)
        .sort(),
    ).toEqual(['Interrupted', 'Prepared']);
    await buildTo(site, 'a');
    expect(buildsOf(site.kube)).toEqual([['0', 'Succeeded']]);
    await end();
  });

  it('shows a failed build with its reason, and builds again only as a person asks', async () => {
    const site = cluster();
    const { kube, advance } = site;
    const end = site.start();
    await advance();
    endJob(kube, { error: 'step 3 of 14\nfailed: layering.build-failed: no package httpd' });
    await advance(40);
    const why = 'layering.build-failed: no package httpd; PodFailurePolicy: exit code 2';
    expect(currentOf(kube)?.['status']).toMatchObject({
      conditions: expect.arrayContaining([
        expect.objectContaining({
          type: 'Failed',
          status: 'True',
          reason: 'Failed',
          message: `Build Failed: ${why}`,
        }),
      ]) as object[],
    });
    expect(kube.objectsOf(jobs), 'the Job stays for whoever reads its log').toHaveLength(1);
    expect(kube.objectsOf(events).at(-1)).toMatchObject({
      type: 'Warning',
      reason: 'OSBuildFailed',
    });
    dropPods(kube);
    const osConfig = osConfigOf(kube);
    const annotations = { ...osConfig.metadata.annotations, [buildKeys.rebuild]: '' };
    kube.put(machineOSConfigs, { ...osConfig, metadata: { ...osConfig.metadata, annotations } });
    await buildTo(site, 'b');
    expect(buildsOf(kube)).toEqual([['0', 'Succeeded']]);
    expect(osConfigOf(kube).metadata.annotations).not.toHaveProperty(buildKeys.rebuild);
    expect((await end()).filter((note) => note.startsWith('warn'))).toEqual([
      `warn: pool master: MachineOSBuild ${currentName(kube)} has failed: ${why}`,
    ]);
  });

  it('builds once more on request although an image of the same inputs is there', async () => {
    const site = cluster();
    const { kube } = site;
    const end = site.start();
    await buildTo(site, 'a');
    site.render('1', { kernelArguments: ['quiet'] });
    await site.advance();
    const osConfig = osConfigOf(kube);
    const setAside = { [buildKeys.rebuild]: '', [rolledBackKey]: currentName(kube) };
    const annotations = { ...osConfig.metadata.annotations, ...setAside };
    kube.put(machineOSConfigs, { ...osConfig, metadata: { ...osConfig.metadata, annotations } });
    await buildTo(site, 'b');
    expect(targetOf(kube)).toMatchObject({ target: { image: `${repository}@${digestOf('b')}` } });
    expect(osConfigOf(kube).metadata.annotations).not.toHaveProperty(rolledBackKey);
    await end();
  });

  it('keeps an image set aside, and the one before it, when only the kernel arguments change', async () => {
    const site = cluster();
    const { kube } = site;
    const end = site.start();
    await buildTo(site, 'a');
    site.order({ containerFile: [{ content: 'FROM configs AS final\n' }] }, 2);
    await buildTo(site, 'b');
    const osConfig = osConfigOf(kube);
    const annotations = { ...osConfig.metadata.annotations, [rolledBackKey]: currentName(kube) };
    kube.put(machineOSConfigs, { ...osConfig, metadata: { ...osConfig.metadata, annotations } });
    const before = { target: { image: `${repository}@${digestOf('a')}` } };
    await site.advance();
    expect(targetOf(kube)).toMatchObject(before);
    site.render('1', { kernelArguments: ['quiet'] });
    await site.advance(40);
    expect(currentName(kube)).not.toBe(annotations[rolledBackKey]);
    expect(targetOf(kube)).toMatchObject(before);
    await end();
  });

  it('keeps the builds that a node or a rollback needs, and removes the rest', async () => {
    const site = cluster();
    const { kube } = site;
    const end = site.start();
    const files = (digit: string) => ({
      config: { ignition: { version: '3.5.0' }, storage: { files: [{ path: `/etc/${digit}` }] } },
    });
    for (const digit of ['1', '2', '3', '4']) {
      site.render(digit, files(digit));
      await buildTo(site, digit);
      if (digit !== '2') continue;
      const [m1] = kube.objectsOf(nodes);
      const image = `${repository}@${digestOf('2')}`;
      const annotations = { 'machineconfiguration.openshift.io/currentImage': image };
      kube.put(nodes, { ...m1!, metadata: { ...m1!.metadata, annotations } });
    }
    expect(
      buildsOf(kube)
        .map(([of]) => of)
        .sort(),
    ).toEqual(['2', '3', '4']);
    await end();
  });

  it.each<[string, (site: Cluster) => void, RegExp]>([
    [
      'a Containerfile that no image comes of',
      ({ order }) => order({ containerFile: [{ content: 'FROM scratch\n' }] }, 1),
      /the last stage is built on scratch/,
    ],
    [
      'nodes of two architectures',
      ({ kube }) => {
        const other = nodeObject('m2', 'master');
        const labels = { ...other.metadata.labels, 'kubernetes.io/arch': 'amd64' };
        kube.put(nodes, { ...other, metadata: { ...other.metadata, labels } });
      },
      /m1 is arm64, m2 is amd64/,
    ],
  ])('says once by an event why it cannot build: %s', async (_, change, message) => {
    const site = cluster();
    change(site);
    const end = site.start();
    await site.advance(40);
    await end();
    expect(site.kube.objectsOf(jobs)).toEqual([]);
    expect(site.kube.objectsOf(events)).toMatchObject([
      { reason: 'OSBuildRefused', message: expect.stringMatching(message) as string },
    ]);
  });

  it('builds for most of its nodes, and names one that says another architecture', async () => {
    const site = cluster();
    for (const [name, architecture] of [
      ['m2', 'arm64'],
      ['m3', 'evil'],
    ] as const) {
      const node = nodeObject(name, 'master');
      const labels = { ...node.metadata.labels, 'kubernetes.io/arch': architecture };
      site.kube.put(nodes, { ...node, metadata: { ...node.metadata, labels } });
    }
    const end = site.start();
    await site.advance();
    await end();
    const nodeSelector = { 'kubernetes.io/arch': 'arm64' };
    expect(site.kube.objectsOf(jobs)).toMatchObject([
      { spec: { template: { spec: { nodeSelector } } } },
    ]);
    expect(site.kube.objectsOf(events)).toMatchObject([
      { reason: 'OSBuildStarted', message: expect.stringContaining('m3 is evil') as string },
    ]);
  });

  it('has a build fail whose Job the API server refuses', async () => {
    const site = cluster();
    const { kube } = site;
    const create: Kube['create'] = (where, object, signal) =>
      where.kind === jobs
        ? Promise.reject(kubeFailure('kube.invalid', 'spec.x: Invalid value'))
        : kube.create(where, object, signal);
    const end = site.start({ ...kube, create });
    await site.advance(20);
    await end();
    expect(buildsOf(kube)).toEqual([['0', 'Failed']]);
    expect(JSON.stringify(currentOf(kube))).toContain('spec.x: Invalid value');
    expect(eventsOf(kube)).toEqual(['OSBuildFailed']);
  });

  it('waits for a pod in whose image it can build', async () => {
    const site = cluster();
    site.kube.drop({ kind: pods, namespace, name: 'c' });
    const end = site.start();
    await site.advance();
    expect(site.kube.objectsOf(jobs)).toEqual([]);
    site.kube.put(pods, controllerPod);
    await site.advance();
    expect(site.kube.objectsOf(jobs)).toHaveLength(1);
    await end();
  });

  it('begins a build again whose Job somebody has removed', async () => {
    const site = cluster();
    const end = site.start();
    await site.advance();
    const [job] = site.kube.objectsOf(jobs);
    site.kube.drop({ kind: jobs, namespace, name: job!.metadata.name });
    await site.advance(20);
    expect(site.kube.objectsOf(jobs)).toEqual([]);
    await site.advance(40);
    expect(site.kube.objectsOf(jobs)).toHaveLength(1);
    expect(buildsOf(site.kube)).toEqual([['0', 'Prepared']]);
    await end();
  });

  it('waits for the digest of a Job that ended long ago by the clock of its controller', async () => {
    const site = cluster();
    const end = site.start();
    await site.advance();
    endJob(site.kube, 'active');
    await site.advance(300);
    // By the clock of the API server the Job ended before this controller began.
    const show = site.kube.holdViews();
    endJob(site.kube, { digest: digestOf('a') });
    const [late] = site.kube.objectsOf(pods).filter(({ metadata }) => metadata.name !== 'c');
    site.kube.drop({ kind: pods, namespace, name: late!.metadata.name });
    show();
    await site.advance(4);
    expect(buildsOf(site.kube)).toEqual([['0', 'Building']]);
    site.kube.put(pods, late!);
    await site.advance();
    expect(buildsOf(site.kube)).toEqual([['0', 'Succeeded']]);
    await end();
  });

  it('takes no digest of a Job that was made for a former build', async () => {
    const site = cluster();
    const end = site.start();
    await site.advance();
    const [job] = site.kube.objectsOf(jobs);
    const owner = { kind: 'MachineOSBuild', name: 'former', uid: 'former' };
    const former = { ...job!.metadata, ownerReferences: [owner] };
    site.kube.put(jobs, { ...job!, metadata: former });
    endJob(site.kube, { digest: digestOf('b') });
    await site.advance(40);
    dropPods(site.kube);
    await site.advance(20);
    expect(buildsOf(site.kube)).toEqual([['0', 'Prepared']]);
    const [next] = site.kube.objectsOf(jobs);
    expect(next?.metadata).toMatchObject({
      ownerReferences: [{ uid: currentOf(site.kube)?.metadata.uid }],
    });
    await end();
  });

  it('leaves a build of its pool that somebody else has made', async () => {
    const site = cluster();
    site.kube.put(machineOSBuilds, {
      metadata: { name: 'master-other' },
      spec: { machineOSConfig: { name: 'master' }, machineConfig: { name: 'rendered-z' } },
      status: { conditions: [{ type: 'Failed', status: 'True' }] },
    });
    const end = site.start();
    await buildTo(site, 'a');
    await site.advance(20);
    expect(buildsOf(site.kube)).toContainEqual(['z', 'Failed']);
    expect(buildsOf(site.kube)).toContainEqual(['0', 'Succeeded']);
    await end();
  });

  it('leaves a Job of its name that was made for another build, and one that others made meanwhile', async () => {
    const site = cluster();
    const end = site.start();
    await site.advance();
    const [job] = site.kube.objectsOf(jobs);
    const owner = { kind: 'MachineOSBuild', name: 'former', uid: 'former' };
    const former = { ...job!.metadata, uid: 'other', ownerReferences: [owner] };
    site.kube.before('remove', () => {
      site.kube.drop({ kind: jobs, namespace, name: job!.metadata.name });
      site.kube.put(jobs, { ...job!, metadata: former });
    });
    site.order({ containerFile: [{ content: 'FROM configs AS final\nRUN true' }] }, 2);
    await site.advance(2);
    expect(site.kube.objectsOf(jobs).map(({ metadata }) => metadata.uid)).toContain('other');
    await end();
  });

  it('leaves the image that an installation has handed over', async () => {
    const site = cluster();
    const { kube } = site;
    kube.put(machineOSBuilds, {
      metadata: { name: 'master-handed-over' },
      spec: {
        machineConfig: { name: `rendered-master-${'0'.repeat(32)}` },
        machineOSConfig: { name: 'master' },
      },
      status: {
        conditions: [{ type: 'Succeeded', status: 'True' }],
        digestedImagePushSpec: `${repository}@${digestOf('f')}`,
      },
    });
    const osConfig = osConfigOf(kube);
    const annotations = { [buildKeys.currentBuild]: 'master-handed-over' };
    kube.put(machineOSConfigs, {
      ...osConfig,
      metadata: { ...osConfig.metadata, annotations },
      status: {
        currentImagePullSpec: `${repository}@${digestOf('f')}`,
        observedGeneration: 1,
        machineOSBuild: { name: 'master-handed-over' },
      },
    });
    const end = site.start();
    await site.advance(20);
    expect(kube.writes).toEqual([]);
    await end();
  });

  it.each([
    [
      'is there',
      (kube: FakeKube): Kube =>
        kube.put(deployments, { metadata: { name: 'machine-config-controller', namespace } }),
    ],
    [
      'came right before the change',
      (kube: FakeKube): Kube => ({
        ...kube,
        get: () => Promise.resolve({ metadata: { name: 'machine-config-controller', namespace } }),
      }),
    ],
  ])('hands off where the operator %s', async (_, port) => {
    const site = cluster();
    const end = site.start(port(site.kube));
    await site.advance(20);
    await end();
    expect(site.kube.writes).toEqual([]);
  });
});

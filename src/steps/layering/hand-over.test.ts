import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost, bothSite } from '../../../test/layering/both-pools.ts';
import { conditionsOf } from '../../../test/layering/build-conditions.ts';
import {
  handOverTo,
  key,
  siteCluster,
  crashPointsOf,
  buildIn,
  withoutStatuses,
} from '../../../test/layering/hand-over-run.ts';
import {
  buildNamed,
  final,
  operator,
  rendered,
  dyingKube,
  handedOver,
  renderedConfig,
  renderedPool,
  type HandOverFacts,
  handOverFacts,
  handOverHost,
  site,
  fallbackFacts,
} from '../../../test/layering/hand-over-site.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep, statusesOf } from '../../../test/support/run-step.ts';
import {
  machineOSBuilds,
  machineOSConfigs,
  secrets,
  jobs,
  configMaps,
  machineConfigs,
  machineConfigPools,
} from '../../kube/kinds.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { hours, minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { handOverServed, submitOsConfigs } from './hand-over.ts';

describe('a hand-over with an image', () => {
  const writesOf = (kube: FakeKube): readonly string[] =>
    kube.writes.map(({ verb, kind, subresource }) =>
      [verb, kind, ...(subresource === undefined ? [] : [subresource])].join(' '),
    );

  describe('layering/hand-over', () => {
    it('writes the objects in the expected order', async () => {
      const kube = siteCluster();
      const { notes } = await runStep(handOverServed, handOverTo(kube));
      expect(writesOf(kube)).toEqual([
        'patch machineconfigpools',
        'create secrets',
        'create machineosbuilds',
        'patch machineosbuilds status',
        'create machineosconfigs',
        'patch machineosconfigs status',
        'patch machineosbuilds',
        'patch machineconfigpools',
      ]);
      expect(notes).toEqual(['info: the OS image of pool master is handed over']);
    });

    it('creates the build with its labels under the name that the builder would use', async () => {
      const kube = siteCluster();
      await runStep(handOverServed, handOverTo(kube));
      const made = kube.writes.find(({ kind }) => kind === 'machineosbuilds');
      expect(made).toMatchObject({
        verb: 'create',
        name: buildNamed,
        body: {
          metadata: {
            labels: {
              [key('target-machine-config-pool')]: 'master',
              [key('rendered-machine-config')]: rendered,
              [key('machine-os-config')]: 'master',
              [key('pre-built-image')]: 'true',
            },
            annotations: { [key('rendered-image-push-secret')]: 'ocl-push' },
          },
        },
      });
    });

    it('creates the MachineOSConfig with the unchanged spec, the build and the image', async () => {
      const kube = siteCluster();
      await runStep(handOverServed, handOverTo(kube));
      expect(kube.objectsOf(machineOSConfigs)[0]).toMatchObject({
        metadata: { annotations: { [key('current-machine-os-build')]: buildNamed } },
        spec: osConfigObject()['spec'],
        status: { currentImagePullSpec: final, machineOSBuild: { name: buildNamed } },
      });
      expect(kube.objectsOf(secrets)[0]).toMatchObject({
        metadata: { name: 'ocl-push', namespace: operator },
        type: 'kubernetes.io/dockerconfigjson',
      });
    });

    it('tags the image with the build name before it writes the build', async () => {
      const kube = siteCluster();
      const run = handOverTo(kube);
      const written: number[] = [];
      run.host.on(['skopeo', 'copy', rest]).answers(() => {
        written.push(kube.objectsOf(machineOSBuilds).length);
        return {};
      });
      await runStep(handOverServed, run);
      expect(written).toEqual([0]);
      const copy = run.host.ran.find(([, verb]) => verb === 'copy');
      expect(copy?.slice(-2)).toEqual([
        `docker://${final}`,
        `docker://registry.rig.test/ocl/master:${buildNamed}`,
      ]);
    });

    it.each([
      ['is refused', () => ({ exitCode: 1, stderr: 'unauthorized' })],
      ['never answers', () => new Promise<never>(() => undefined)],
    ])('only warns about a tag that %s', async (_, answer) => {
      const kube = siteCluster();
      const run = handOverTo(kube);
      run.host.on(['skopeo', 'copy', rest]).answers(answer);
      const { notes } = await runStep(handOverServed, run);
      expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
      expect(notes).toContainEqual(
        `warn: the OS image of pool master has no tag ${buildNamed} in its registry: add it by hand`,
      );
    });
  });

  describe('a cluster that does not accept writes', () => {
    it.each(['machineosbuilds', 'machineosconfigs'])(
      'fails with layering.not-kept for the status of %s',
      async (plural) => {
        const deaf = withoutStatuses(siteCluster(), plural);
        const { failure } = await tryStep(handOverServed, handOverTo(deaf));
        expect(failure).toMatchObject({ code: 'layering.not-kept' });
      },
    );

    it.each([
      kubeFailure('kube.invalid', 'spec.x: unknown'),
      layeringFailure('layering.manifest-unusable', 'no Secret'),
      layeringFailure('layering.digest-changed', 'another'),
    ])('is not retried after a permanent refusal: $code', async (refusal) => {
      const kube = siteCluster();
      const refusing: Kube = { ...kube, create: () => Promise.reject(refusal) };
      const { failure, events } = await tryStep(handOverServed, handOverTo(refusing));
      expect(failure).toMatchObject({ code: refusal.code, message: refusal.message });
      expect(events.map(({ type }) => type)).not.toContain('step.retrying');
    });

    it('is retried while it is unreachable', async () => {
      const kube = siteCluster();
      let attempts = 0;
      const shaky: Kube = {
        ...kube,
        create: (into, object, signal) => {
          attempts += 1;
          return attempts === 2
            ? Promise.reject(kubeFailure('kube.unreachable', 'refused'))
            : kube.create(into, object, signal);
        },
      };
      await runStep(handOverServed, handOverTo(shaky));
      expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
    });
  });
});

describe('existing objects', () => {
  const theirs = (status: object = {}): KubeObject => ({
    metadata: { name: buildNamed, labels: { [key('machine-os-config')]: 'master' } },
    spec: {
      machineConfig: { name: rendered },
      machineOSConfig: { name: 'master' },
      renderedImagePushSpec: `registry.rig.test/ocl/master:${buildNamed}`,
    },
    status,
  });
  const job = { metadata: { name: `build-${buildNamed}`, namespace: operator } };

  it('are adopted after a crash at any write', async () => {
    const fresh = (): FakeKube => siteCluster([machineOSBuilds, theirs()], [jobs, job]);
    const whole = fresh();
    const counted = dyingKube(whole, -1, 'after');
    await runStep(handOverServed, handOverTo(counted));
    const expected = await handedOver(whole);
    for (const { write, when, reported } of crashPointsOf(counted.writes())) {
      const kube = fresh();
      await tryStep(handOverServed, handOverTo(dyingKube(kube, write, when)));
      await runStep(handOverServed, handOverTo(kube));
      expect(await handedOver(kube), reported).toEqual(expected);
      expect(kube.objectsOf(jobs)).toEqual([]);
    }
  });

  it('stop the hand-over when the build of that name has failed', async () => {
    const failed = theirs({ conditions: conditionsOf('failed', new Date(0)) });
    const run = handOverTo(siteCluster([machineOSBuilds, failed]));
    const { failure } = await tryStep(handOverServed, run);
    expect(failure).toMatchObject({ code: 'layering.build-in-the-way' });
  });

  it('stop the hand-over when the user has changed the MachineOSConfig', async () => {
    const changed = osConfigObject({ containerFile: [] }) as unknown as KubeObject;
    const { failure } = await tryStep(
      handOverServed,
      handOverTo(siteCluster([machineOSConfigs, changed])),
    );
    expect(failure).toMatchObject({ code: 'layering.os-config-differs' });
  });

  it('get the build annotation on a MachineOSConfig without it', async () => {
    const plain = osConfigObject() as unknown as KubeObject;
    const annotations = { [key('pre-built-image')]: 'x' };
    const annotated = { ...plain, metadata: { ...plain.metadata, annotations } };
    const kube = siteCluster([machineOSConfigs, annotated]);
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.objectsOf(machineOSConfigs)[0]?.metadata.annotations).toEqual({
      [key('current-machine-os-build')]: buildNamed,
    });
  });

  it('keep the data of an existing Secret', async () => {
    const there = { metadata: { name: 'ocl-push', namespace: operator }, data: { new: 'x' } };
    const kube = siteCluster([secrets, there]);
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.objectsOf(secrets)[0]).toMatchObject({ data: { new: 'x' } });
  });
});

describe('the name of the build', () => {
  it('is calculated from the images of the ConfigMap up to 4.21', async () => {
    const old = renderedConfig();
    const annotations = { [key('release-image-version')]: '4.21.3' };
    const kube = siteCluster([
      machineConfigs,
      { ...old, metadata: { ...old.metadata, annotations } },
    ]);
    const missing = await tryStep(handOverServed, handOverTo(kube));
    expect(missing.failure).toMatchObject({ code: 'layering.images-unknown' });
    kube.put(configMaps, {
      metadata: { name: 'machine-config-osimageurl', namespace: operator },
      data: { baseOSContainerImage: 'r.example.com/base@sha256:0', releaseVersion: '4.21.3' },
    });
    await runStep(handOverServed, handOverTo(kube));
    expect(buildIn(kube)?.metadata.name).toMatch(/^master-[0-9a-f]{32}$/);
    expect(buildIn(kube)?.metadata.name).not.toBe(buildNamed);
  });
});

describe('a pool with another rendered MachineConfig', () => {
  const later = `rendered-master-${'7'.repeat(32)}`;
  const chrony = { path: '/etc/chrony.conf', contents: { source: 'data:,x' } };
  const otherFile = { config: { ignition: { version: '3.5.0' }, storage: { files: [chrony] } } };

  /** Gives the pool another rendered MachineConfig. */
  const renderAs = (kube: FakeKube, name: string, spec: object): FakeKube =>
    kube
      .put(machineConfigs, renderedConfig(name, spec))
      .put(machineConfigPools, renderedPool(name));

  const buildOfMasters = (kube: FakeKube): KubeObject | undefined => {
    const name =
      kube.objectsOf(machineOSConfigs)[0]?.metadata.annotations?.[key('current-machine-os-build')];
    return kube.objectsOf(machineOSBuilds).find(({ metadata }) => metadata.name === name);
  };

  describe('a pool of masters', () => {
    it('is handed over with another MachineConfig that fits the image', async () => {
      const kube = renderAs(siteCluster(), later, otherFile);
      const clock = fakeClock();
      await runStep(handOverServed, handOverTo(kube, clock));
      expect(clock.now()).toBeLessThan(minutes(6));
      expect(buildOfMasters(kube)).toMatchObject({
        spec: { machineConfig: { name: later } },
        status: { digestedImagePushSpec: final },
      });
    });

    it('waits for 24 hours while the MachineConfig does not fit the image', async () => {
      const kube = renderAs(siteCluster(), later, { kernelArguments: ['x'] });
      const run = { ...handOverTo(kube), clock: fakeClock() };
      const { failure, events } = await tryStep(handOverServed, run);
      expect(failure).toMatchObject({ code: 'wait.timed-out' });
      expect(run.clock.now()).toBe(hours(24));
      expect(kube.objectsOf(machineOSConfigs)).toEqual([]);
      expect(statusesOf(events)).toContain(
        `it is rendered as ${later}: spec.kernelArguments differs`,
      );
    });

    /**
     * A cluster that renders the pool again when the MachineOSConfig is created; the builder may be
     * faster then.
     */
    const moving = (kube: FakeKube, builderMakes?: KubeObject): Kube => ({
      ...kube,
      create: (into, object, signal) => {
        if (into.kind === machineOSConfigs) {
          renderAs(kube, later, otherFile);
          if (builderMakes !== undefined) {
            kube.put(machineOSBuilds, builderMakes);
            const name = `build-${builderMakes.metadata.name}`;
            kube.put(jobs, { metadata: { name, namespace: operator } });
          }
        }
        return kube.create(into, object, signal);
      },
    });

    it('is checked again when it is rendered during the hand-over', async () => {
      const kube = siteCluster();
      const { notes } = await runStep(handOverServed, handOverTo(moving(kube)));
      expect(notes).toContainEqual(expect.stringContaining('pool master was rendered again'));
      expect(buildOfMasters(kube)).toMatchObject({
        spec: { machineConfig: { name: later } },
        status: { digestedImagePushSpec: final },
      });
      expect(kube.objectsOf(machineOSBuilds)).toHaveLength(2);
    });

    it('is handed over although the builder has started the new build', async () => {
      const before = siteCluster();
      await runStep(handOverServed, handOverTo(moving(before)));
      const made = buildOfMasters(before);
      const name = made?.metadata.name ?? '';
      const kube = siteCluster();
      const theirs = { metadata: { name }, spec: made?.['spec'] };
      await runStep(handOverServed, handOverTo(moving(kube, theirs)));
      expect(kube.objectsOf(jobs)).toEqual([]);
      expect(buildOfMasters(kube)).toMatchObject({
        metadata: { name },
        status: { digestedImagePushSpec: final },
      });
    });
  });

  describe('a pool of workers', () => {
    it('does not delay the bootstrap host and leaves the build to the cluster', async () => {
      const other = `rendered-worker-${'8'.repeat(32)}`;
      const kube = bothSite.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
      kube.put(machineConfigs, renderedConfig(other, otherFile));
      for (const pool of kube.objectsOf(machineConfigPools)) {
        if (pool.metadata.name !== 'worker') continue;
        const configuration = { ...(pool['spec'] as { configuration: object }).configuration };
        const spec = {
          ...(pool['spec'] as object),
          configuration: { ...configuration, name: other },
        };
        kube.put(machineConfigPools, { ...pool, spec });
      }
      const clock = fakeClock();
      const { notes } = await runStep(handOverServed, {
        ...handOverTo(kube, clock),
        facts: bothFacts(),
        host: bothHost(),
      });
      expect(clock.now()).toBeLessThan(minutes(6));
      expect(kube.objectsOf(machineOSConfigs)).toMatchObject([
        { metadata: { name: 'master' }, status: { currentImagePullSpec: final } },
        { metadata: { name: 'worker', annotations: {} } },
      ]);
      expect(kube.objectsOf(machineOSBuilds)).toHaveLength(1);
      expect(notes).toContainEqual(
        expect.stringMatching(
          `^warn: the OS image of pool worker is not used, the cluster builds one: it is rendered as ${other}`,
        ),
      );
    });
  });
});

describe('a hand-over without an image', () => {
  const setting = (kube: FakeKube, facts: HandOverFacts = fallbackFacts) => ({
    config: { role: 'bootstrap', layering: { mode: 'on' } } as const,
    facts,
    kube,
    host: handOverHost(),
    clock: fakeClock(),
  });

  const { request } = handOverFacts;
  const older = request.kind === 'on' ? { ...request, kind: 'submit' as const } : request;
  it.each<[string, HandOverFacts, number]>([
    ['an older release', { ...fallbackFacts, request: older }, 2],
    ['a hand-over with images', handOverFacts, 0],
    ['a disabled request', { ...fallbackFacts, request: { kind: 'off', why: 'no manifest' } }, 0],
  ])('submits the expected MachineOSConfigs for %s', async (...[, facts, writes]) => {
    const kube = site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
    await runStep(submitOsConfigs, setting(kube, facts));
    await runStep(handOverServed, setting(kube, facts));
    const submitted = kube.objectsOf(machineOSConfigs).filter((one) => one['status'] === undefined);
    expect(submitted).toHaveLength(writes / 2);
  });

  it('waits for the rendered pool', async () => {
    const kube = fakeKube();
    const done = runStep(submitOsConfigs, {
      ...setting(kube),
      clock: fakeClock({ auto: false }),
    });
    await settle();
    expect(kube.writes).toEqual([]);
    kube.put(machineConfigPools, renderedPool(''));
    await settle();
    kube.put(machineConfigPools, renderedPool('rendered-master-other'));
    const { events } = await done;
    expect(events.flatMap((one) => (one.type === 'wait.updated' ? [one.status] : []))).toEqual([
      'MachineConfigPool master does not exist yet',
      'MachineConfigPool master is not rendered yet',
    ]);
  });
});

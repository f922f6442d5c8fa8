import { describe, expect, it } from 'vitest';
import {
  buildNamed,
  dyingKube,
  final,
  handedOver,
  type HandOverFacts,
  handOverFacts,
  handOverHost,
  operator,
  rendered,
  renderedConfig,
  renderedPool,
  site,
} from '../../../test/layering/hand-over-site.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import {
  configMaps,
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  secrets,
} from '../../cluster/kinds.ts';
import { conditionsOf } from '../../layering/os-build/status.ts';
import { seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { handOverServed } from './hand-over-when.ts';

const config = { role: 'bootstrap', layering: { mode: 'on' } } as const;
const key = (name: string): string => `machineconfiguration.openshift.io/${name}`;

const cluster = (...more: typeof site): FakeKube =>
  [...site, ...more].reduce((kube, [kind, object]) => kube.put(kind, object), fakeKube());

const setting = (kube: Kube, facts: HandOverFacts = handOverFacts) => ({
  config,
  facts,
  kube,
  host: handOverHost(),
  clock: fakeClock(),
});

const writesOf = (kube: FakeKube): readonly string[] =>
  kube.writes.map(({ verb, kind, subresource }) =>
    [verb, kind, ...(subresource === undefined ? [] : [subresource])].join(' '),
  );

const buildOf = (kube: FakeKube): KubeObject | undefined => kube.objectsOf(machineOSBuilds)[0];

describe('layering/hand-over', () => {
  it('writes in the order in which no controller takes offence', async () => {
    const kube = cluster();
    const { notes } = await runStep(handOverServed, setting(kube));
    expect(writesOf(kube)).toEqual([
      'create secrets',
      'create machineosbuilds',
      'patch machineosbuilds status',
      'create machineosconfigs',
      'patch machineosconfigs status',
      'patch machineosbuilds',
    ]);
    expect(notes).toEqual(['info: pool master has its image']);
  });

  it('writes the labels with the request that makes the build, under the name that the builder would take', async () => {
    const kube = cluster();
    await runStep(handOverServed, setting(kube));
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

  it('hands the spec of the user over word for word, with build and image', async () => {
    const kube = cluster();
    await runStep(handOverServed, setting(kube));
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

  it('tags the image by the name of the build before it writes the objects', async () => {
    const kube = cluster();
    const run = setting(kube);
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

  it('writes the objects although the tag fails, and then says so', async () => {
    const kube = cluster();
    const run = setting(kube);
    run.host.on(['skopeo', 'copy', rest]).fails(1, '', 'unauthorized');
    const { failure } = await tryStep(handOverServed, run);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^layering\./) as string });
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
  });

  it('does not let a slow registry keep the cluster waiting', async () => {
    const kube = cluster();
    const run = { ...setting(kube), clock: fakeClock({ auto: false }) };
    const tagged = Promise.withResolvers<undefined>();
    run.host.on(['skopeo', 'copy', rest]).answers(() => tagged.promise);
    const done = runStep(handOverServed, run);
    await settle();
    expect(kube.objectsOf(machineOSBuilds)).toEqual([]);
    await run.clock.advance(seconds(2));
    await settle();
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
    tagged.resolve(undefined);
    expect((await done).notes).toEqual(['info: pool master has its image']);
  });

  it('writes nothing at a second time', async () => {
    const kube = cluster();
    await runStep(handOverServed, setting(kube));
    const { length } = kube.writes;
    await runStep(handOverServed, setting(kube));
    expect(kube.writes).toHaveLength(length);
  });

  it('comes to the same end wherever it is cut off', async () => {
    const whole = cluster();
    const counted = dyingKube(whole, -1, 'after');
    await runStep(handOverServed, setting(counted));
    const expected = await handedOver(whole);
    for (let write = 0; write < counted.writes(); write += 1) {
      for (const when of ['before', 'after'] as const) {
        const kube = cluster();
        const { failure } = await tryStep(handOverServed, setting(dyingKube(kube, write, when)));
        expect(failure).toBeDefined();
        await runStep(handOverServed, setting(kube));
        expect(await handedOver(kube), `cut off ${when} write ${write}`).toEqual(expected);
      }
    }
  });

  it('does nothing where nothing is to be built', async () => {
    const kube = cluster();
    const facts = { ...handOverFacts, order: { kind: 'off', why: 'none' } as const };
    const { events } = await runStep(handOverServed, { ...setting(kube), facts });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
    expect(kube.writes).toEqual([]);
  });

  it('refuses a pool without an image of its MachineConfig', async () => {
    const published = { kind: 'published' as const, images: [] };
    const run = { ...setting(cluster()), facts: { ...handOverFacts, published } };
    const { failure } = await tryStep(handOverServed, run);
    expect(failure).toMatchObject({ code: 'layering.no-image' });
  });
});

describe('the wait for the MachineConfig of the cluster', () => {
  it('writes nothing before the cluster has rendered what this host has, and says what differs', async () => {
    const other = `rendered-master-${'9'.repeat(32)}`;
    const kube = fakeKube();
    const run = { ...setting(kube), clock: fakeClock({ auto: false }) };
    const done = runStep(handOverServed, run);
    await settle();
    kube.put(machineConfigPools, renderedPool(''));
    await settle();
    kube.put(machineConfigs, renderedConfig(other, { kernelArguments: ['x'] }));
    kube.put(machineConfigPools, renderedPool(other));
    await settle();
    expect(kube.writes).toEqual([]);
    kube.put(machineConfigs, renderedConfig()).put(machineConfigPools, renderedPool());
    const { events } = await done;
    const told = events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : []));
    expect(told).toEqual([
      'there is no MachineConfigPool master yet',
      'MachineConfigPool master is not rendered yet',
      `it is rendered as ${other}: spec.kernelArguments differs`,
    ]);
  });
});

describe('the name of the build', () => {
  it('is made from the images of the ConfigMap up to 4.21', async () => {
    const old = renderedConfig();
    const annotations = { [key('release-image-version')]: '4.21.3' };
    const kube = cluster([machineConfigs, { ...old, metadata: { ...old.metadata, annotations } }]);
    const missing = await tryStep(handOverServed, setting(kube));
    expect(missing.failure).toMatchObject({ code: 'layering.images-unknown' });
    kube.put(configMaps, {
      metadata: { name: 'machine-config-osimageurl', namespace: operator },
      data: { baseOSContainerImage: 'r.example.com/base@sha256:0', releaseVersion: '4.21.3' },
    });
    await runStep(handOverServed, setting(kube));
    expect(buildOf(kube)?.metadata.name).toMatch(/^master-[0-9a-f]{32}$/);
    expect(buildOf(kube)?.metadata.name).not.toBe(buildNamed);
  });
});

describe('objects that are there before', () => {
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

  it.each([
    ['has just made it', {}],
    [
      'is at work on it',
      { buildStart: '1970-01-01T00:00:00Z', conditions: conditionsOf('running', new Date(0)) },
    ],
  ])('are taken over when the builder %s, and its job is removed', async (_, status) => {
    const kube = cluster([machineOSBuilds, theirs(status)], [jobs, job]);
    await runStep(handOverServed, setting(kube));
    expect(kube.objectsOf(jobs)).toEqual([]);
    expect(buildOf(kube)).toMatchObject({
      metadata: { labels: { [key('pre-built-image')]: 'true' } },
      status: { digestedImagePushSpec: final, conditions: conditionsOf('seeded', new Date(1000)) },
    });
    const { length } = kube.writes;
    await runStep(handOverServed, setting(kube));
    expect(kube.writes).toHaveLength(length);
  });

  it('are taken over when they come in between', async () => {
    const kube = cluster();
    const raced: Kube = {
      ...kube,
      create: async (into, object, signal) => {
        if (into.kind === machineOSBuilds) kube.put(machineOSBuilds, theirs());
        return kube.create(into, object, signal);
      },
    };
    const clock = fakeClock({ auto: false });
    const done = runStep(handOverServed, { ...setting(raced), clock });
    await settle();
    // The builder acts on what it saw, five seconds ago.
    kube.put(jobs, job);
    await done;
    expect(kube.objectsOf(jobs)).toEqual([]);
    expect(buildOf(kube)?.metadata.labels).toMatchObject({ [key('pre-built-image')]: 'true' });
  });

  it('are taken over although the builder starts no job', async () => {
    const kube = cluster([machineOSBuilds, theirs()]);
    await runStep(handOverServed, setting(kube));
    expect(buildOf(kube)?.metadata.labels).toMatchObject({ [key('pre-built-image')]: 'true' });
  });

  it('are taken over wherever that is cut off', async () => {
    const fresh = (): FakeKube => cluster([machineOSBuilds, theirs()], [jobs, job]);
    const whole = fresh();
    const counted = dyingKube(whole, -1, 'after');
    await runStep(handOverServed, setting(counted));
    const expected = await handedOver(whole);
    for (let write = 0; write < counted.writes(); write += 1) {
      for (const when of ['before', 'after'] as const) {
        const kube = fresh();
        await tryStep(handOverServed, setting(dyingKube(kube, write, when)));
        await runStep(handOverServed, setting(kube));
        expect(await handedOver(kube), `cut off ${when} write ${write}`).toEqual(expected);
        expect(kube.objectsOf(jobs)).toEqual([]);
      }
    }
  });

  it('stop the hand-over when they stand for another image', async () => {
    const status = {
      digestedImagePushSpec: 'x',
      conditions: conditionsOf('succeeded', new Date(0)),
    };
    const { failure } = await tryStep(
      handOverServed,
      setting(cluster([machineOSBuilds, theirs(status)])),
    );
    expect(failure).toMatchObject({
      code: 'layering.build-in-the-way',
      message: expect.stringContaining('it has Succeeded with image x') as string,
    });
  });

  it('stop the hand-over when the user has changed the MachineOSConfig', async () => {
    const changed = osConfigObject({ containerFile: [] }) as unknown as KubeObject;
    const { failure } = await tryStep(
      handOverServed,
      setting(cluster([machineOSConfigs, changed])),
    );
    expect(failure).toMatchObject({ code: 'layering.os-config-differs' });
  });

  it('get the build where a MachineOSConfig came without', async () => {
    const plain = osConfigObject() as unknown as KubeObject;
    const annotations = { [key('pre-built-image')]: 'x' };
    const stirred = { ...plain, metadata: { ...plain.metadata, annotations } };
    const kube = cluster([machineOSConfigs, stirred]);
    await runStep(handOverServed, setting(kube));
    expect(kube.objectsOf(machineOSConfigs)[0]?.metadata.annotations).toEqual({
      [key('current-machine-os-build')]: buildNamed,
    });
  });

  it('keep a Secret that somebody renewed', async () => {
    const there = { metadata: { name: 'ocl-push', namespace: operator }, data: { new: 'x' } };
    const kube = cluster([secrets, there]);
    await runStep(handOverServed, setting(kube));
    expect(kube.objectsOf(secrets)[0]).toMatchObject({ data: { new: 'x' } });
  });
});

describe('a cluster that does not keep what is written', () => {
  it.each(['machineosbuilds', 'machineosconfigs'])('is told by its %s', async (plural) => {
    const kube = cluster();
    const deaf: Kube = {
      ...kube,
      patch: (ref, patch, signal) =>
        ref.kind.plural === plural && patch.subresource === 'status'
          ? Promise.resolve({ metadata: { name: ref.name } })
          : kube.patch(ref, patch, signal),
    };
    const { failure } = await tryStep(handOverServed, setting(deaf));
    expect(failure).toMatchObject({ code: 'layering.not-kept' });
  });

  it('is asked again while it is away', async () => {
    const kube = cluster();
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
    await runStep(handOverServed, setting(shaky));
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
  });
});

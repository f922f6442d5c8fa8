import { describe, expect, it } from 'vitest';
import {
  buildIn,
  crashPointsOf,
  handOverTo,
  key,
  siteCluster,
} from '../../../test/layering/hand-over-run.ts';
import {
  buildNamed,
  dyingKube,
  final,
  handedOver,
  operator,
  rendered,
} from '../../../test/layering/hand-over-site.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { jobs, machineOSBuilds, machineOSConfigs, secrets } from '../../kube/kinds.ts';
import { conditionsOf } from '../../../test/layering/build-conditions.ts';
import { seconds } from '../../model/duration.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { handOverServed } from './hand-over.ts';

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
    const kube = siteCluster([machineOSBuilds, theirs(status)], [jobs, job]);
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.objectsOf(jobs)).toEqual([]);
    expect(buildIn(kube)).toMatchObject({
      metadata: { labels: { [key('pre-built-image')]: 'true' } },
      status: { digestedImagePushSpec: final, conditions: conditionsOf('seeded', new Date(1000)) },
    });
    const { length } = kube.writes;
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.writes.slice(length).map(({ kind }) => kind)).toEqual(
      Array(2).fill('machineconfigpools'),
    );
  });

  it('are taken over when they come in between', async () => {
    const kube = siteCluster();
    const raced: Kube = {
      ...kube,
      create: async (into, object, signal) => {
        if (into.kind === machineOSBuilds) kube.put(machineOSBuilds, theirs());
        return kube.create(into, object, signal);
      },
    };
    const clock = fakeClock({ auto: false });
    const done = runStep(handOverServed, { ...handOverTo(raced), clock });
    await settle();
    // The builder acts on what it saw, five seconds ago.
    kube.put(jobs, job);
    await clock.advance(seconds(12));
    await done;
    expect(kube.objectsOf(jobs)).toEqual([]);
    expect(buildIn(kube)?.metadata.labels).toMatchObject({ [key('pre-built-image')]: 'true' });
  });

  it('are taken over although the builder starts no job', async () => {
    const kube = siteCluster([machineOSBuilds, theirs()]);
    await runStep(handOverServed, handOverTo(kube));
    expect(buildIn(kube)?.metadata.labels).toMatchObject({ [key('pre-built-image')]: 'true' });
  });

  it('are taken over wherever that is cut off', async () => {
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

  it('stop the hand-over when they stand for another image', async () => {
    const status = {
      digestedImagePushSpec: 'x',
      conditions: conditionsOf('succeeded', new Date(0)),
    };
    const { failure, events } = await tryStep(
      handOverServed,
      handOverTo(siteCluster([machineOSBuilds, theirs(status)])),
    );
    expect(events.map(({ type }) => type)).not.toContain('step.retrying');
    expect(failure).toMatchObject({
      code: 'layering.build-in-the-way',
      message: expect.stringContaining('it has Succeeded with image x') as string,
    });
  });

  it('stop the hand-over when the user has changed the MachineOSConfig', async () => {
    const changed = osConfigObject({ containerFile: [] }) as unknown as KubeObject;
    const { failure } = await tryStep(
      handOverServed,
      handOverTo(siteCluster([machineOSConfigs, changed])),
    );
    expect(failure).toMatchObject({ code: 'layering.os-config-differs' });
  });

  it('get the build where a MachineOSConfig came without', async () => {
    const plain = osConfigObject() as unknown as KubeObject;
    const annotations = { [key('pre-built-image')]: 'x' };
    const stirred = { ...plain, metadata: { ...plain.metadata, annotations } };
    const kube = siteCluster([machineOSConfigs, stirred]);
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.objectsOf(machineOSConfigs)[0]?.metadata.annotations).toEqual({
      [key('current-machine-os-build')]: buildNamed,
    });
  });

  it('keep a Secret that somebody renewed', async () => {
    const there = { metadata: { name: 'ocl-push', namespace: operator }, data: { new: 'x' } };
    const kube = siteCluster([secrets, there]);
    await runStep(handOverServed, handOverTo(kube));
    expect(kube.objectsOf(secrets)[0]).toMatchObject({ data: { new: 'x' } });
  });
});

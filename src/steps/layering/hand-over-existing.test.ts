import { describe, expect, it } from 'vitest';
import {
  crashPointsOf,
  handOverTo,
  key,
  siteCluster,
} from '../../../test/layering/hand-over-run.ts';
import {
  buildNamed,
  dyingKube,
  handedOver,
  operator,
  rendered,
} from '../../../test/layering/hand-over-site.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { jobs, machineOSBuilds, machineOSConfigs, secrets } from '../../kube/kinds.ts';
import type { KubeObject } from '../../ports/kube.ts';
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

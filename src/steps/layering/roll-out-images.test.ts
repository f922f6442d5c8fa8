import { describe, expect, it } from 'vitest';
import { dyingKube } from '../../../test/layering/hand-over-site.ts';
import { isHandedOver, jobIn, type JobSite, jobSite } from '../../../test/layering/job-site.ts';
import { poolObject } from '../../../test/layering/layered-pool.ts';
import { leftImage, leftWorkers } from '../../../test/layering/left-images.ts';
import { runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSBuilds, machineOSConfigs } from '../../cluster/kinds.ts';
import { osConfigRequest } from '../../layering/hand-over/hand-over.ts';
import { hours } from '../../model/duration.ts';
import { recordRef } from '../after-pivot/record.ts';
import { rollOutImages } from './roll-out-images.ts';

const images = [leftImage, leftWorkers];

/** The record as it was left some time ago. */
function leftBefore({ kube, clock }: JobSite, age: number): void {
  const { kind, ...metadata } = recordRef;
  const creationTimestamp = new Date(clock.now() - age).toISOString();
  kube.put(kind, { metadata: { ...metadata, creationTimestamp } });
}

describe('layering/bring-images', () => {
  it('leaves what the bootstrap host would have left', async () => {
    const site = jobSite();
    await runStep(rollOutImages, jobIn(site, images));
    for (const image of images) await isHandedOver(site.kube, image);
  });

  it('changes nothing at a second time', async () => {
    const site = jobSite();
    await runStep(rollOutImages, jobIn(site, images));
    const before = site.kube.writes.length;
    await runStep(rollOutImages, jobIn(site, images));
    expect(site.kube.writes.slice(before)).toEqual([]);
  });

  it('writes nothing before etcd can lose a member', async () => {
    const site = jobSite(['m1', 'm2']);
    leftBefore(site, 0);
    const { events, failure } = await tryStep(rollOutImages, jobIn(site, images));
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(site.kube.writes).toEqual([]);
    expect(statusesOf(events)).toContain('2 of 3 etcd members ready');
  });

  it('waits for no member of etcd once the job is about to end', async () => {
    const site = jobSite(['m1', 'm2']);
    leftBefore(site, hours(22));
    await runStep(rollOutImages, jobIn(site, images));
    for (const image of images) await isHandedOver(site.kube, image);
  });

  it.each(['before', 'after'] as const)(
    'goes on where a pod of the job ended %s any of its writes',
    async (when) => {
      const whole = jobSite();
      await runStep(rollOutImages, jobIn(whole, images));
      const writes = whole.kube.writes.length;
      expect(writes).toBeGreaterThan(8);
      for (let write = 0; write < writes; write += 1) {
        const site = jobSite();
        const kube = dyingKube(site.kube, write, when);
        const { failure } = await tryStep(rollOutImages, jobIn({ ...site, kube }, images));
        expect(failure, `write ${write}`).toBeDefined();
        await runStep(rollOutImages, jobIn(site, images));
        for (const image of images) await isHandedOver(site.kube, image);
      }
    },
    60_000,
  );

  it('lets the cluster build where the pool has another MachineConfig by then', async () => {
    const site = jobSite();
    const { kube } = site;
    kube.put(machineConfigPools, poolObject('master', { configuration: { name: 'other' } }));
    const { notes } = await runStep(rollOutImages, jobIn(site, [leftImage]));
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: pool master is now rendered as other/),
    );
    expect(kube.objectsOf(machineOSBuilds)).toEqual([]);
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
  });

  it('goes on to the next pool after one whose image could not be handed over', async () => {
    const site = jobSite();
    const spec = { ...(leftImage.osConfig['spec'] as object), renderedImagePushSpec: 'r.test/x:1' };
    site.kube.put(machineOSConfigs, { ...osConfigRequest(leftImage.osConfig), spec });
    const { failure, notes } = await tryStep(rollOutImages, jobIn(site, images));
    expect(failure).toMatchObject({ code: 'layering.os-config-differs' });
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: the OS image of pool master is not handed over: /),
    );
    await isHandedOver(site.kube, leftWorkers);
  });

  it('has nothing to do without images', async () => {
    const site = jobSite();
    await runStep(rollOutImages, jobIn(site, []));
    expect(site.kube.writes).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { dyingKube } from '../../../test/layering/hand-over-site.ts';
import { handOverStep, isHandedOver, leftSite } from '../../../test/layering/left-site.ts';
import { poolObject } from '../../../test/layering/layered-pool.ts';
import { leftImage, leftWorkers } from '../../../test/layering/left-images.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSBuilds, machineOSConfigs } from '../../cluster/kinds.ts';
import { osConfigRequest } from '../../layering/hand-over/hand-over.ts';

const images = [leftImage, leftWorkers];

const handOverBoth = handOverStep(images);

describe('what is left to be handed over', () => {
  it('leaves what the bootstrap host would have left', async () => {
    const site = leftSite();
    await runStep(handOverBoth, site);
    for (const image of images) await isHandedOver(site.kube, image);
  });

  it('changes nothing at a second time', async () => {
    const site = leftSite();
    await runStep(handOverBoth, site);
    const before = site.kube.writes.length;
    await runStep(handOverBoth, site);
    expect(site.kube.writes.slice(before)).toEqual([]);
  });

  it.each(['before', 'after'] as const)(
    'continues where a controller ended %s any of its writes',
    async (when) => {
      const whole = leftSite();
      await runStep(handOverBoth, whole);
      const writes = whole.kube.writes.length;
      expect(writes).toBeGreaterThan(8);
      for (let write = 0; write < writes; write += 1) {
        const site = leftSite();
        const kube = dyingKube(site.kube, write, when);
        const { failure } = await tryStep(handOverBoth, { ...site, kube });
        expect(failure, `write ${write}`).toBeDefined();
        await runStep(handOverBoth, site);
        for (const image of images) await isHandedOver(site.kube, image);
      }
    },
    60_000,
  );

  it('lets the cluster build where the pool has another MachineConfig by then', async () => {
    const site = leftSite();
    const { kube } = site;
    kube.put(machineConfigPools, poolObject('master', { configuration: { name: 'other' } }));
    const { notes } = await runStep(handOverStep([leftImage]), site);
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: pool master is now rendered as other/),
    );
    expect(kube.objectsOf(machineOSBuilds)).toEqual([]);
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
  });

  it('continues to the next pool after one whose image could not be handed over', async () => {
    const site = leftSite();
    const spec = { ...(leftImage.osConfig['spec'] as object), renderedImagePushSpec: 'r.test/x:1' };
    site.kube.put(machineOSConfigs, { ...osConfigRequest(leftImage.osConfig), spec });
    const { failure } = await tryStep(handOverBoth, site);
    expect(failure).toMatchObject({ code: 'layering.os-config-differs' });
    await isHandedOver(site.kube, leftWorkers);
  });

  it('has nothing to do without images', async () => {
    const site = leftSite();
    await runStep(handOverStep([]), site);
    expect(site.kube.writes).toEqual([]);
  });
});

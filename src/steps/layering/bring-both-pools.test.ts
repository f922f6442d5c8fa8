import { describe, expect, it } from 'vitest';
import { bothFacts, bothHost } from '../../../test/layering/both-pools.ts';
import { dyingKube } from '../../../test/layering/hand-over-site.ts';
import { switchedImage, switchedWorkers } from '../../../test/layering/left-images.ts';
import { isHandedOver, isSwitched, jobIn, leftPods } from '../../../test/layering/played-job.ts';
import { isPaused } from '../../../test/layering/played-node.ts';
import {
  type PlayedOrder,
  type PlayedPools,
  playedPools,
} from '../../../test/layering/played-nodes.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { configMaps, nodes } from '../../cluster/kinds.ts';
import { annotationOf } from '../../layering/cluster-object.ts';
import { nodeKeys } from '../../layering/node-keys.ts';
import { readRecord, recordRef } from '../after-pivot/record.ts';
import { bringImages } from './bring-images.ts';
import { leaveHandOver } from './leave-hand-over.ts';

const images = [switchedImage, switchedWorkers];
const withWorkers = (order: PlayedOrder = {}): PlayedPools =>
  playedPools({ workers: ['w1', 'w2'], ...order });

describe('layering/bring-images, with images of masters and workers', () => {
  it('finds both images in its record as the bootstrap host leaves them', async () => {
    const { kube, clock } = withWorkers();
    await runStep(leaveHandOver, {
      config: {
        role: 'bootstrap',
        service: { url: 'http://svc.example' },
        cluster: { id: 'c', hostId: 'h0', openshiftVersion: '4.20.1' },
        layering: { mode: 'on', olderReleases: 'switch' },
        images: { self: 'quay.io/b:v1' },
      },
      facts: bothFacts('switched'),
      kube,
      clock,
      host: bothHost(),
      inventory: fakeInventory({ hosts: [inventoryHost({ id: 'h0', name: 'm3' })] }),
    });
    const records = kube.objectsOf(configMaps).map((object) => readRecord(object).images);
    expect(records).toEqual([images]);
  });

  it('switches the masters to their image, then the workers to theirs', async () => {
    const world = withWorkers();
    await runStep(bringImages, jobIn(world, images));
    await isSwitched(world, images);
    expect(world.restarts).toEqual(['m1', 'm2', 'm3', 'w1', 'w2']);
  });

  it('changes nothing at a second time', async () => {
    const world = withWorkers();
    await runStep(bringImages, jobIn(world, images));
    const before = world.kube.writes.length;
    await runStep(bringImages, jobIn(world, images));
    expect(world.kube.writes.slice(before)).toEqual([]);
  });

  it.each([
    ['before its second write', 1, 'before'],
    ['after its first write', 0, 'after'],
  ] as const)('goes on where each pod of the job ended %s', async (...[, write, when]) => {
    const whole = withWorkers();
    await runStep(bringImages, jobIn(whole, images));
    const world = withWorkers();
    let isOver = false;
    let lives = 0;
    for (; !isOver && lives <= whole.kube.writes.length; lives += 1) {
      const kube = dyingKube(world.kube, write, when);
      isOver = !('failure' in (await tryStep(bringImages, { ...jobIn(world, images), kube })));
    }
    expect(isOver).toBe(true);
    expect(lives).toBeGreaterThan(50);
    await isSwitched(world, images);
    expect(world.restarts).toEqual(whole.restarts);
  });

  it.each(['before', 'after'] as const)(
    'goes on where a pod of the job ended %s any write for the workers',
    async (when) => {
      const whole = await withMastersDone();
      const begun = whole.kube.writes.length;
      await runStep(bringImages, jobIn(whole, images));
      const writes = whole.kube.writes.length - begun;
      expect(writes).toBeGreaterThan(20);
      for (let write = 0; write < writes; write += 1) {
        const world = await withMastersDone();
        const kube = dyingKube(world.kube, write, when);
        const { failure } = await tryStep(bringImages, { ...jobIn(world, images), kube });
        expect(failure, `write ${write}`).toBeDefined();
        await runStep(bringImages, jobIn(world, images));
        await isSwitched(world, images);
      }
    },
    60_000,
  );

  it('hands both images over and leaves no pool paused when a worker does not come back', async () => {
    const world = withWorkers({ lost: 'w1' });
    const { kube } = world;
    const { notes } = await runStep(bringImages, jobIn(world, images));
    await isSwitched({ ...world, nodes: world.nodes.slice(0, 3) }, [switchedImage]);
    expect(world.nodes.slice(3)).toMatchObject([
      { booted: '', starts: 1 },
      { booted: '', starts: 0, staged: switchedWorkers.image, recorded: '' },
    ]);
    expect(notes).toContainEqual(expect.stringMatching(/^warn: node w1 was on its way/));
    expect(isPaused(kube, 'worker')).toBe(false);
    expect(leftPods(kube)).toEqual([]);
    await isHandedOver(kube, switchedWorkers);
    const [, w2] = kube.objectsOf(nodes).filter(({ metadata }) => metadata.name.startsWith('w'));
    expect(annotationOf(w2, nodeKeys.desiredDrain)).toBe('');
  });

  it('hands both images over and restarts no worker when a master does not come back', async () => {
    const world = withWorkers({ lost: 'm2' });
    const creationTimestamp = new Date(world.clock.now()).toISOString();
    const { kind, ...metadata } = recordRef;
    world.kube.put(kind, { metadata: { ...metadata, creationTimestamp } });
    const { failure } = await tryStep(bringImages, jobIn(world, images));
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(isPaused(world.kube, 'worker')).toBe(false);
    await runStep(bringImages, jobIn(world, images));
    expect(world.restarts).toEqual(['m1', 'm2']);
    expect(world.incidents).toEqual([]);
    expect(images.map(({ pool }) => isPaused(world.kube, pool))).toEqual([false, false]);
    for (const image of images) await isHandedOver(world.kube, image);
  });
});

/** A world whose masters are through. */
async function withMastersDone(): Promise<PlayedPools> {
  const world = withWorkers();
  await runStep(bringImages, jobIn(world, [switchedImage]));
  return world;
}

import { describe, expect, it } from 'vitest';
import { dyingKube, final } from '../../../test/layering/hand-over-site.ts';
import { poolObject } from '../../../test/layering/layered-pool.ts';
import { leftImage, switchedImage } from '../../../test/layering/left-images.ts';
import { isHandedOver, isSwitched, jobIn, leftPods } from '../../../test/layering/played-job.ts';
import { laggingKube } from '../../../test/layering/lagging-kube.ts';
import { isPaused, poolIn } from '../../../test/layering/played-node.ts';
import { playedPools } from '../../../test/layering/played-nodes.ts';
import { osConfigObject } from '../../../test/layering/samples.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { statusesOf } from '../../../test/support/wait-statuses.ts';
import {
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  pods,
} from '../../cluster/kinds.ts';
import { osConfigRequest } from '../../layering/hand-over/os-config.ts';
import { nodeKeys } from '../../layering/node-keys.ts';
import type { PodAct } from '../../layering/switching/pods.ts';
import { hours, seconds } from '../../model/duration.ts';
import { recordRef } from '../after-pivot/record.ts';
import { bringImages } from './bring-images.ts';
import { pausePool } from './pool-pause.ts';

const { signal } = new AbortController();

/** What the drain controller was last asked for, of each node that it was asked about. */
const askedOf = (kube: FakeKube): readonly string[] =>
  kube
    .objectsOf(nodes)
    .flatMap(({ metadata }) => metadata.annotations?.[nodeKeys.desiredDrain]?.split('-')[0] ?? []);

describe.each([
  ['that the cluster rolls out', leftImage],
  ['to which nodes are switched', switchedImage],
])('layering/bring-images, with an image %s', (_, image) => {
  it('leaves what the bootstrap host would have left', async () => {
    const pool = playedPools();
    await runStep(bringImages, jobIn(pool, [image]));
    await isHandedOver(pool.kube, image);
  });

  it('changes nothing at a second time', async () => {
    const pool = playedPools();
    await runStep(bringImages, jobIn(pool, [image]));
    const before = pool.kube.writes.length;
    await runStep(bringImages, jobIn(pool, [image]));
    expect(pool.kube.writes.slice(before)).toEqual([]);
  });

  it('writes nothing before etcd can lose a member', async () => {
    const pool = playedPools({ masters: ['m1', 'm2'] });
    const { events, failure } = await tryStep(bringImages, jobIn(pool, [image]));
    expect(failure).toBeDefined();
    expect(pool.kube.writes).toEqual([]);
    expect(statusesOf(events)).toContain('2 of 3 etcd members ready');
  });

  it('lets the cluster build where the pool has another MachineConfig by then', async () => {
    const pool = playedPools();
    const { kube } = pool;
    kube.put(machineConfigPools, { ...poolIn(kube), spec: { configuration: { name: 'other' } } });
    const { notes } = await runStep(bringImages, jobIn(pool, [image]));
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: pool master is rendered as other by now/),
    );
    expect(kube.objectsOf(machineOSBuilds)).toEqual([]);
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
    expect(pool.nodes.map(({ starts }) => starts)).toEqual([0, 0, 0]);
    expect(leftPods(kube)).toEqual([]);
    expect(isPaused(kube, 'master')).toBe(false);
  });
});

describe('layering/bring-images', () => {
  it('switches one node after the other', async () => {
    const pool = playedPools();
    const { notes } = await runStep(bringImages, jobIn(pool, [switchedImage]));
    await isSwitched(pool);
    expect(notes.filter((note) => note.includes('m2'))).toEqual([
      'info: node m2 stages its image',
      'info: node m2 is to be drained',
      'info: node m2 is to know that it will run its image',
      'info: node m2 names its image',
      'info: node m2 restarts into its image',
      'info: node m2 has restarted, and tells what it runs',
      'info: node m2 runs its image',
    ]);
  });

  it.each(['before', 'after'] as const)(
    'goes on where a pod of the job ended %s any of its writes',
    async (when) => {
      const whole = playedPools();
      await runStep(bringImages, jobIn(whole, [switchedImage]));
      const writes = whole.kube.writes.length;
      expect(writes).toBeGreaterThan(30);
      for (let write = 0; write < writes; write += 1) {
        const pool = playedPools();
        const dying = dyingKube(pool.kube, write, when);
        const { failure } = await tryStep(bringImages, {
          ...jobIn(pool, [switchedImage]),
          kube: dying,
        });
        expect(failure, `write ${write}`).toBeDefined();
        await runStep(bringImages, jobIn(pool, [switchedImage]));
        await isSwitched(pool);
      }
    },
    60_000,
  );

  it.each([
    ['nodes', nodes],
    ['pods', pods],
    ['pools', machineConfigPools],
  ])('takes one node out of work at a time where it hears late of %s', async (_, kind) => {
    const pool = playedPools();
    const { notes } = await runStep(bringImages, {
      ...jobIn(pool, [switchedImage]),
      kube: laggingKube(pool, kind, seconds(45)),
    });
    await isSwitched(pool);
    const turns = notes.flatMap(
      (note) => /node (m\d) (?:is to be drained|runs its image)/.exec(note)?.[1] ?? [],
    );
    expect(turns).toEqual(['m1', 'm1', 'm2', 'm2', 'm3', 'm3']);
  });

  it('restarts no node that belongs to another pool as well', async () => {
    const pool = playedPools();
    const { kube } = pool;
    for (const node of kube.objectsOf(nodes)) {
      const labels = { ...node.metadata.labels, 'node-role.kubernetes.io/worker': '' };
      kube.put(nodes, { ...node, metadata: { ...node.metadata, labels } });
    }
    const configuration = { name: switchedImage.renderedConfig };
    kube.put(machineConfigPools, poolObject('worker', { configuration }));
    const workers = { ...switchedImage, pool: 'worker', image: `${final.slice(0, -1)}0` };
    await tryStep(bringImages, jobIn(pool, [workers]));
    expect(leftPods(kube)).toEqual([]);
    expect(pool.nodes.map(({ staged }) => staged)).toEqual(['', '', '']);
  });

  it('leaves to the cluster what does not come back in time, and no pool paused', async () => {
    const pool = playedPools();
    const { kube } = pool;
    const [, second] = kube.objectsOf(nodes);
    if (second === undefined) throw new TypeError('there is no second node');
    const { annotations } = second.metadata;
    kube.put(nodes, {
      ...second,
      metadata: {
        ...second.metadata,
        annotations: { ...annotations, [nodeKeys.state]: 'Degraded' },
      },
    });
    const { notes } = await runStep(bringImages, jobIn(pool, [switchedImage]));
    expect(notes).toContainEqual(
      expect.stringMatching(/^warn: not every node of pool master is switched/),
    );
    expect(leftPods(kube)).toEqual([]);
    expect(poolIn(kube)).toMatchObject({ spec: { paused: false } });
    const status = { currentImagePullSpec: final };
    expect(kube.objectsOf(machineOSConfigs)).toMatchObject([{ status }]);
  });

  it.each<[string, PodAct, readonly string[], RegExp]>([
    ['is drained', 'record', ['uncordon'], /^warn: not every node/],
    ['is to restart', 'restart', ['drain'], /^warn: node m1 was on its way/],
  ])('gives up a node that %s', async (...[, stuck, drains, words]) => {
    const pool = playedPools({ stuck });
    const { kube } = pool;
    const { notes } = await runStep(bringImages, jobIn(pool, [switchedImage]));
    expect(notes).toContainEqual(expect.stringMatching(words));
    expect(leftPods(kube)).toEqual([]);
    expect(poolIn(kube)).toMatchObject({ spec: { paused: false } });
    expect(askedOf(kube)).toEqual(drains);
  });

  it('gives a node back whose switch an earlier pod of the job could not give up any more', async () => {
    const pool = playedPools({ stuck: 'record' });
    const { kube, clock } = pool;
    const creationTimestamp = new Date(clock.now()).toISOString();
    const { kind, ...metadata } = recordRef;
    kube.put(kind, { metadata: { ...metadata, creationTimestamp } });
    const { failure } = await tryStep(bringImages, {
      ...jobIn(pool, [switchedImage]),
      kube: {
        ...pool.kube,
        patch: (ref, patch, at) =>
          clock.now() < hours(20)
            ? pool.kube.patch(ref, patch, at)
            : Promise.reject(new Error('died')),
      },
    });
    expect(failure).toMatchObject({ message: 'died' });
    expect(askedOf(kube)).toEqual(['drain']);
    await runStep(bringImages, jobIn(pool, [switchedImage]));
    expect(askedOf(kube)).toEqual(['uncordon']);
    expect(leftPods(kube)).toEqual([]);
    expect(poolIn(kube)).toMatchObject({ spec: { paused: false } });
  });

  it('takes a pool that it does not see for no end of the switch', async () => {
    const pool = playedPools();
    let lists = 0;
    await runStep(bringImages, {
      ...jobIn(pool, [switchedImage]),
      kube: {
        ...pool.kube,
        list: async (selection, at) => {
          if (selection.kind !== machineConfigPools) return pool.kube.list(selection, at);
          lists += 1;
          return lists === 9 ? [] : pool.kube.list(selection, at);
        },
      },
    });
    expect(lists).toBeGreaterThan(9);
    await isSwitched(pool);
  });

  it('goes on with a pool that it has paused while etcd lacks the member that is away', async () => {
    const pool = playedPools();
    const { kube } = pool;
    await pausePool({ kube, signal, note: () => undefined } as never, {
      kind: machineConfigPools,
      name: 'master',
    });
    kube.drop({ kind: pods, name: 'etcd-m1', namespace: 'openshift-etcd' });
    await runStep(bringImages, jobIn(pool, [switchedImage]));
    expect(poolIn(kube)).toMatchObject({ spec: { paused: false } });
    expect(kube.objectsOf(machineOSConfigs)).toHaveLength(1);
  });

  it('touches no node whose image could not be handed over, and goes on to the next pool', async () => {
    const pool = playedPools();
    const { kube } = pool;
    const spec = {
      ...(switchedImage.osConfig['spec'] as object),
      renderedImagePushSpec: 'r.test/x:1',
    };
    kube.put(machineOSConfigs, { ...osConfigRequest(switchedImage.osConfig), spec });
    kube.put(machineConfigPools, poolObject('worker', { configuration: { name: 'other' } }));
    const workers = {
      ...leftImage,
      ...{ pool: 'worker', renderedConfig: 'mine' },
      osConfig: { ...osConfigObject(), metadata: { name: 'worker' } },
    };
    const { failure, notes } = await tryStep(bringImages, jobIn(pool, [switchedImage, workers]));
    expect(failure).toMatchObject({ code: 'layering.os-config-differs' });
    expect(pool.nodes.map(({ staged, starts }) => [staged, starts])).toEqual([
      ['', 0],
      ['', 0],
      ['', 0],
    ]);
    expect(isPaused(kube, 'master')).toBe(false);
    expect(notes).toContainEqual(expect.stringMatching(/^warn: pool worker is rendered as other/));
  });

  it('ends no pause that is not its own', async () => {
    const pool = playedPools();
    const { kube } = pool;
    const spec = { ...(poolIn(kube)['spec'] as object), paused: true };
    kube.put(machineConfigPools, { ...poolIn(kube), spec });
    await runStep(bringImages, jobIn(pool, [switchedImage]));
    expect(pool.incidents).toEqual([]);
    expect(poolIn(kube)).toMatchObject({ spec: { paused: true } });
  });

  it('has nothing to do without images', async () => {
    const pool = playedPools();
    await runStep(bringImages, jobIn(pool, []));
    expect(pool.kube.writes).toEqual([]);
  });
});

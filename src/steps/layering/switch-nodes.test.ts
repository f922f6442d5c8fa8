import { describe, expect, it } from 'vitest';
import { dyingKube, final } from '../../../test/layering/hand-over-site.ts';
import { leftImage, switchedImage } from '../../../test/layering/left-images.ts';
import { type PlayedPool, playedPool } from '../../../test/layering/played-nodes.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, nodes, pods } from '../../cluster/kinds.ts';
import type { LeftImage } from '../../layering/hand-over/left-image.ts';
import { leftNamespace } from '../after-pivot/record.ts';
import { switchNodes } from './switch-nodes.ts';

const record = (images: readonly LeftImage[]) => ({
  ...{ node: 'm3', addresses: [], role: 'master', isEtcdOverridden: false, images },
});
const run = ({ kube }: Pick<PlayedPool, 'kube'>, images = [switchedImage]) => ({
  kube,
  clock: fakeClock(),
  facts: { record: record(images) },
});
const leftPods = ({ kube }: PlayedPool): readonly string[] =>
  kube
    .objectsOf(pods)
    .filter(({ metadata }) => metadata.namespace === leftNamespace)
    .map(({ metadata }) => metadata.name);

/** Every node runs the image after one restart, in order, and no pod of ours is left. */
function isSwitched(pool: PlayedPool): void {
  expect(pool.incidents).toEqual([]);
  expect(pool.nodes.map(({ booted, starts }) => [booted, starts])).toEqual(
    pool.nodes.map(() => [final, 1]),
  );
  expect(leftPods(pool)).toEqual([]);
  for (const { metadata } of pool.kube.objectsOf(nodes)) {
    const drained = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
      key.includes('Drain'),
    );
    expect(drained.every(([, value]) => value.startsWith('uncordon-'))).toBe(true);
  }
}

describe('layering/switch-nodes', () => {
  it('switches one node after the other, and keeps the pool paused', async () => {
    const pool = playedPool();
    const { notes } = await runStep(switchNodes, run(pool));
    isSwitched(pool);
    expect(pool.kube.objectsOf(machineConfigPools)[0]).toMatchObject({ spec: { paused: true } });
    expect(notes.filter((note) => note.includes('m2'))).toEqual([
      'info: node m2 stages its image',
      'info: node m2 is to be drained',
      'info: node m2 is to know that it will run its image',
      'info: node m2 names its image',
      'info: node m2 restarts into its image',
      'info: node m2 has restarted, and tells what it runs',
      'info: node m2 is to be given back to its work',
      'info: node m2 runs its image',
    ]);
  });

  it('changes nothing when all is switched', async () => {
    const pool = playedPool();
    await runStep(switchNodes, run(pool));
    const before = pool.kube.writes.length;
    await runStep(switchNodes, run(pool));
    expect(pool.kube.writes.slice(before)).toEqual([]);
  });

  it.each(['before', 'after'] as const)(
    'goes on where a pod of the job ended %s any of its writes',
    async (when) => {
      const whole = playedPool();
      await runStep(switchNodes, run(whole));
      const writes = whole.kube.writes.length;
      expect(writes).toBeGreaterThan(30);
      for (let write = 0; write < writes; write += 1) {
        const pool = playedPool();
        const { failure } = await tryStep(switchNodes, {
          ...run(pool),
          kube: dyingKube(pool.kube, write, when),
        });
        expect(failure, `write ${write}`).toBeDefined();
        await runStep(switchNodes, run(pool));
        isSwitched(pool);
      }
    },
  );

  it('leaves alone what the cluster is to roll out', async () => {
    const pool = playedPool();
    await runStep(switchNodes, run(pool, [leftImage]));
    expect(pool.kube.writes).toEqual([]);
  });

  it('ends no pause that is not its own', async () => {
    const pool = playedPool();
    const [object] = pool.kube.objectsOf(machineConfigPools);
    if (object === undefined) throw new TypeError('there is no pool');
    const paused = { ...(object['spec'] as object), paused: true };
    pool.kube.put(machineConfigPools, { ...object, spec: paused });
    await runStep(switchNodes, run(pool));
    isSwitched(pool);
    expect(pool.kube.objectsOf(machineConfigPools)[0]?.metadata.annotations).toBeUndefined();
  });
});

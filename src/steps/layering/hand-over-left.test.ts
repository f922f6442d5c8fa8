import { describe, expect, it } from 'vitest';
import {
  dyingKube,
  handedOver,
  handOverFacts,
  handOverHost,
} from '../../../test/layering/hand-over-site.ts';
import { leftImage, switchedImage } from '../../../test/layering/left-images.ts';
import { playedPool } from '../../../test/layering/played-nodes.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import type { FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { statusesOf } from '../../../test/support/wait-statuses.ts';
import { machineConfigPools } from '../../cluster/kinds.ts';
import type { LeftImage } from '../../layering/hand-over/left-image.ts';
import { handOver } from './hand-over.ts';
import { handOverLeft } from './hand-over-left.ts';
import { switchNodes } from './switch-nodes.ts';

const run = (kube: FakeKube, images: readonly LeftImage[] = [leftImage]) => ({
  kube,
  clock: fakeClock(),
  facts: {
    record: { node: 'm3', addresses: [], role: 'master', isEtcdOverridden: false, images },
  },
});
const poolIn = (kube: FakeKube) => kube.objectsOf(machineConfigPools)[0];

async function handedOverByHost(): Promise<unknown> {
  const { kube } = playedPool();
  const setting = { config: { layering: { mode: 'on' } }, facts: handOverFacts } as const;
  await runStep(handOver, { ...setting, kube, host: handOverHost(), clock: fakeClock() });
  return handedOver(kube);
}

describe('layering/hand-over-left', () => {
  it('leaves what the bootstrap host would have left', async () => {
    const { kube } = playedPool();
    await runStep(handOverLeft, run(kube));
    expect(await handedOver(kube)).toEqual(await handedOverByHost());
  });

  it('leaves the same when it was ended before or after any of its writes', async () => {
    const { kube: whole } = playedPool();
    await runStep(handOverLeft, run(whole));
    for (const when of ['before', 'after'] as const) {
      for (let write = 0; write < whole.writes.length; write += 1) {
        const { kube } = playedPool();
        await tryStep(handOverLeft, { ...run(kube), kube: dyingKube(kube, write, when) });
        await runStep(handOverLeft, run(kube));
        expect(await handedOver(kube)).toEqual(await handedOver(whole));
      }
    }
  });

  it('ends the pause of nodes that were switched, last of all', async () => {
    const { kube } = playedPool();
    await runStep(switchNodes, run(kube, [switchedImage]));
    await runStep(handOverLeft, run(kube, [switchedImage]));
    expect(poolIn(kube)).toMatchObject({ spec: { paused: false }, metadata: { annotations: {} } });
    expect(kube.writes.at(-1)).toMatchObject({ verb: 'patch', kind: 'machineconfigpools' });
  });

  it('writes nothing before etcd can lose a member', async () => {
    const { kube } = playedPool(['m1', 'm2']);
    const { events, failure } = await tryStep(handOverLeft, run(kube));
    expect(failure).toBeDefined();
    expect(kube.writes).toEqual([]);
    expect(statusesOf(events)).toContain('2 of 3 etcd members ready');
  });

  it('has nothing to do without images', async () => {
    const { kube } = playedPool();
    await runStep(handOverLeft, run(kube, []));
    expect(kube.writes).toEqual([]);
  });
});

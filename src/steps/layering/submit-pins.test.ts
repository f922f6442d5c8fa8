import { describe, expect, it } from 'vitest';
import { orderFor } from '../../../test/layering/lane-facts.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { machineConfigs } from '../../cluster/kinds.ts';
import { pinName, pinObject } from '../../layering/delivery/pin.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { submitPins } from './submit-pins.ts';

const config = {
  cluster: { openshiftVersion: '4.20.1' },
  layering: { olderReleases: 'pin' },
} as const;
const image = `registry.example.com/ocl/master@sha256:${'f'.repeat(64)}`;
const pinned = [
  { pool: 'master', name: `rendered-master-${'1'.repeat(32)}`, file: '', osImage: image },
];
const facts = { order: orderFor(['master'], 'pinned'), pinned };

describe('layering/submit-pins', () => {
  it('gives the cluster what this host was rendered with, and says that it stays', async () => {
    const kube = fakeKube();
    const { notes } = await runStep(submitPins, { config, facts, kube, clock: fakeClock() });
    expect(kube.objectsOf(machineConfigs)).toMatchObject([pinObject({ pool: 'master', image })]);
    expect(notes).toEqual([expect.stringContaining('delete it before')]);
  });

  it('waits for an API server that takes it', async () => {
    const kube = fakeKube().trouble(kubeFailure('kube.unreachable', 'connection refused'));
    const clock = fakeClock({ auto: false });
    const run = runStep(submitPins, { config, facts, kube, clock });
    await settle();
    expect(kube.writes).toEqual([]);
    kube.trouble(undefined);
    await run;
    expect(kube.writes).toHaveLength(1);
  });

  it('refuses a cluster that has another one of the name', async () => {
    const other = pinObject({ pool: 'master', image: 'registry.example.com/other@sha256:0' });
    const kube = fakeKube().put(machineConfigs, {
      ...other,
      metadata: { name: pinName('master') },
    });
    const { failure } = await tryStep(submitPins, { config, facts, kube, clock: fakeClock() });
    expect(failure).toMatchObject({ code: 'layering.not-kept' });
  });

  it('writes nothing where no MachineConfig names an image', async () => {
    const kube = fakeKube();
    await runStep(submitPins, { config, facts: { ...facts, pinned: [] }, kube });
    expect(kube.writes).toEqual([]);
  });

  it('writes once', async () => {
    const kube = fakeKube();
    const run = { config, facts, kube, clock: fakeClock() };
    await runStep(submitPins, run);
    await runStep(submitPins, run);
    expect(kube.writes).toHaveLength(1);
  });
});

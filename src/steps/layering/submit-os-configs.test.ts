import { describe, expect, it } from 'vitest';
import {
  byHost,
  handOverHost,
  renderedPool,
  site,
  fallbackFacts,
} from '../../../test/layering/hand-over-site.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSConfigs } from '../../cluster/kinds.ts';
import { handOverToRollOut } from './hand-over.ts';

const setting = (kube: FakeKube) => ({
  config: { role: 'bootstrap', layering: { mode: 'on' } } as const,
  facts: { ...fallbackFacts, by: byHost },
  kube,
  host: handOverHost(),
  clock: fakeClock(),
});

describe('a hand-over without an image', () => {
  it('gives the cluster what the user asked for, to be built later', async () => {
    const kube = site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
    const { notes } = await runStep(handOverToRollOut, setting(kube));
    const writes = kube.writes.map(({ verb, kind }) => `${verb} ${kind}`);
    expect(writes).toEqual(['create secrets', 'create machineosconfigs']);
    expect(kube.objectsOf(machineOSConfigs)[0]?.metadata.annotations).toEqual({});
    expect(notes).toEqual([
      'info: no OS image is handed over: the build failed',
      'info: pool master: the cluster builds the OS image later',
    ]);
    await runStep(handOverToRollOut, setting(kube));
    expect(kube.writes).toHaveLength(2);
  });

  it('waits for the pool', async () => {
    const kube = fakeKube();
    const done = runStep(handOverToRollOut, {
      ...setting(kube),
      clock: fakeClock({ auto: false }),
    });
    await settle();
    expect(kube.writes).toEqual([]);
    kube.put(machineConfigPools, renderedPool(''));
    await settle();
    kube.put(machineConfigPools, renderedPool('rendered-master-other'));
    const { events } = await done;
    expect(events.flatMap((one) => (one.type === 'wait.updated' ? [one.status] : []))).toEqual([
      'MachineConfigPool master does not exist yet',
      'MachineConfigPool master is not rendered yet',
    ]);
  });
});

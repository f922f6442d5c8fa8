import { describe, expect, it } from 'vitest';
import {
  type HandOverFacts,
  handOverFacts,
  handOverHost,
  renderedPool,
  site,
  fallbackFacts,
} from '../../../test/layering/hand-over-site.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { machineConfigPools, machineOSConfigs } from '../../kube/kinds.ts';
import { handOverServed, submitOsConfigs } from './hand-over.ts';

const setting = (kube: FakeKube, facts: HandOverFacts = fallbackFacts) => ({
  config: { role: 'bootstrap', layering: { mode: 'on' } } as const,
  facts,
  kube,
  host: handOverHost(),
  clock: fakeClock(),
});

describe('a hand-over without an image', () => {
  const { request } = handOverFacts;
  const older = request.kind === 'on' ? { ...request, kind: 'submit' as const } : request;
  it.each<[string, HandOverFacts, number]>([
    ['an older release', { ...fallbackFacts, request: older }, 2],
    ['images that are handed over', handOverFacts, 0],
    ['nothing', { ...fallbackFacts, request: { kind: 'off', why: 'no manifest' } }, 0],
  ])('is made of %s', async (...[, facts, writes]) => {
    const kube = site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
    await runStep(submitOsConfigs, setting(kube, facts));
    await runStep(handOverServed, setting(kube, facts));
    const submitted = kube.objectsOf(machineOSConfigs).filter((one) => one['status'] === undefined);
    expect(submitted).toHaveLength(writes / 2);
  });

  it('waits for the pool', async () => {
    const kube = fakeKube();
    const done = runStep(submitOsConfigs, {
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

import { expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { seconds } from '../../model/duration.ts';
import { reconcileInstallation } from './controllers.ts';

it.each([
  [true, ['warn: this controller does not count reboots: NOTIFY_NUM_REBOOTS has no effect']],
  [false, []],
])('says that it counts no reboots where it is asked to: %j', async (notifyNumReboots, said) => {
  const end = new AbortController();
  const clock = fakeClock({ auto: false });
  const config: ConfigInput = {
    service: { url: 'http://svc.example' },
    controller: { notifyNumReboots },
  };
  const facts = { cluster: { isAgentBased: false, platform: 'none' } };
  const kube = fakeKube();
  const running = tryStep(reconcileInstallation, {
    config,
    facts,
    kube,
    adminKube: kube,
    inventory: fakeInventory(),
    clock,
    signal: end.signal,
  });
  await clock.advance(seconds(1));
  end.abort(new Error('the test ends'));
  const { notes } = await running;
  expect(notes.filter((note) => note.includes('reboots'))).toEqual(said);
});

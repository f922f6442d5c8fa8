import { expect, it, vi } from 'vitest';
import { unitsOf } from '../host/units.ts';
import { simulateUnits } from './bootstrap-units.ts';
import type { ClusterWork } from './site.ts';

// However long a restart takes, the agent of this test has not looked by then, as on a machine with much else to do.
vi.mock(import('node:timers/promises'), { spy: true });
const timers = await import('node:timers/promises');
vi.mocked(timers.setTimeout).mockImplementation(() => Promise.resolve<never>(undefined as never));

it('leaves bootkube in its restart until somebody has looked', async () => {
  const units = unitsOf([], ['bootkube.service']);
  const work = {
    bootstrap: { units },
    plan: { bootkubeFails: 1 },
    state: () => ({ isBootkubeDone: false }),
    strike: () => undefined,
  };
  const started = vi.fn();
  simulateUnits(work as unknown as ClusterWork, started);
  units.start('bootkube.service');
  await expect.poll(() => units.stateOf('bootkube.service')).toBe('activating');
  await new Promise(setImmediate);
  expect(units.stateOf('bootkube.service')).toBe('activating');
  expect(started).not.toHaveBeenCalled();
  expect(units.detailsOf('bootkube.service')).toMatchObject({ result: 'exit-code' });
  await expect.poll(() => units.stateOf('bootkube.service')).toBe('active');
  await expect.poll(() => started.mock.calls).toEqual([[{ kind: 'bootkube-started' }]]);
});

import { expect, it } from 'vitest';
import { targetOf, blockDevice } from './disk-samples.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { lock } from './lock.ts';

const facts = { disk: targetOf(blockDevice('sda', { majorMinor: '8:0' })) };

it('takes the disk by its number and keeps it', async () => {
  const host = fakeHost();
  await runStep(lock, { host, facts });
  expect([...host.locks]).toEqual(['bootwright-disk-8-0']);
});

it('refuses a disk that another installation holds', async () => {
  const host = fakeHost().lockedByAnother('bootwright-disk-8-0');
  const { failure } = await tryStep(lock, { host, facts });
  expect(failure).toMatchObject({ code: 'disk.locked', kind: 'host' });
});

it('takes it again in a run that goes on', () => {
  expect(lock.rerun).toBe('always');
});

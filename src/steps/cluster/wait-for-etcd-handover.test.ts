import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { isSafeToRepeat, runStep } from '../../../test/support/run-step.ts';
import { etcds } from '../../cluster/kinds.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { waitForEtcdHandover } from './wait-for-etcd-handover.ts';

const facts = { controlPlane: { units: [] } };
const running = { type: 'EtcdRunningInCluster', status: 'True', reason: 'EnoughEtcdMembers' };
const removed = { type: 'EtcdBootstrapMemberRemoved', status: 'True' };

const etcd = (...conditions: readonly object[]) => ({
  metadata: { name: 'cluster' },
  status: { conditions },
});

describe('cluster/wait-for-etcd-handover', () => {
  it('is through at once when etcd has left', async () => {
    const clock = fakeClock();
    const kube = fakeKube().put(etcds, etcd(running, removed));
    const { value, notes } = await runStep(waitForEtcdHandover, { kube, clock, facts });
    expect(value).toEqual({ isSeen: true });
    expect(notes).toEqual([]);
    expect(clock.now()).toBe(0);
  });

  it('goes on the moment that it is said', async () => {
    const clock = fakeClock({ auto: false });
    const kube = fakeKube().put(etcds, etcd(running));
    const run = runStep(waitForEtcdHandover, { kube, clock, facts });
    await settle();
    kube.put(etcds, etcd(running, removed));
    const { value, events } = await run;
    expect(value).toEqual({ isSeen: true });
    expect(clock.now()).toBe(0);
    expect(events).toContainEqual(
      expect.objectContaining({ status: 'etcd still has a member on the bootstrap host' }),
    );
  });

  it.each([
    ['etcd stays', () => fakeKube().put(etcds, etcd(running))],
    [
      'the API server does not answer',
      () => fakeKube().trouble(kubeFailure('kube.unreachable', 'connection refused')),
    ],
  ])('goes on after ten minutes when %s', async (_, make) => {
    const clock = fakeClock();
    const { value, notes } = await runStep(waitForEtcdHandover, { kube: make(), clock, facts });
    expect(value).toEqual({ isSeen: false });
    expect(clock.now()).toBe(minutes(10));
    expect(notes).toEqual(['warn: it was not seen that etcd has left this host']);
  });

  it('does not wait for an object that nobody makes', async () => {
    const clock = fakeClock();
    const { value, notes } = await runStep(waitForEtcdHandover, { kube: fakeKube(), clock, facts });
    expect(value).toEqual({ isSeen: false });
    expect(notes).toHaveLength(1);
    expect(clock.now()).toBe(0);
  });

  it('goes on when the credentials are refused', async () => {
    const denied = kubeFailure('kube.denied', 'Unauthorized');
    const kube = { ...fakeKube(), follow: () => Promise.reject(denied) };
    const { value, notes } = await runStep(waitForEtcdHandover, { kube, facts });
    expect(value).toEqual({ isSeen: false });
    expect(notes).toHaveLength(1);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(waitForEtcdHandover, () => ({
      host: fakeHost(),
      kube: fakeKube().put(etcds, etcd(running, removed)),
      facts,
    }));
  });
});

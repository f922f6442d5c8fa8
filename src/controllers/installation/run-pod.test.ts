import { describe, expect, it } from 'vitest';
import { leaseFailure } from '../../kube/lease.ts';
import { withEndedPods } from '../../../test/support/ended-pods.ts';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { pods } from '../../kube/kinds.ts';
import { minutes } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { Kube } from '../../ports/kube.ts';
import { runPod } from './run-pod.ts';

const pod = {
  metadata: { name: 'gather', namespace: 'ns' },
  spec: { containers: [{ name: 'main' }] },
};
const place = { kind: pods, namespace: 'ns', name: 'gather' } as const;

function run(admin: Kube, signal = new AbortController().signal) {
  const notes: string[] = [];
  const clock = fakeClock({ auto: false });
  const note = (_: string, message: string) => notes.push(message);
  const scope = { adminKube: admin, clock, signal, note };
  return { clock, notes, end: runPod(scope, pod, 'main', minutes(5)) };
}

describe('runPod', () => {
  it('waits for the pod of an earlier controller', async () => {
    const admin = fakeKube().put(pods, { ...pod, status: { phase: 'Running' } });
    const { end } = run(admin.withPodLog('gather/main', 'said'));
    await settle();
    admin.put(pods, { ...pod, status: { phase: 'Succeeded' } });
    expect(await end).toEqual({ isSuccess: true, log: 'said' });
    expect(admin.writes.map(({ verb }) => verb)).toEqual(['remove']);
  });

  it('replaces an ended pod of an earlier controller', async () => {
    const kube = fakeKube().put(pods, { ...pod, status: { phase: 'Failed' } });
    const admin = withEndedPods(kube, { phase: 'Succeeded', log: 'now' });
    expect(await run(admin).end).toEqual({ isSuccess: true, log: 'now' });
    expect(admin.writes.map(({ verb }) => verb)).toEqual(['remove', 'create', 'remove']);
  });

  it('ends without success when somebody removes the pod', async () => {
    const admin = fakeKube();
    const { end } = run(admin);
    await settle();
    admin.drop(place);
    expect(await end).toMatchObject({ isSuccess: false });
  });

  it('reports the waiting container at the timeout and removes the pod', async () => {
    const admin = fakeKube();
    const { clock, end } = run(admin);
    const failure = expect(end).rejects.toMatchObject({
      code: 'wait.timed-out',
      message: expect.stringContaining('container main: ImagePullBackOff') as string,
    });
    await settle();
    const containerStatuses = [
      { name: 'main', state: { waiting: { reason: 'ImagePullBackOff' } } },
    ];
    admin.put(pods, { ...pod, status: { phase: 'Pending', containerStatuses } });
    await clock.advance(minutes(5));
    await failure;
    expect(admin.objectsOf(pods)).toEqual([]);
  });

  it('keeps the pod when the lease is lost and removes it at any other stop', async () => {
    const stops = [
      [leaseFailure('controller.lease-lost', 'another holds it'), 1],
      [new Error('SIGTERM'), 0],
    ] as const;
    for (const [reason, left] of stops) {
      const [admin, stop] = [fakeKube(), new AbortController()];
      const { end } = run(admin, stop.signal);
      end.catch(() => undefined);
      await settle();
      stop.abort(reason);
      await expect(end).rejects.toBe(reason);
      expect(admin.objectsOf(pods)).toHaveLength(left);
    }
  });

  it('rejects with the first error when the removal fails too', async () => {
    const refused = kubeFailure('kube.no-credentials', 'there is no kubeconfig yet');
    const { end, notes } = run({
      ...fakeKube(),
      get: () => Promise.reject(refused),
      remove: () => Promise.reject(refused),
    });
    await expect(end).rejects.toBe(refused);
    expect(notes).toEqual([]);
  });
});

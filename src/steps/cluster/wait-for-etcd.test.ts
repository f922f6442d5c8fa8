import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { etcds } from '../../kube/kinds.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { waitForEtcd, waitForEtcdHandover } from './wait-for-etcd.ts';

const facts = { controlPlane: { units: [] } };
const status = ['systemctl', 'status', 'progress.service'];

const unitProperties = (state: string, sub: string, result = 'success') =>
  `ActiveState=${state}\nSubState=${sub}\nResult=${result}\nNRestarts=0\n`;

const hostWith = (...properties: readonly string[]) =>
  fakeHost()
    .on(['busctl', rest])
    .isMissing()
    .on(['systemctl', 'show', rest])
    .inTurn(...properties)
    .on(status)
    .fails(3, '', 'progress.service: Main process exited, code=exited');

describe('cluster/wait-for-etcd', () => {
  it('finishes when the unit has ended', async () => {
    const clock = fakeClock();
    const host = hostWith(unitProperties('inactive', 'dead'));
    const { events } = await runStep(waitForEtcd, { host, clock, facts });
    expect(events[0]).toMatchObject({
      stage: 'Waiting for bootkube',
      stageInfo: 'waiting for ETCD bootstrap to be complete',
    });
    expect(clock.now()).toBe(0);
    expect(host.ran.at(-1)).toEqual(status);
  });

  it('polls every five seconds without systemd signals', async () => {
    const clock = fakeClock();
    const host = hostWith(
      '',
      unitProperties('active', 'running'),
      unitProperties('inactive', 'dead'),
    );
    const { events } = await runStep(waitForEtcd, { host, clock, facts });
    expect(clock.now()).toBe(seconds(10));
    expect(
      events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : [])),
    ).toEqual([
      'the state of progress.service is unknown (systemctl: command.unreadable)',
      'progress.service is running',
    ]);
  });

  it('fails with the reason when the unit has failed', async () => {
    const host = hostWith(unitProperties('failed', 'failed', 'exit-code'))
      .on(['journalctl', '--unit', 'progress.service', rest])
      .prints('progress.service: Main process exited, code=exited');
    const { failure } = await tryStep(waitForEtcd, { host, facts });
    expect(failure).toMatchObject({
      code: 'cluster.etcd-bootstrap-failed',
      message:
        'progress.service failed (exit-code) and is not started again: progress.service: Main process exited, code=exited',
      context: {
        result: 'exit-code',
        log: 'progress.service: Main process exited, code=exited',
      },
    });
  });
});

const running = { type: 'EtcdRunningInCluster', status: 'True', reason: 'EnoughEtcdMembers' };
const removed = { type: 'EtcdBootstrapMemberRemoved', status: 'True' };

const etcd = (...conditions: readonly object[]) => ({
  metadata: { name: 'cluster' },
  status: { conditions },
});

describe('cluster/wait-for-etcd-handover', () => {
  it.each([
    ['etcd stays', () => fakeKube().put(etcds, etcd(running))],
    [
      'the API server has not answered',
      () => fakeKube().lastError(kubeFailure('kube.unreachable', 'connection refused')),
    ],
  ])('continues after ten minutes when %s', async (_, make) => {
    const clock = fakeClock();
    const { value, notes } = await runStep(waitForEtcdHandover, { kube: make(), clock, facts });
    expect(value).toEqual({ isSeen: false });
    expect(clock.now()).toBe(minutes(10));
    expect(notes).toEqual(['warn: could not confirm that etcd has left this host; continuing']);
  });

  it('does not wait without an etcd object', async () => {
    const clock = fakeClock();
    const { value, notes } = await runStep(waitForEtcdHandover, { kube: fakeKube(), clock, facts });
    expect(value).toEqual({ isSeen: false });
    expect(notes).toHaveLength(1);
    expect(clock.now()).toBe(0);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(waitForEtcdHandover, () => ({
      host: fakeHost(),
      kube: fakeKube().put(etcds, etcd(running, removed)),
      facts,
    }));
  });
});

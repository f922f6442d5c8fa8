import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { seconds } from '../../model/duration.ts';
import { waitForEtcd } from './wait-for-etcd.ts';

const facts = { controlPlane: { units: [] } };
const status = ['systemctl', 'status', 'progress.service'];

const life = (state: string, sub: string, result = 'success') =>
  `ActiveState=${state}\nSubState=${sub}\nResult=${result}\nNRestarts=0\n`;

const hostWith = (...lives: readonly string[]) =>
  fakeHost()
    .on(['busctl', rest])
    .isMissing()
    .on(['systemctl', 'show', rest])
    .inTurn(...lives)
    .on(status)
    .fails(3, '', 'progress.service: Main process exited, code=exited');

describe('cluster/wait-for-etcd', () => {
  it('is through when the unit has ended', async () => {
    const clock = fakeClock();
    const host = hostWith(life('inactive', 'dead'));
    const { events } = await runStep(waitForEtcd, { host, clock, facts });
    expect(events[0]).toMatchObject({
      stage: 'Waiting for bootkube',
      stageInfo: 'waiting for ETCD bootstrap to be complete',
    });
    expect(clock.now()).toBe(0);
    expect(host.ran.at(-1)).toEqual(status);
  });

  it('looks every five seconds where systemd tells nothing', async () => {
    const clock = fakeClock();
    const host = hostWith('', life('active', 'running'), life('inactive', 'dead'));
    const { events } = await runStep(waitForEtcd, { host, clock, facts });
    expect(clock.now()).toBe(seconds(10));
    expect(
      events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : [])),
    ).toEqual(['the state of progress.service is not known', 'progress.service is running']);
  });

  it('waits for a unit that is started again', async () => {
    const host = hostWith(
      life('activating', 'auto-restart', 'exit-code'),
      life('inactive', 'dead'),
    );
    const { events } = await runStep(waitForEtcd, { host, facts });
    expect(events).toContainEqual(
      expect.objectContaining({ status: 'progress.service is activating (exit-code)' }),
    );
  });

  it('fails with the reason when the unit failed for good', async () => {
    const host = hostWith(life('failed', 'failed', 'exit-code'));
    const { failure } = await tryStep(waitForEtcd, { host, facts });
    expect(failure).toMatchObject({
      code: 'cluster.etcd-bootstrap-failed',
      message: 'progress.service is failed (exit-code)',
      context: {
        result: 'exit-code',
        log: 'progress.service: Main process exited, code=exited',
      },
    });
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(waitForEtcd, () => ({ host: hostWith(life('inactive', 'dead')), facts }));
  });
});

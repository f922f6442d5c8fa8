import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { reportsOf, runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { hours } from '../../model/duration.ts';
import { waitForBootkube } from './wait-for-bootkube.ts';

const facts = { controlPlane: { units: ['bootkube.service'] } };
const doneFile = '/opt/openshift/.bootkube.done';
const status = ['systemctl', 'status', 'bootkube.service'];

const unitProperties = (
  state: string,
  { sub = 'running', result = 'success', restarts = 0 } = {},
) => `ActiveState=${state}\nSubState=${sub}\nResult=${result}\nNRestarts=${restarts}\n`;

const bootstrapHost = () =>
  fakeHost()
    .withFile('/opt/openshift/master.ign', '{}')
    .on(['busctl', rest])
    .isMissing()
    .on(['systemctl', 'show', rest])
    .prints(unitProperties('active'))
    .on(['journalctl', '--unit', 'bootkube.service', rest])
    .prints('Starting etcd\nerror: etcdctl failed\n')
    .on(status)
    .fails(3, '', 'bootkube.service - Bootstrap a Kubernetes cluster');

describe('cluster/wait-for-bootkube', () => {
  it('finishes at once when the file exists', async () => {
    const clock = fakeClock();
    const host = bootstrapHost().withFile(doneFile, '');
    const { events } = await runStep(waitForBootkube, { host, clock, facts });
    expect(events[0]).toMatchObject({ stage: 'Waiting for bootkube', stageInfo: '' });
    expect(clock.now()).toBe(0);
    expect(host.ran.filter(([program]) => program !== 'busctl')).toEqual([status]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        fields: { status: 'bootkube.service - Bootstrap a Kubernetes cluster' },
      }),
    );
  });

  it('finishes as soon as the file appears', async () => {
    const clock = fakeClock({ auto: false });
    const host = bootstrapHost();
    const run = runStep(waitForBootkube, { host, clock, facts });
    await settle();
    host.withFile(doneFile, '');
    const { events } = await run;
    expect(clock.now()).toBe(0);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status: 'bootkube.service is running' }),
    );
  });

  it('reports a crash loop of bootkube once and waits until its limit', async () => {
    const clock = fakeClock();
    const host = bootstrapHost();
    let polls = 0;
    host.on(['systemctl', 'show', rest]).answers(() => {
      polls += 1;
      return polls % 2 === 0
        ? unitProperties('active', { restarts: polls })
        : unitProperties('activating', {
            sub: 'auto-restart',
            result: 'exit-code',
            restarts: polls,
          });
    });
    const { events, failure } = await tryStep(waitForBootkube, { host, clock, facts });
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(clock.now()).toBe(hours(24));
    expect(statusesOf(events)).toEqual(['bootkube.service failed (exit-code) and was restarted']);
    const reports = reportsOf(events, { ladder: 'bootstrap', stage: 'Installing' });
    expect(reports).toEqual(['0: ', '0: bootkube.service failed (exit-code) and was restarted']);
  });

  it.each([
    ['start-limit-hit', 'failed (start-limit-hit)'],
    ['exit-code', 'failed (exit-code)'],
  ])('fails at once with the last log lines when the unit has failed: %s', async (result, how) => {
    const clock = fakeClock();
    const host = bootstrapHost()
      .on(['journalctl', '--unit', 'bootkube.service', rest])
      .prints(
        'Starting etcd\nerror: manifest 99_bad.yaml: no kind\nbootkube.service: Main process exited\n',
      );
    host
      .on(['systemctl', 'show', rest])
      .prints(unitProperties('failed', { sub: 'failed', result }));
    const { failure } = await tryStep(waitForBootkube, { host, clock, facts });
    expect(failure).toMatchObject({
      code: 'cluster.bootkube-failed',
      kind: 'cluster',
      message: `bootkube.service ${how} and is not started again: Starting etcd | error: manifest 99_bad.yaml: no kind`,
      context: { unit: 'bootkube.service', result },
    });
    expect(clock.now()).toBe(0);
  });

  it('continues waiting while systemd is about to restart the unit', async () => {
    const host = bootstrapHost();
    // systemd 254 and later have this state for a moment.
    const between = { sub: 'failed-before-auto-restart', result: 'exit-code' };
    host
      .on(['systemctl', 'show', rest])
      .inTurn(unitProperties('failed', between), unitProperties('failed', between));
    const run = runStep(waitForBootkube, { host, facts });
    await settle();
    host.withFile(doneFile, '');
    const { notes } = await run;
    expect(notes).toContain('warn: bootkube.service failed (exit-code) and was restarted');
  });

  it('polls again when systemd signals a change of the unit', async () => {
    const clock = fakeClock({ auto: false });
    const host = bootstrapHost();
    const monitor = Promise.withResolvers<undefined>();
    host.on(['busctl', rest]).answers(async () => {
      await monitor.promise;
      return 'Type=signal';
    });
    host
      .on(['systemctl', 'show', rest])
      .inTurn(unitProperties('active'), unitProperties('activating', { result: 'signal' }));
    const { signal, ...controller } = stopper();
    const run = tryStep(waitForBootkube, { host, clock, facts, signal });
    await settle();
    monitor.resolve(undefined);
    await settle();
    controller.stop();
    const { events } = await run;
    expect(events).toContainEqual(
      expect.objectContaining({ status: 'bootkube.service failed (signal) and was restarted' }),
    );
  });
});

function stopper() {
  const controller = new AbortController();
  return { signal: controller.signal, stop: () => controller.abort(new Error('enough')) };
}

import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { waitForBootkube } from './wait-for-bootkube.ts';

const facts = { controlPlane: { units: ['bootkube.service'] } };
const doneFile = '/opt/openshift/.bootkube.done';
const status = ['systemctl', 'status', 'bootkube.service'];

const unitProperties = (state: string, result = 'success', restarts = 0) =>
  `ActiveState=${state}\nSubState=running\nResult=${result}\nNRestarts=${restarts}\n`;

const bootstrapHost = () =>
  fakeHost()
    .withFile('/opt/openshift/master.ign', '{}')
    .on(['busctl', rest])
    .isMissing()
    .on(['systemctl', 'show', rest])
    .prints(unitProperties('active'))
    .on(status)
    .fails(3, '', 'bootkube.service - Bootstrap a Kubernetes cluster');

describe('cluster/wait-for-bootkube', () => {
  it('is through at once when the file is there', async () => {
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

  it('goes on the moment that the file comes', async () => {
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

  it('reports that bootkube failed, and keeps waiting', async () => {
    const host = bootstrapHost();
    let polls = 0;
    host.on(['systemctl', 'show', rest]).answers(() => {
      polls += 1;
      if (polls === 2) return unitProperties('activating', 'exit-code', 1);
      if (polls === 3) host.withFile(doneFile, '');
      return unitProperties('failed', 'exit-code');
    });
    const { events } = await runStep(waitForBootkube, { host, facts });
    expect(
      events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : [])),
    ).toEqual([
      'bootkube.service is failed (exit-code)',
      'bootkube.service is activating (exit-code), restarted once',
      'bootkube.service is failed (exit-code)',
    ]);
  });

  it('polls again when systemd says that the unit changed', async () => {
    const clock = fakeClock({ auto: false });
    const host = bootstrapHost();
    const monitor = Promise.withResolvers<undefined>();
    host.on(['busctl', rest]).answers(async () => {
      await monitor.promise;
      return 'Type=signal';
    });
    host
      .on(['systemctl', 'show', rest])
      .inTurn(unitProperties('active'), unitProperties('failed', 'signal'));
    const { signal, ...controller } = stopper();
    const run = tryStep(waitForBootkube, { host, clock, facts, signal });
    await settle();
    monitor.resolve(undefined);
    await settle();
    controller.stop();
    const { events } = await run;
    expect(events).toContainEqual(
      expect.objectContaining({ status: 'bootkube.service is failed (signal)' }),
    );
  });

  it('gives up in the end with what it saw last', async () => {
    const host = bootstrapHost();
    host.on(['systemctl', 'show', rest]).prints(unitProperties('failed', 'start-limit-hit'));
    const { failure } = await tryStep(waitForBootkube, { host, facts });
    expect(failure).toMatchObject({
      code: 'wait.timed-out',
      context: { status: 'bootkube.service is failed (start-limit-hit)' },
    });
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(waitForBootkube, () => ({
      host: bootstrapHost().withFile(doneFile, ''),
      facts,
    }));
  });
});

function stopper() {
  const controller = new AbortController();
  return { signal: controller.signal, stop: () => controller.abort(new Error('enough')) };
}

import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { seconds } from '../../model/duration.ts';
import { unitPropertiesArgv } from '../host/systemd-unit.ts';
import { overlayNodeImage } from './overlay-node-image.ts';

const pull = 'node-image-pull.service';
const overlay = 'node-image-overlay.service';
const oc = '/usr/bin/oc';
const stat = ['stat', oc] as const;
const start = ['systemctl', 'start', '--no-block', pull, overlay] as const;
const state = unitPropertiesArgv;
const is = (name: string): string => `ActiveState=${name}`;

/** A live system without oc and without a bus, whose units succeed. */
function bareHost(): FakeHost {
  return fakeHost()
    .on(stat)
    .answers((_argv, host) => (host.files.has(oc) ? {} : { exitCode: 1, stderr: 'No such file' }))
    .on(['busctl', rest])
    .isMissing()
    .on(['systemctl', 'reset-failed', pull, overlay])
    .fails(1, `Unit ${pull} not loaded.`)
    .on(start)
    .succeeds()
    .on(state(pull))
    .prints(is('active'))
    .on(state(overlay))
    .answers((_argv, host) => {
      host.withFile(oc, 'oc');
      return is('active');
    });
}

describe('bootstrap/overlay-node-image', () => {
  it('starts both units at once and waits for them in turn', async () => {
    const host = bareHost().on(state(pull)).inTurn(is('inactive'), is('activating'), is('active'));
    const clock = fakeClock();
    const { events } = await runStep(overlayNodeImage, { host, clock });
    const states = host.ran.filter(([name]) => name !== 'busctl');
    expect(states).toEqual([
      stat,
      ['systemctl', 'reset-failed', pull, overlay],
      start,
      state(pull),
      state(pull),
      state(pull),
      state(overlay),
      stat,
    ]);
    expect(clock.now()).toBe(seconds(10));
    expect(events).toContainEqual(
      expect.objectContaining({ status: `${pull} is activating`, sentence: `${pull} is active` }),
    );
  });

  it('polls again as soon as a unit changes', async () => {
    const clock = fakeClock();
    const host = bareHost()
      .on(state(pull))
      .inTurn(is('activating'), is('active'))
      .on(['busctl', rest])
      .answers(async (_argv, _host, { signal }) => {
        await clock.sleep(200, signal).catch(() => undefined);
        return '> Type=signal';
      });
    await runStep(overlayNodeImage, { host, clock });
    expect(clock.now()).toBeLessThan(seconds(1));
  });

  it('continues waiting while systemd does not answer', async () => {
    const host = bareHost()
      .on(['systemctl', 'show', rest])
      .inTurn({ exitCode: 1 }, { exitCode: 1 }, is('active'))
      .on(state(overlay))
      .answers((_argv, one) => {
        one.withFile(oc, 'oc');
        return is('active');
      });
    const { events } = await runStep(overlayNodeImage, { host });
    expect(events).toContainEqual(
      expect.objectContaining({
        status: `the state of ${pull} is unknown (systemctl: command.failed)`,
      }),
    );
  });

  it('fails with the status of a failed unit', async () => {
    const host = bareHost()
      .on(state(overlay))
      .prints(is('failed'))
      .on(['systemctl', 'status', overlay])
      .fails(3, '', 'node-image-overlay.sh: no space left');
    const { failure, events } = await tryStep(overlayNodeImage, { host });
    expect(failure).toMatchObject({
      code: 'bootstrap.overlay-failed',
      context: { unit: overlay },
    });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        fields: { unit: overlay, status: 'node-image-overlay.sh: no space left' },
      }),
    );
  });

  it('fails when the release has no such units', async () => {
    const host = bareHost().on(start).fails(5, `Failed to start ${pull}: Unit ${pull} not found.`);
    const { failure } = await tryStep(overlayNodeImage, { host });
    expect(failure).toMatchObject({ code: 'bootstrap.no-oc', kind: 'unsupported' });
  });

  it('fails when the units cannot be started', async () => {
    const host = bareHost().on(start).fails(1, 'Connection timed out');
    const { failure } = await tryStep(overlayNodeImage, { host });
    expect(failure).toMatchObject({ code: 'bootstrap.overlay-failed' });
  });

  it('fails when both units succeed and oc is still missing', async () => {
    const host = bareHost().on(state(overlay)).prints(is('active'));
    const { failure } = await tryStep(overlayNodeImage, { host });
    expect(failure).toMatchObject({
      code: 'bootstrap.no-oc',
      message: `${overlay} succeeded, but /usr/bin/oc is missing`,
    });
  });
});

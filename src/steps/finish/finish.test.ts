import { describe, expect, it } from 'vitest';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config } from '../../config/schema.ts';
import { placeholder } from '../../engine/fact.ts';
import {
  decideRebootDelay,
  decideRebootDelayAfterHandover,
  findIronic,
  IronicAgent,
  rebootHost,
  listIronicArgv,
  rebootArgv,
  RebootDelay,
  stopAgentArgv,
} from './finish.ts';

describe('finish/find-ironic', () => {
  it.each([
    ['ironic-agent.service loaded active running Ironic Agent', true],
    ['', false],
  ])('reads %j', async (units, isPresent) => {
    const host = fakeHost().on(listIronicArgv).prints(units);
    expect((await runStep(findIronic, { host })).value).toEqual({ isPresent });
    expect(host.ran).toEqual([['systemctl', 'list-units', '--no-legend', 'ironic-agent.service']]);
  });

  it('lets the host reboot by itself when systemd does not answer', async () => {
    const host = fakeHost().on(listIronicArgv).fails(1, 'Failed to connect to bus');
    const { value, notes } = await runStep(findIronic, { host });
    expect(value).toEqual({ isPresent: false });
    expect(notes).toHaveLength(1);
  });
});

describe('finish/decide-delay', () => {
  it.each([
    [undefined, 'now'],
    [0, 'now'],
    [3, '+3'],
  ])('waits as configured (%s), else not at all', async (rebootDelayMinutes, when) => {
    const config = { finish: { rebootDelayMinutes } };
    expect((await runStep(decideRebootDelay, { config })).value).toEqual({ when });
  });
});

describe('finish/decide-delay-after-handover', () => {
  it.each([
    [undefined, true, 'now'],
    [undefined, false, '+1'],
    [0, false, 'now'],
    [5, true, '+5'],
  ])('with %s configured and etcd seen: %s', async (rebootDelayMinutes, isSeen, when) => {
    const { value } = await runStep(decideRebootDelayAfterHandover, {
      config: { finish: { rebootDelayMinutes } },
      facts: { handover: { isSeen } },
    });
    expect(value).toEqual({ when });
  });
});

const soon = { when: '+1' };

const leaveWith = (host: FakeHost, isPresent: boolean) =>
  runStep(rebootHost, { host, facts: { ironic: { isPresent }, delay: soon } });

describe('finish/leave-host', () => {
  it.each([
    [undefined, '<finish.reboot-delay.when>'],
    [2, '+2'],
  ])('shows in a plan what is known of the delay (%s): %s', (rebootDelayMinutes, when) => {
    const config = Config.parse({ finish: { rebootDelayMinutes } });
    const needs = { ironic: placeholder(IronicAgent), delay: placeholder(RebootDelay) };
    expect(rebootHost.preview?.(config, needs)[0]?.map(String)[2]).toBe(when);
  });

  it('reboots a host that ironic does not manage', async () => {
    const reboot = rebootArgv(soon);
    const host = fakeHost().on(reboot).succeeds();
    const { events } = await leaveWith(host, false);
    expect(host.ran).toEqual([
      ['shutdown', '-r', '+1', "'Installation completed, server is going to reboot.'"],
    ]);
    expect(events[0]).toMatchObject({ stage: 'Rebooting', stageInfo: '' });
  });

  it('fails when the reboot cannot be scheduled', async () => {
    const host = fakeHost().on(rebootArgv(soon)).fails(1, 'Failed to schedule shutdown');
    const facts = { ironic: { isPresent: false }, delay: soon };
    const { failure } = await tryStep(rebootHost, { host, facts });
    expect(failure).toMatchObject({ code: 'command.failed' });
  });

  it('hands a host over to ironic and does not reboot it', async () => {
    const host = fakeHost().on(stopAgentArgv).succeeds();
    const { events } = await leaveWith(host, true);
    expect(host.ran).toEqual([['systemctl', 'stop', 'agent.service']]);
    expect(events[0]).toMatchObject({ stageInfo: 'Ironic will reboot the node shortly' });
  });
});

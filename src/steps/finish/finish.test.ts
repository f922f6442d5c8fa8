import { describe, expect, it } from 'vitest';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config } from '../../config/schema.ts';
import { placeholder } from '../../engine/fact.ts';
import {
  findIronic,
  IronicAgent,
  reboot,
  listIronicArgv,
  rebootArgv,
  stopAgentArgv,
  systemStateArgv,
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

  it('assumes no ironic agent when systemd does not answer', async () => {
    const host = fakeHost().on(listIronicArgv).fails(1, 'Failed to connect to bus');
    const { value, notes } = await runStep(findIronic, { host });
    expect(value).toEqual({ isPresent: false });
    expect(notes).toHaveLength(1);
  });
});

const leaveWith = (host: FakeHost, isPresent: boolean) =>
  runStep(reboot, { host, facts: { ironic: { isPresent }, handover: undefined } });

describe('finish/leave-host', () => {
  it.each([
    [undefined, 'now'],
    [2, '+2'],
  ])('previews the configured delay (%s): %s', (rebootDelayMinutes, when) => {
    const config = Config.parse({ finish: { rebootDelayMinutes } });
    const needs = { ironic: placeholder(IronicAgent), handover: undefined };
    expect(reboot.preview?.(config, needs)[0]?.map(String)[2]).toBe(when);
  });

  it.each([
    [undefined, undefined, 'now'],
    [undefined, true, 'now'],
    [undefined, false, '+1'],
    [0, false, 'now'],
    [5, true, '+5'],
  ])(
    'delays the reboot as configured (%s) or by a minute unless the etcd hand-over was seen (%s): %s',
    async (...row) => {
      const [rebootDelayMinutes, isSeen, when] = row;
      const host = fakeHost().on(['shutdown', rest]).succeeds();
      const handover = isSeen === undefined ? undefined : { isSeen };
      await runStep(reboot, {
        config: { finish: { rebootDelayMinutes } },
        host,
        facts: { ironic: { isPresent: false }, handover },
      });
      expect(host.ran[0]?.[2]).toBe(when);
    },
  );

  it('reboots a host that ironic does not manage', async () => {
    const host = fakeHost().on(rebootArgv(0)).succeeds();
    const { events } = await leaveWith(host, false);
    expect(host.ran).toEqual([
      ['shutdown', '-r', 'now', "'Installation completed, server is going to reboot.'"],
    ]);
    expect(events[0]).toMatchObject({ stage: 'Rebooting', stageInfo: '' });
  });

  it.each([
    ['running', 0, { failure: { code: 'command.failed', message: /to schedule/ } }],
    ['degraded', 1, { failure: { code: 'command.failed', message: /to schedule/ } }],
    ['', 4, { failure: { code: 'command.failed', message: /to schedule/ } }],
    ['stopping', 1, { value: undefined }],
  ])('takes a failed order of the reboot on a host that is %s', async (...[state, code, end]) => {
    const host = fakeHost()
      .on(rebootArgv(0))
      .fails(1, 'Failed to schedule shutdown')
      .on(systemStateArgv)
      .fails(code, '', state);
    const facts = { ironic: { isPresent: false }, handover: undefined };
    expect(await tryStep(reboot, { host, facts })).toMatchObject(end);
  });

  it('leaves the reboot to ironic', async () => {
    const host = fakeHost().on(stopAgentArgv).succeeds();
    const { events } = await leaveWith(host, true);
    expect(host.ran).toEqual([['systemctl', 'stop', 'agent.service']]);
    expect(events[0]).toMatchObject({ stageInfo: 'Ironic will reboot the node shortly' });
  });
});

import { describe, expect, it } from 'vitest';
import { requestFor } from '../../../test/layering/lane-facts.ts';
import { type FakeHost, fakeHost } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep } from '../../../test/support/run-step.ts';
import {
  blockedControllerConfig,
  blockUnit,
  controllerConfig,
} from '../../layering/manifests/bootstrap-files.ts';
import { unitStateArgv } from '../host/systemd-unit.ts';
import { blockConfigServer, unblockConfigServer } from './config-server.ts';

const blockArgv = [
  ...['systemd-run', '--unit=bootwright-hold', '--collect'],
  ...[`--path-property=PathExists=${controllerConfig}`],
  ...['mv', '--force', controllerConfig, blockedControllerConfig],
];
const endBlockArgv = ['systemctl', 'stop', blockUnit.path];
const unblockArgv = ['mv', '--force', blockedControllerConfig, controllerConfig];

const config = { cluster: { openshiftVersion: '4.21.0' } };
const facts = { request: requestFor(['master']) };

/** A systemd that knows whether it waits for the file, and a mv that moves. */
function host({ isArmed = false } = {}): FakeHost {
  let armed = isArmed;
  const machine: FakeHost = fakeHost();
  return machine
    .on(unitStateArgv(blockUnit.path))
    .answers(() => (armed ? 'active' : 'inactive'))
    .on(blockArgv)
    .answers(() => {
      armed = true;
      return '';
    })
    .on(endBlockArgv)
    .answers(() => {
      const exitCode = armed ? 0 : 5;
      armed = false;
      return { exitCode };
    })
    .on(unblockArgv)
    .answers(async (...[, , { signal }]) => {
      machine.withFile(controllerConfig, machine.textOf(blockedControllerConfig) ?? '');
      await machine.remove(blockedControllerConfig, signal);
    });
}

describe('layering/hold-config-server', () => {
  it('has systemd wait for the file', async () => {
    const machine = host();
    await runStep(blockConfigServer, { host: machine, config, facts });
    expect(machine.ran.at(-1)).toEqual([
      'systemd-run',
      '--unit=bootwright-hold',
      '--collect',
      '--path-property=PathExists=/etc/mcs/bootstrap/controller-config/machine-config-controller.yaml',
      'mv',
      '--force',
      controllerConfig,
      blockedControllerConfig,
    ]);
  });

  it('does so once', async () => {
    const machine = host({ isArmed: true });
    await runStep(blockConfigServer, { host: machine, config, facts });
    expect(machine.ran).not.toContainEqual(blockArgv);
  });
});

describe('layering/release-config-server', () => {
  const held = () =>
    host({ isArmed: true }).withFile(blockedControllerConfig, 'kind: ControllerConfig');

  it('ends the hold before it puts the file back, else that would be held at once', async () => {
    const machine = held();
    await runStep(unblockConfigServer, { host: machine, config, facts });
    expect(machine.ran).toEqual([endBlockArgv, unblockArgv]);
    expect(machine.textOf(controllerConfig)).toBe('kind: ControllerConfig');
  });

  it('does without a file that was never held', async () => {
    const machine = host().withFile(controllerConfig, 'as it came');
    await runStep(unblockConfigServer, { host: machine, config, facts });
    expect(machine.textOf(controllerConfig)).toBe('as it came');
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(unblockConfigServer, () => ({ host: held(), config, facts }));
  });
});

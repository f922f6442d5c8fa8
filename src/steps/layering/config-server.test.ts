import { describe, expect, it } from 'vitest';
import { requestFor, publishedFor, renderedFor } from '../../../test/layering/lane-facts.ts';
import { renderedText } from '../../../test/layering/rendered.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import {
  blockedControllerConfig,
  blockUnit,
  controllerConfig,
} from '../../layering/manifests/bootstrap-files.ts';
import { unitPropertiesArgv } from '../host/systemd-unit.ts';
import { blockConfigServer, unblockConfigServer, serveImages } from './config-server.ts';

describe('the block of the machine-config-server', () => {
  const blockArgv = [
    ...['systemd-run', '--unit=bootwright-hold', '--collect'],
    ...[`--path-property=PathExists=${controllerConfig}`],
    ...['mv', '--force', controllerConfig, blockedControllerConfig],
  ];
  const endBlockArgv = ['systemctl', 'stop', blockUnit.path];
  const unblockArgv = ['mv', '--force', blockedControllerConfig, controllerConfig];

  const config = { cluster: { openshiftVersion: '4.21.0' } };
  const facts = { request: requestFor(['master']) };

  /** A host whose systemd watches the file or not, and whose mv moves it. */
  function host({ isArmed = false } = {}): FakeHost {
    let armed = isArmed;
    const machine: FakeHost = fakeHost();
    return machine
      .on(unitPropertiesArgv(blockUnit.path))
      .answers(() => `ActiveState=${armed ? 'active' : 'inactive'}`)
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
    it('starts a path unit that moves the file away', async () => {
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

    it('does not start the unit again', async () => {
      const machine = host({ isArmed: true });
      await runStep(blockConfigServer, { host: machine, config, facts });
      expect(machine.ran).not.toContainEqual(blockArgv);
    });
  });

  describe('layering/release-config-server', () => {
    const held = () =>
      host({ isArmed: true }).withFile(blockedControllerConfig, 'kind: ControllerConfig');

    it('stops the unit before it restores the file', async () => {
      const machine = held();
      await runStep(unblockConfigServer, { host: machine, config, facts });
      expect(machine.ran).toEqual([endBlockArgv, unblockArgv]);
      expect(machine.textOf(controllerConfig)).toBe('kind: ControllerConfig');
    });

    it('leaves a file that was never moved', async () => {
      const machine = host().withFile(controllerConfig, 'as it came');
      await runStep(unblockConfigServer, { host: machine, config, facts });
      expect(machine.textOf(controllerConfig)).toBe('as it came');
    });

    it('is safe to repeat', async () => {
      await isSafeToRepeat(unblockConfigServer, () => ({ host: held(), config, facts }));
    });
  });
});

describe('layering/serve-images', () => {
  const config = { cluster: { openshiftVersion: '4.21.0' } };
  const pools = ['master', 'worker'];
  const facts = { published: publishedFor(pools) };
  const fileOf = (pool: string): string => renderedFor(pool).file;
  /** A host whose unit is active once `systemd-run` has started it. */
  const emptyHost = () => {
    let isActive = false;
    const machine = fakeHost().on(['install', rest]).succeeds();
    machine
      .on(['systemctl', 'show', rest])
      .answers(() => `ActiveState=${isActive ? 'active' : 'inactive'}`);
    return machine.on(['systemd-run', rest]).answers(() => {
      isActive = true;
    });
  };
  const host = () =>
    pools.reduce(
      (machine, pool) => machine.withFile(fileOf(pool), renderedText(pool)),
      emptyHost(),
    );

  it('runs nothing without an image for the masters', async () => {
    const machine = host();
    const published = publishedFor(['worker']);
    await runStep(serveImages, { host: machine, config, facts: { ...facts, published } });
    expect(machine.ran).toEqual([]);
  });

  it('fails when the file is not written', async () => {
    const machine = host();
    const lossy = {
      ...machine,
      writeFile: () => Promise.resolve({ path: '', bytes: 0, sha256: '' }),
    };
    const { failure } = await tryStep(serveImages, { host: lossy, config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-served' });
  });

  it('fails when the file is missing', async () => {
    const { failure } = await tryStep(serveImages, { host: emptyHost(), config, facts });
    expect(failure).toMatchObject({ code: 'layering.not-rendered' });
  });
});

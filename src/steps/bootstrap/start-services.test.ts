import { describe, expect, it } from 'vitest';
import { any, fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { reloadUnits, startServices } from './start-services.ts';

const units = ['bootkube.service', 'approve-csr.service', 'progress.service'];

describe('bootstrap/start-services', () => {
  it('starts the three services one after the other', async () => {
    const host = fakeHost().on(['systemctl', 'start', any]).succeeds();
    const { value } = await runStep(startServices, { host });
    expect(host.ran).toEqual(units.map((unit) => ['systemctl', 'start', unit]));
    expect(value).toEqual({ units });
  });

  it('starts nothing after one that failed', async () => {
    const host = fakeHost().on(['systemctl', 'start', any]).fails(1, 'Dependency failed');
    const { failure } = await tryStep(startServices, { host });
    expect(failure).toMatchObject({
      code: 'command.failed',
      message: expect.stringContaining('Dependency failed') as string,
    });
    expect(host.ran).toHaveLength(1);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(startServices, () => {
      const running = new Set<string>();
      const host: FakeHost = fakeHost()
        .on(['systemctl', 'start', any])
        .answers(([, , unit = '']) => {
          running.add(unit);
        });
      return { host, world: () => [...running] };
    });
    expect.hasAssertions();
  });
});

describe('bootstrap/reload-units', () => {
  it('makes systemd read its units', async () => {
    const host = fakeHost().on(['systemctl', 'daemon-reload']).succeeds();
    await runStep(reloadUnits, { host });
    expect(host.ran).toHaveLength(1);
  });
});

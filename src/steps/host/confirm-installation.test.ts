import { describe, expect, it } from 'vitest';
import { fakeReports } from '../../../test/support/fake-inventory.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { confirmInstallation, withdrawal } from './confirm-installation.ts';

const config: ConfigInput = {
  role: 'bootstrap',
  cluster: { hostId: 'h' },
  service: { url: 'http://svc.example' },
};

describe('host/confirm-installation', () => {
  it.each([
    [config, 'master'],
    [{ ...config, role: 'worker' as const }, 'worker'],
    [{ ...config, cluster: { hostId: 'h', controlPlaneCount: 1 } }, 'bootstrap'],
  ])('reports the final role of the host', async (given, stageInfo) => {
    const { events } = await runStep(confirmInstallation, { config: given });
    expect(events[0]).toMatchObject({ stage: 'Installing', stageInfo });
  });

  it('continues when the service does not answer', async () => {
    const unanswered = [{ stage: 'Installing', info: 'master' }] as const;
    const { notes } = await runStep(confirmInstallation, {
      config,
      reports: fakeReports({ unanswered }),
    });
    expect(notes).toEqual(['warn: the service has not confirmed this host; installing it']);
  });

  it('fails when the service has cancelled the host', async () => {
    const reports = fakeReports({ unanswered: [], refusedIn: 'cancelled' });
    const { failure } = await tryStep(confirmInstallation, { config, reports });
    expect(failure).toMatchObject({
      code: 'install.cancelled',
      message: 'the inventory service takes no report of this host in status cancelled',
    });
  });

  it('continues with stopIfCancelled false', async () => {
    const { notes } = await runStep(confirmInstallation, {
      config: { ...config, service: { url: 'http://svc.example', stopIfCancelled: false } },
      reports: fakeReports({ unanswered: [], refusedIn: 'error' }),
    });
    expect(notes.join()).toContain('in status error; installing it all the same');
  });

  it('is skipped without a service', async () => {
    const { events } = await runStep(confirmInstallation, { config: {} });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });
});

describe('withdrawal', () => {
  it.each([
    ['resetting', true, 'install.withdrawn'],
    ['error', true, 'install.withdrawn'],
    ['installed', true, undefined],
    ['added-to-existing-cluster', true, undefined],
    ['resetting', false, undefined],
  ])('for a host in status %s (stopIfCancelled %s): %s', (status, stopIfCancelled, code) => {
    const given = Config.parse({ service: { stopIfCancelled } });
    expect(withdrawal(given, status)?.code).toBe(code);
  });
});

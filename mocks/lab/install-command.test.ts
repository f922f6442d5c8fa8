import { describe, expect, it } from 'vitest';
import { clusterSeed } from '../inventory/seed.ts';
import { installArguments, settingVariable } from './install-command.ts';
import { LabHost } from './scenario.ts';

const facts = {
  host: LabHost.parse({ name: 'w1', role: 'worker', installerArgs: ['--append-karg', 'a=b'] }),
  hostId: 'H',
  infraEnvId: 'I',
  serviceUrl: 'http://SVC',
  bootDevice: '/dev/disk/by-id/x',
};

describe('the install command', () => {
  it('has the flags in the order of the service', () => {
    const words = installArguments({ ...facts, cluster: clusterSeed({ id: 'C' }) });
    expect(words.filter((word) => word.startsWith('--'))).toEqual([
      '--role',
      '--infra-env-id',
      '--cluster-id',
      '--host-id',
      '--boot-device',
      '--url',
      '--controller-image',
      '--agent-image',
      '--control-plane-count',
      '--mco-image',
      '--must-gather-image',
      '--openshift-version',
      '--installer-args',
    ]);
    expect(words.at(-1)).toBe('["--append-karg","a=b"]');
  });

  it('tells hosts to write the final system where the service is set so', () => {
    const words = installArguments({ ...facts, cluster: clusterSeed(), skipsMcoReboot: true });
    expect(words).toContain('--enable-skip-mco-reboot');
  });

  it('names no release on day 2', () => {
    const cluster = clusterSeed({ kind: 'AddHostsCluster', controlPlaneCount: 0 });
    const words = installArguments({ ...facts, cluster });
    expect(words).not.toContain('--mco-image');
    expect(words).not.toContain('--openshift-version');
    expect(words).not.toContain('--control-plane-count');
  });
});

describe('the variable of a setting', () => {
  it.each([
    ['host.root', 'BOOTWRIGHT_HOST_ROOT'],
    ['image.sha256', 'BOOTWRIGHT_IMAGE_SHA256'],
    ['finish.rebootDelayMinutes', 'BOOTWRIGHT_FINISH_REBOOT_DELAY_MINUTES'],
  ])('%s is %s', (name, variable) => {
    expect(settingVariable(name)).toBe(variable);
  });
});

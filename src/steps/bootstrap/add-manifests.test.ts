import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { Secret } from '../../model/secret.ts';
import { addControllerManifests, addSshManifest } from './add-manifests.ts';

const directory = '/opt/openshift/manifests';
const token = 'planted-secret-91d2';
const config: ConfigInput = {
  role: 'bootstrap',
  service: { url: 'http://svc.example', token: new Secret(token) },
  cluster: { id: 'c' },
};
const ready = (): FakeHost => fakeHost().on(['mkdir', '-p', directory]).succeeds();

describe('bootstrap/add-controller-manifests', () => {
  it('writes each under the name that the old agent gave it', async () => {
    const host = ready();
    await runStep(addControllerManifests, { config, host });
    expect(host.ran).toEqual([['mkdir', '-p', directory]]);
    expect(await host.list(directory, new AbortController().signal)).toEqual([
      'assisted-installer-controller-cm.yaml',
      'assisted-installer-controller-network-policy.yaml',
      'assisted-installer-controller-nm.yaml',
      'assisted-installer-controller-pod.yaml',
      'assisted-installer-controller-role-binding.yaml',
      'assisted-installer-controller-role.yaml',
      'assisted-installer-controller-sa.yaml',
      'assisted-installer-controller-secret.yaml',
    ]);
  });

  it('shows the token to root alone, and to nobody else', async () => {
    const host = ready();
    const { events } = await runStep(addControllerManifests, { config, host });
    const withToken = [...host.files.keys()].filter((path) => host.textOf(path)?.includes(token));
    expect(withToken).toEqual([`${directory}/assisted-installer-controller-secret.yaml`]);
    const modes = [...host.files].map(([path, { mode }]) => [path.includes('secret'), mode]);
    expect(new Set(modes.map(String))).toEqual(new Set(['true,384', 'false,420']));
    expect(JSON.stringify(events)).not.toContain(token);
  });

  it('leaves nothing of an older file', async () => {
    const path = `${directory}/assisted-installer-controller-sa.yaml`;
    const host = ready().withFile(path, '#'.repeat(5000));
    await runStep(addControllerManifests, { config, host });
    expect(parse(host.textOf(path) ?? '')).toMatchObject({ kind: 'ServiceAccount' });
    expect(host.textOf(path)).not.toContain('#');
  });

  it('takes no part where there is no service', async () => {
    const host = ready();
    await runStep(addControllerManifests, { config: { role: 'bootstrap' }, host });
    expect(host.ran).toEqual([]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(addControllerManifests, () => ({ config, host: ready() }));
    expect.hasAssertions();
  });
});

describe('bootstrap/add-ssh-manifest', () => {
  const path =
    '/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml';
  const withKey = (text: string): FakeHost => fakeHost().withFile('/root/.ssh/id_rsa.pub', text);

  it('lets the key of this host in at the masters', async () => {
    const host = withKey('ssh-rsa AAAA root@host: 1\n');
    await runStep(addSshManifest, { host });
    expect(parse(host.textOf(path) ?? '')).toEqual({
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
      metadata: {
        name: '99-assisted-installer-master-ssh',
        labels: { 'machineconfiguration.openshift.io/role': 'master' },
      },
      spec: {
        config: {
          ignition: { version: '3.1.0' },
          passwd: {
            users: [{ name: 'core', sshAuthorizedKeys: ['ssh-rsa AAAA root@host: 1'] }],
          },
        },
      },
    });
    expect(host.files.get(path)?.mode).toBe(0o644);
  });

  it.each([
    ['is missing', fakeHost()],
    ['is empty', withKey('\n')],
    ['is not one line', withKey('a\nb\n')],
  ])('says when the public key %s', async (_, host) => {
    const { failure } = await tryStep(addSshManifest, { host });
    expect(failure).toMatchObject({ code: 'bootstrap.no-public-key' });
    expect(host.files.has(path)).toBe(false);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(addSshManifest, () => ({ host: withKey('ssh-rsa AAAA x') }));
    expect.hasAssertions();
  });
});

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { addSshManifest, makeSshKey } from './ssh.ts';

const key = '/root/.ssh/id_rsa';
const made = ['ssh-keygen', '-q', '-f', key, '-N', ''];
const publicOf = (secret: string): string => `ssh-rsa ${secret} root@host`;

/** A stand-in for ssh-keygen of OpenSSH 9.2. */
function hostWith(files: Readonly<Record<string, string>> = {}): FakeHost {
  const host = fakeHost();
  host.on(made).answers(() => {
    if (host.files.has(key)) return { exitCode: 1, stdout: 'Overwrite (y/n)?' };
    host.withFile(key, 'key new', 0o600).withFile(`${key}.pub`, publicOf('new'), 0o644);
    return {};
  });
  for (const [path, text] of Object.entries(files)) host.withFile(path, text);
  return host;
}

describe('bootstrap/make-ssh-key', () => {
  it('uses an existing key', async () => {
    const host = hostWith({ [key]: 'key old', [`${key}.pub`]: `${publicOf('old')} and a comment` });
    await runStep(makeSshKey, { host });
    expect(host.ran).toEqual([]);
    expect(host.textOf(`${key}.pub`)).toContain('and a comment');
  });

  it('fails when only the private key exists', async () => {
    const host = hostWith({ [key]: 'half a key' });
    const { failure } = await tryStep(makeSshKey, { host });
    expect(failure).toMatchObject({ message: expect.stringContaining('Overwrite') as string });
    expect(host.textOf(key)).toBe('half a key');
  });
});

describe('bootstrap/add-ssh-manifest', () => {
  const path =
    '/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml';
  const withKey = (text: string): FakeHost => fakeHost().withFile('/root/.ssh/id_rsa.pub', text);

  it('writes a MachineConfig that authorizes the key of this host on the masters', async () => {
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
  ])('fails when the public key %s', async (_, host) => {
    const { failure } = await tryStep(addSshManifest, { host });
    expect(failure).toMatchObject({ code: 'bootstrap.no-public-key' });
    expect(host.files.has(path)).toBe(false);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(addSshManifest, () => ({ host: withKey('ssh-rsa AAAA x') }));
    expect.hasAssertions();
  });
});

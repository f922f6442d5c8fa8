import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { collectFromHosts, hostsIn, sshArgv } from './collect-ssh.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('takes names and addresses, each once', () => {
  expect(hostsIn('m1, 192.0.2.7,2001:db8::7,fe80::1%eth0,m1, ::1')).toEqual([
    ...['m1', '192.0.2.7', '2001:db8::7', 'fe80::1%eth0', '::1'],
  ]);
});

it('asks nobody, forwards nothing, and knows no host unless their keys are given', () => {
  const words = sshArgv('m1', {}).join(' ');
  expect(words).toContain(' BatchMode=yes ');
  expect(words).toContain(' ForwardAgent=no ');
  expect(words).toContain(' StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null ');
  expect(words).not.toContain(' -i ');
  const strict = sshArgv('m1', { sshKey: 'k', knownHosts: '/a b/hosts' }).join(' ');
  expect(strict).toContain(' StrictHostKeyChecking=yes -o UserKnownHostsFile="/a b/hosts" ');
  expect(strict).toContain(' IdentitiesOnly=yes -i k -l core -- m1 sudo -n sh -c ');
});

it('quotes the image twice, for the shell of the user and for that of root', () => {
  const command = sshArgv('m1', { image: "r/i'; reboot" }).at(-1) ?? '';
  expect(command).toContain(String.raw`image='\''r/i'\''\'\'''\''; reboot'\''`);
});

it('says that this machine has no ssh, before the line of any host', async () => {
  const host = fakeHost().on(['ssh', rest]).isMissing();
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await expect(collectFromHosts('m1,m2', { environment: {} }, host)).rejects.toMatchObject({
    code: 'cli.no-ssh',
  });
  expect(written).not.toHaveBeenCalled();
});

it('hands the agent of ssh on, and nothing else of the environment; keeps no file that is no bundle', async () => {
  const host = fakeHost();
  host.on(['ssh', rest]).prints(Buffer.from('x'.repeat(100)).toString('base64'));
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const output = mkdtempSync(join(tmpdir(), 'bootwright-collect-'));
  try {
    const environment = { SSH_AUTH_SOCK: '/run/agent', PULL_SECRET_TOKEN: 'secret' };
    await expect(collectFromHosts('m1', { environment, output }, host)).rejects.toThrow(
      'no logs of 1 of 1 hosts: m1',
    );
    expect(host.calls[0]).toMatchObject({ env: { SSH_AUTH_SOCK: '/run/agent' } });
    expect(readdirSync(output)).toEqual([]);
  } finally {
    rmSync(output, { recursive: true });
  }
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registryNetwork } from '../../registries/network.ts';
import { buildMachine, HostPlan } from '../build-machine.ts';
import { restartFromDisk, startFromDisk } from '../installed-system.ts';
import type { Machine } from '../machine.ts';
import { nsenterOptions, runCommand } from '../programs.ts';

const [one, two] = ['1', '2'].map((digit) => `quay.test/os@sha256:${digit.repeat(64)}`) as [
  string,
  string,
];

let root = '';
let machine: Machine;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'rpm-ostree-'));
  const network = registryNetwork([
    { host: 'quay.test', users: [{ credentials: 'a:b', may: 'pull' }] },
  ]);
  network.images.set(two, { digest: two.replace(/^.*@/, ''), labels: {} });
  machine = buildMachine(HostPlan.parse({ name: 'm1' }), root, { network });
  const auth = Buffer.from('a:b').toString('base64');
  const pullSecret = JSON.stringify({ auths: { 'quay.test': { auth } } });
  await startFromDisk(machine, { image: one, pullSecret });
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const run = (words: string) => runArgv(words.split(' '));

async function runArgv(words: readonly string[]) {
  let [stdout, stderr] = ['', ''];
  const exitCode = await runCommand(machine, {
    argv: [...nsenterOptions, ...words],
    env: {},
    stdin: (async function* nothing() {
      // No command of this test reads its input.
    })(),
    signal: new AbortController().signal,
    out: (text) => (stdout += text),
    err: (text) => (stderr += text),
  });
  return { exitCode, stdout, stderr };
}

const rebase = 'rpm-ostree rebase --experimental ostree-unverified-registry:';

describe('rpm-ostree on a host that was started from its disk', () => {
  it('stages an image with the pull secret that ostree finds, and drops it', async () => {
    await run('mkdir -p /run/ostree');
    await run('ln -sfn /var/lib/kubelet/config.json /run/ostree/auth.json');
    expect((await run(`${rebase}${two}`)).exitCode).toBe(0);
    expect(machine.running).toMatchObject({ booted: one, staged: { image: two } });
    const { stdout } = await run('rpm-ostree status --json');
    expect(JSON.parse(stdout)).toMatchObject({
      deployments: [
        { staged: true, booted: false, 'container-image-reference-digest': two.slice(-71) },
        {
          staged: false,
          booted: true,
          'container-image-reference': `ostree-unverified-registry:${one}`,
        },
      ],
    });
    expect((await run('rpm-ostree cleanup --pending')).exitCode).toBe(0);
    expect(machine.running).toMatchObject({ booted: one, staged: undefined });
  });

  it('changes kernel arguments together with the image, for the next start', async () => {
    await run('mkdir -p /run/ostree');
    await run('ln -sfn /var/lib/kubelet/config.json /run/ostree/auth.json');
    const platform = 'ignition.platform.id=metal';
    await run('rpm-ostree kargs --append=a="1" --append=b=2 --append=a="1"');
    expect(machine.running).toMatchObject({
      staged: { image: one, kernelArguments: [platform, 'a="1"', 'b=2', 'a="1"'] },
    });
    await run(`${rebase}${two}`);
    await run('rpm-ostree kargs --delete-if-present=b=2 --append-if-missing=a="1" --append=c');
    expect((await run('rpm-ostree kargs')).stdout).toMatch(/^ignition\S+ a="1" a="1" c ostree=/);
    expect((await run('rpm-ostree kargs --deploy-index=1')).stdout).not.toContain('a=');
    expect((await run('cat /proc/cmdline')).stdout).not.toContain('a=1');
    await restartFromDisk(machine);
    const kernelArguments = [platform, 'a="1"', 'a="1"', 'c'];
    expect(machine.running).toEqual({ booted: two, kernelArguments });
    expect((await run('cat /proc/cmdline')).stdout).toMatch(/ a=1 a=1 c ostree=/);
    expect((await run('rpm-ostree kargs --delete=a')).stderr).toContain("No karg 'a' found");
    expect((await run('rpm-ostree kargs --delete-if-present=d')).stdout).toContain('No changes.');
  });

  it('shows modes and owners of files, and which are not there', async () => {
    await run('mkdir -p /home/core/.ssh');
    await run('install -m 0600 /dev/null /home/core/.ssh/key');
    const format = '--format=%a %U:%G %u %n'.split(' ');
    const words = ['stat', '-L', format.join(' '), '--', '/none', '/home/core/.ssh/key', '/etc'];
    expect(await runArgv(words)).toEqual({
      exitCode: 1,
      stderr: "stat: cannot statx '/none': No such file or directory\n",
      stdout: expect.stringMatching(
        /^600 core:core 1000 \/home\/core\/\.ssh\/key\n755 root:root 0 \/etc\n$/,
      ) as string,
    });
  });

  it('sums up files, says which are not there, and escapes names unless told not to', async () => {
    await run('mkdir -p /etc/a');
    const name = String.raw`/etc/a\x2db`;
    await run(`touch ${name} /etc/c`);
    const sum = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    const words = ['--', '/none', name, '/etc/a', '/etc/c'];
    const stderr =
      'sha256sum: /none: No such file or directory\nsha256sum: /etc/a: Is a directory\n';
    expect(await runArgv(['sha256sum', ...words])).toEqual({
      exitCode: 1,
      stderr,
      stdout: `\\${sum}  ${String.raw`/etc/a\\x2db`}\n${sum}  /etc/c\n`,
    });
    expect(await runArgv(['sha256sum', '--zero', ...words])).toEqual({
      exitCode: 1,
      stderr,
      stdout: `${sum}  ${name}\0${sum}  /etc/c\0`,
    });
    const { stdout } = await runArgv(['stat', '-L', String.raw`--printf=%a %n\0`, '--', name]);
    expect(stdout).toBe(`644 ${name}\0`);
  });

  it('keeps the password of core, and reloads what is active', async () => {
    expect((await run('getent shadow core')).stdout).toMatch(/^core:\*:/);
    expect(await run('usermod -p $6$a core')).toMatchObject({ exitCode: 0 });
    expect((await run('getent shadow core')).stdout).toMatch(/^core:\$6\$a:.*\n$/);
    expect(await run('getent shadow nobody')).toMatchObject({ exitCode: 2, stdout: '' });
    expect(await run('usermod -p x nobody')).toMatchObject({ exitCode: 6 });
    machine.units.add('a.service');
    expect(await run('systemctl reload a.service')).toMatchObject({ exitCode: 1 });
    await run('systemctl start a.service');
    expect(await run('systemctl reload a.service')).toMatchObject({ exitCode: 0 });
    expect(await run('systemctl reload none.service')).toMatchObject({ exitCode: 5 });
  });

  it.each([
    [`${rebase}${two}`, 'unauthorized'],
    [`${rebase}${one}`, 'Old and new refs are equal'],
    [`rpm-ostree rebase ostree-unverified-registry:${two}`, 'only --experimental'],
    ['rpm-ostree status', 'only --json'],
    ['bootc status', 'nsenter: failed to execute bootc'],
    ['ln /etc/hostname /run/hostname', 'only symbolic links'],
    ['ln -s /etc/hostname /etc/resolv.conf', 'failed to create symbolic link'],
  ])('fails at %s', async (words, refusal) => {
    const { exitCode, stderr } = await run(words);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(refusal);
    expect(machine).toMatchObject({ running: { booted: one }, unknown: [] });
    expect(machine.running?.staged).toBeUndefined();
  });

  it('fails loudly at a command that it does not know', async () => {
    expect((await run('rpm-ostree install vim')).exitCode).toBe(1);
    expect(machine.unknown).toEqual(['rpm-ostree install vim']);
  });
});

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { restartLiveSystem } from '../../mocks/host/live-system.ts';
import { end, labHost } from './lab-host.ts';

const lab = labHost();
const { begin, run, start } = lab;

describe('a simulated host', () => {
  it('fails loudly at a command that it does not know', async () => {
    await begin();
    expect((await run('frobnicate', '--all')).exitCode).toBe(127);
    expect(lab.machine.unknown).toEqual(['frobnicate --all']);
  });

  it('follows no link out of its own files', async () => {
    await begin();
    await symlink('/etc', join(lab.folder, 'root/opt/out'));
    expect(await run('cat', '/opt/out/passwd')).toMatchObject({ exitCode: 1, stdout: '' });
  });

  it('applies the Ignition of a bootstrap host, in a container', async () => {
    await begin();
    const ignition = {
      ignition: { version: '3.2.0' },
      storage: {
        files: [{ path: '/opt/openshift/a/b', mode: 384, contents: { source: 'data:,hello%0A' } }],
      },
      systemd: { units: [{ name: 'bootkube.service', contents: '[Unit]\n' }] },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 A'] }] },
    };
    await writeFile(join(lab.folder, 'root/opt/x.ign'), JSON.stringify(ignition));
    const podman = ['podman', 'run', '--net', 'host', '--volume', '/:/rootfs:rw', '--privileged'];
    const image = ['--entrypoint', '/usr/bin/machine-config-daemon', 'registry.example/mco:1'];
    const words = [
      'start',
      '--root-mount',
      '/rootfs',
      '--once-from',
      '/opt/x.ign',
      '--skip-reboot',
    ];
    expect(await run(...podman, ...image, ...words)).toMatchObject({ exitCode: 0 });
    expect(await readFile(join(lab.folder, 'root/opt/openshift/a/b'), 'utf8')).toBe('hello\n');
    expect(lab.machine.units.isKnown('bootkube.service')).toBe(true);
    expect((await run('podman', 'run', ...image, ...words)).exitCode).toBe(125);
    await writeFile(join(lab.folder, 'root/opt/x.ign'), 'torn');
    expect((await run(...podman, ...image, ...words)).exitCode).toBe(255);
  });

  it('makes an SSH key once, and tells its public half', async () => {
    await begin();
    const make = ['ssh-keygen', '-q', '-f', '/root/.ssh/id', '-N', ''];
    expect((await run(...make)).exitCode).toBe(1);
    await run('mkdir', '-p', '/root/.ssh');
    expect((await run(...make)).exitCode).toBe(0);
    const key = await readFile(join(lab.folder, 'root/root/.ssh/id.pub'), 'utf8');
    expect(await run(...make)).toMatchObject({ exitCode: 1 });
    const shown = await run('ssh-keygen', '-y', '-f', '/root/.ssh/id');
    expect(key.startsWith(shown.stdout.trim())).toBe(true);
    await writeFile(join(lab.folder, 'root/root/.ssh/id'), 'torn');
    expect((await run('ssh-keygen', '-y', '-f', '/root/.ssh/id')).exitCode).toBe(255);
  });

  it('takes another name', async () => {
    await begin({ hostname: 'localhost' });
    expect((await run('cat', '/proc/sys/kernel/hostname')).stdout).toBe('localhost\n');
    await run('hostnamectl', 'set-hostname', 'b1.example');
    expect((await run('hostnamectl', 'hostname')).stdout).toBe('b1.example\n');
    expect((await run('cat', '/etc/hostname')).stdout).toBe('b1.example\n');
  });

  it('starts units, and tells of each change on the bus', async () => {
    await begin({ hasOc: false, nodeImageSeconds: 0.1 });
    const units = ['node-image-pull.service', 'node-image-overlay.service'];
    const watched =
      "--match=path='/org/freedesktop/systemd1/unit/node_2dimage_2doverlay_2eservice'";
    const monitor = start('busctl', '--system', watched, 'monitor');
    const said: string[] = [];
    monitor.stdout?.on('data', (bytes) => said.push(String(bytes)));
    await once(monitor.stderr!, 'data');
    await run('systemctl', 'start', '--no-block', ...units);
    await expect.poll(() => lab.machine.units.stateOf(units[1]!)).toBe('active');
    await expect.poll(() => said.join('')).toContain('"ActiveState" "active"');
    expect(said.join('')).not.toContain('pull');
    expect(existsSync(join(lab.folder, 'root/usr/bin/oc'))).toBe(true);
    monitor.kill('SIGTERM');
    expect(await end(monitor)).toMatchObject({ signal: 'SIGTERM' });
    const shown = await run('systemctl', 'show', '--property=ActiveState', '--value', ...units);
    expect(shown.stdout.trim().split(/\s+/)).toEqual(['active', 'active']);
  });

  it('waits for a unit that takes time, and says when it fails or is not there', async () => {
    await begin();
    lab.machine.units.add('slow.service', 'bad.service');
    let finish = (): void => undefined;
    lab.machine.units.onStart.set('slow.service', (become) => {
      become('activating');
      finish = () => become('active');
    });
    lab.machine.units.onStart.set('bad.service', (become) => become('failed'));
    let isOver = false;
    const started = run('systemctl', 'start', 'slow.service').finally(() => (isOver = true));
    const isActive = async () => (await run('systemctl', 'is-active', 'slow.service')).stdout;
    await expect.poll(isActive).toBe('activating\n');
    expect(await isActive()).toBe('activating\n');
    expect(isOver).toBe(false);
    finish();
    expect((await started).exitCode).toBe(0);
    expect(await isActive()).toBe('active\n');
    expect((await run('systemctl', 'start', 'bad.service')).exitCode).toBe(1);
    expect((await run('systemctl', 'status', 'bad.service')).exitCode).toBe(3);
    const life = ['systemctl', 'show', '--property=ActiveState,Result', 'bad.service'];
    expect((await run(...life)).stdout).toBe('ActiveState=failed\nResult=exit-code\n');
    expect((await run('systemctl', 'start', 'none.service')).exitCode).toBe(5);
  });

  it('loses with its power what was in memory, and keeps its disks', async () => {
    await begin();
    await run('coreos-installer', 'install', '/dev/sda');
    await writeFile(join(lab.folder, 'root/opt/journal'), 'x');
    const bootId = await readFile(join(lab.folder, 'root/proc/sys/kernel/random/boot_id'), 'utf8');
    await restartLiveSystem(lab.machine);
    expect(existsSync(join(lab.folder, 'root/opt/journal'))).toBe(false);
    const later = await readFile(join(lab.folder, 'root/proc/sys/kernel/random/boot_id'), 'utf8');
    expect(later).not.toBe(bootId);
    expect(lab.machine.installed?.disk).toBe('sda');
  });
});

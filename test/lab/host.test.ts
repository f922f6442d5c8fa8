import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import { partitionFiles } from '../../mocks/host/partition-files.ts';
import { restartLiveSystem } from '../../mocks/host/power.ts';
import { nsenterOptions } from '../../mocks/host/run-command.ts';
import { type HostServer, serveHost } from '../../mocks/host/socket-server.ts';
import { placeStandIn, type StandInLanguage } from '../../mocks/host/stand-in.ts';

const languages: readonly StandInLanguage[] = existsSync('/usr/bin/perl')
  ? ['perl', 'node']
  : ['node'];

let folder = '';
let machine: Machine;
let server: HostServer;

async function begin(language: StandInLanguage, plan: object = {}): Promise<void> {
  machine = buildMachine(
    HostPlan.parse({ name: 'm1', write: { seconds: 0.3, lineMillis: 50 }, ...plan }),
    join(folder, 'root'),
  );
  server = await serveHost(machine, join(folder, 'socket'));
  await placeStandIn(join(folder, 'bin'), join(folder, 'socket'), language);
}

const start = (...argv: readonly string[]): ChildProcess =>
  spawn(join(folder, 'bin', 'nsenter'), [...nsenterOptions, ...argv], {
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    stdio: 'pipe',
  });

interface Ended {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function end(child: ChildProcess): Promise<Ended> {
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [exitCode, signal] = await closed;
  return { exitCode, signal, stdout, stderr };
}

async function run(...argv: readonly string[]): Promise<Ended> {
  const child = start(...argv);
  child.stdin?.end();
  return end(child);
}

beforeEach(async () => {
  folder = await mkdtemp(join(await realpath(tmpdir()), 'lab-host-'));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

describe.each(languages)('the stand-in nsenter in %s', (language) => {
  beforeEach(() => begin(language));

  it('passes words, output and exit code', async () => {
    expect(await run('cat', '/no such file')).toEqual({
      exitCode: 1,
      signal: null,
      stdout: '',
      stderr: 'cat: /no such file: No such file or directory\n',
    });
    expect(machine.ran[0]?.argv).toEqual(['cat', '/no such file']);
  });

  it('passes stdin', async () => {
    const child = start('tee', '/opt/written');
    child.stdin?.end('ä'.repeat(100_000));
    await end(child);
    expect(await readFile(join(folder, 'root/opt/written'), 'utf8')).toBe('ä'.repeat(100_000));
  });

  it('passes a signal, and ends by it', async () => {
    await writeFile(join(folder, 'root/opt/x.ign'), '{}');
    machine.writer.seconds = 60;
    const child = start('coreos-installer', 'install', '-i', '/opt/x.ign', '/dev/sda');
    await once(child.stderr!, 'data');
    child.kill('SIGTERM');
    expect(await end(child)).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    expect(machine.ran.at(-1)).not.toHaveProperty('exitCode');
    expect(machine.installed).toBeUndefined();
  });

  it('says so when the host has gone', async () => {
    const child = start('cat');
    await expect.poll(() => machine.ran.length).toBe(1);
    server.powerOff();
    expect(await end(child)).toMatchObject({ exitCode: 1, stderr: 'nsenter: the host has gone\n' });
  });

  it('holds a lock as long as somebody writes to it', async () => {
    const argv = ['flock', '--nonblock', '--conflict-exit-code', '75', '/run/lock/x', 'cat'];
    const holder = start(...argv);
    holder.stdin?.write('held\n');
    await once(holder.stdout!, 'data');
    expect((await run(...argv)).exitCode).toBe(75);
    holder.kill('SIGKILL');
    await expect.poll(() => machine.locks.size).toBe(0);
    expect((await run(...argv)).exitCode).toBe(0);
  });
});

describe('a simulated host', () => {
  const [language = 'node'] = languages;

  it('fails loudly at a command that it does not know', async () => {
    await begin(language);
    expect((await run('frobnicate', '--all')).exitCode).toBe(127);
    expect(machine.unknown).toEqual(['frobnicate --all']);
  });

  it('knows no device of this machine', async () => {
    await begin(language);
    const answers = await Promise.all([
      run('wipefs', '--all', '/dev/vdz'),
      run('dd', 'if=/dev/zero', 'of=/dev/vdz', 'bs=512', 'count=1'),
      run('coreos-installer', 'install', '/dev/vdz'),
      run('mount', '/dev/vdz1', '/mnt'),
    ]);
    expect(answers.map(({ exitCode }) => exitCode)).not.toContain(0);
  });

  it('follows no link out of its own files', async () => {
    await begin(language);
    await symlink('/etc', join(folder, 'root/opt/out'));
    expect(await run('cat', '/opt/out/passwd')).toMatchObject({ exitCode: 1, stdout: '' });
  });

  it('lists its disks as lsblk does', async () => {
    await begin(language, { disks: [{ name: 'sda', leftovers: 'lvm' }] });
    const argv = ['lsblk', '--bytes', '--json', '--output', 'NAME,TYPE,FSTYPE', '/dev/sda'];
    expect(JSON.parse((await run(...argv)).stdout)).toEqual({
      blockdevices: [
        {
          name: 'sda',
          type: 'disk',
          fstype: null,
          children: [
            {
              name: 'sda1',
              type: 'part',
              fstype: 'LVM2_member',
              children: [{ name: 'old-root', type: 'lvm', fstype: 'xfs' }],
            },
          ],
        },
      ],
    });
  });

  it('writes no disk that is held, and one that is free', async () => {
    await begin(language, { disks: [{ name: 'sda', leftovers: 'lvm' }] });
    await writeFile(join(folder, 'root/opt/x.ign'), '{"ignition":{}}');
    const argv = ['coreos-installer', 'install', '--insecure', '-i', '/opt/x.ign', '/dev/sda'];
    expect((await run(...argv)).stderr).toContain('found busy partitions');
    await run('vgremove', 'old', '-y');
    const written = await run(...argv);
    expect(written.exitCode).toBe(0);
    expect(written.stderr).toMatch(/^Read disk [\d.]+ MiB\/1\.1 GiB \(\d+%\)$/m);
    expect(written.stderr.trimEnd().split('\n').at(-1)).toBe('Install complete.');
    expect(machine.installed).toMatchObject({ disk: 'sda', ignition: '{"ignition":{}}' });
    const labels = await run('lsblk', '--noheadings', '--output', 'PARTLABEL', '/dev/sda');
    expect(labels.stdout.split('\n')).toEqual(
      expect.arrayContaining(['BIOS-BOOT', 'EFI-SYSTEM', 'boot', 'root']),
    );
  });

  it('takes down LVM and RAID', async () => {
    await begin(language, {
      disks: [
        { name: 'sda', leftovers: 'lvm' },
        { name: 'sdb', leftovers: 'raid' },
      ],
    });
    expect((await run('vgs', '--noheadings', '-o', 'vg_name,pv_name')).stdout.trim()).toBe(
      'old /dev/sda1',
    );
    expect((await run('mdadm', '-v', '--query', '--detail', '--scan')).stdout).toContain(
      'devices=/dev/sdb1',
    );
    for (const argv of [
      ['vgremove', 'old', '-y'],
      ['pvremove', '/dev/sda1', '-y', '-ff'],
      ['mdadm', '--stop', '/dev/md126'],
      ['mdadm', '--zero-superblock', '/dev/sdb1'],
      ['wipefs', '--all', '--force', '/dev/sda'],
    ]) {
      expect(await run(...argv)).toMatchObject({ exitCode: 0 });
    }
    const left = machine.devices.all().map(({ kname }) => kname);
    expect(left).toEqual(['sda', 'sdb', 'sdb1', 'sr0']);
  });

  it('keeps boot entries as efibootmgr shows them', async () => {
    await begin(language);
    await run('coreos-installer', 'install', '/dev/sda');
    const argv = ['efibootmgr', '-v', '-d', '/dev/sda', '-p', '2', '-c', '-L', 'Red Hat'];
    await run(...argv, '-l', '\\EFI\\redhat\\shimx64.efi');
    const again = await run(...argv, '-l', '\\EFI\\redhat\\shimx64.efi');
    expect(again.stderr).toContain('Boot0000 has same label Red Hat');
    expect(again.stdout).toMatch(/^BootOrder: 0002,0000,0001$/m);
    expect(again.stdout).toMatch(/^Boot0002\* Red Hat\tHD\(2,GPT,[0-9a-f-]{36},/m);
    await run('efibootmgr', '-v', '--delete-bootnum', '--bootnum', '0000');
    expect(machine.firmware.order).toEqual(['0002', '0001']);
  });

  it('applies the Ignition of a bootstrap host, in a container', async () => {
    await begin(language);
    const ignition = {
      ignition: { version: '3.2.0' },
      storage: {
        files: [{ path: '/opt/openshift/a/b', mode: 384, contents: { source: 'data:,hello%0A' } }],
      },
      systemd: { units: [{ name: 'bootkube.service', contents: '[Unit]\n' }] },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['ssh-ed25519 A'] }] },
    };
    await writeFile(join(folder, 'root/opt/x.ign'), JSON.stringify(ignition));
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
    expect(await readFile(join(folder, 'root/opt/openshift/a/b'), 'utf8')).toBe('hello\n');
    expect(machine.units.isKnown('bootkube.service')).toBe(true);
    expect((await run('podman', 'run', ...image, ...words)).exitCode).toBe(125);
    await writeFile(join(folder, 'root/opt/x.ign'), 'torn');
    expect((await run(...podman, ...image, ...words)).exitCode).toBe(255);
  });

  it('makes an SSH key once, and tells its public half', async () => {
    await begin(language);
    const make = ['ssh-keygen', '-q', '-f', '/root/.ssh/id', '-N', ''];
    expect((await run(...make)).exitCode).toBe(1);
    await run('mkdir', '-p', '/root/.ssh');
    expect((await run(...make)).exitCode).toBe(0);
    const key = await readFile(join(folder, 'root/root/.ssh/id.pub'), 'utf8');
    expect(await run(...make)).toMatchObject({ exitCode: 1 });
    const shown = await run('ssh-keygen', '-y', '-f', '/root/.ssh/id');
    expect(key.startsWith(shown.stdout.trim())).toBe(true);
    await writeFile(join(folder, 'root/root/.ssh/id'), 'torn');
    expect((await run('ssh-keygen', '-y', '-f', '/root/.ssh/id')).exitCode).toBe(255);
  });

  it('takes another name', async () => {
    await begin(language, { hostname: 'localhost' });
    expect((await run('cat', '/proc/sys/kernel/hostname')).stdout).toBe('localhost\n');
    await run('hostnamectl', 'set-hostname', 'b1.example');
    expect((await run('hostname')).stdout).toBe('b1.example\n');
    expect((await run('cat', '/etc/hostname')).stdout).toBe('b1.example\n');
  });

  it('starts units, and tells of each change on the bus', async () => {
    await begin(language, { hasOc: false, nodeImageSeconds: 0.1 });
    const units = ['node-image-pull.service', 'node-image-overlay.service'];
    const watched =
      "--match=path='/org/freedesktop/systemd1/unit/node_2dimage_2doverlay_2eservice'";
    const monitor = start('busctl', '--system', watched, 'monitor');
    const said: string[] = [];
    monitor.stdout?.on('data', (bytes) => said.push(String(bytes)));
    await once(monitor.stderr!, 'data');
    await run('systemctl', 'start', '--no-block', ...units);
    await expect.poll(() => machine.units.stateOf(units[1]!)).toBe('active');
    await expect.poll(() => said.join('')).toContain('"ActiveState" "active"');
    expect(said.join('')).not.toContain('pull');
    expect(existsSync(join(folder, 'root/usr/bin/oc'))).toBe(true);
    monitor.kill('SIGTERM');
    expect(await end(monitor)).toMatchObject({ signal: 'SIGTERM' });
    const shown = await run('systemctl', 'show', '-P', 'ActiveState', ...units);
    expect(shown.stdout.trim().split(/\s+/)).toEqual(['active', 'active']);
  });

  it('waits for a unit that takes time, and says when it fails or is not there', async () => {
    await begin(language);
    machine.units.add('slow.service', 'bad.service');
    machine.units.lives.set('slow.service', (become) => {
      become('activating');
      setTimeout(() => become('active'), 100);
    });
    machine.units.lives.set('bad.service', (become) => become('failed'));
    expect((await run('systemctl', 'start', 'slow.service')).exitCode).toBe(0);
    expect((await run('systemctl', 'is-active', 'slow.service')).stdout).toBe('active\n');
    expect((await run('systemctl', 'start', 'bad.service')).exitCode).toBe(1);
    expect((await run('systemctl', 'status', 'bad.service')).exitCode).toBe(3);
    const life = ['systemctl', 'show', '--property=ActiveState,Result', 'bad.service'];
    expect((await run(...life)).stdout).toBe('ActiveState=failed\nResult=exit-code\n');
    expect((await run('systemctl', 'start', 'none.service')).exitCode).toBe(5);
  });

  it('shows on a mounted partition what was written to it', async () => {
    await begin(language);
    await writeFile(join(folder, 'root/opt/x.ign'), '{"ignition":{}}');
    await run('coreos-installer', 'install', '-i', '/opt/x.ign', '/dev/sda');
    expect((await run('mount', '/dev/sda3', '/none')).exitCode).toBe(32);
    await run('mount', '-o', 'ro', '/dev/sda3', '/mnt');
    expect((await run('test', '-f', '/mnt/ignition.firstboot')).exitCode).toBe(0);
    expect((await run('cat', '/mnt/ignition/config.ign')).stdout).toBe('{"ignition":{}}');
    await run('umount', '/mnt');
    expect((await run('ls', '/mnt')).stdout).toBe('');
    await run('mount', '/dev/sda2', '/mnt');
    expect((await run('ls', '/mnt/EFI')).stdout).toBe('BOOT\nredhat\n');
  });

  it('keeps mounts below one another in order', async () => {
    await begin(language);
    await run('coreos-installer', 'install', '/dev/sda');
    await run('mount', '/dev/sda4', '/mnt');
    await run('mount', '/dev/sda3', '/mnt/boot');
    expect(await run('umount', '/mnt')).toMatchObject({ exitCode: 32 });
    expect((await run('ls', '/mnt/boot/loader')).stdout).toBe('entries\n');
    await run('umount', '/mnt/boot');
    expect((await run('umount', '/mnt')).exitCode).toBe(0);
  });

  it('copies a registry with the words of an appliance', async () => {
    await begin(language, { registryKibibytes: 4 });
    expect((await run('stat', '/run/media/iso/registry')).exitCode).toBe(0);
    expect(
      Number((await run('du', '-sb', '/mnt/agentdata')).stdout.split('\t')[0]),
    ).toBeGreaterThan(4096);
    await run('coreos-installer', 'install', '/dev/sda');
    await run('mkdir', '-p', '/mnt/root');
    await run('mount', '/dev/sda4', '/mnt/root');
    const target = '/mnt/root/ostree/deploy/rhcos/var/lib/iri-registry';
    await run('mkdir', '-p', target);
    const rsync = `rsync -ah --info=progress2 /mnt/agentdata/ ${target}/`;
    expect((await run('sh', '-c', rsync)).stdout).toContain('100%');
    await run('umount', '/mnt/root');
    expect(await partitionFiles(machine, 'sda4')).toContain(
      'ostree/deploy/rhcos/var/lib/iri-registry/docker/registry/v2/blobs/one',
    );
    expect((await run('sh', '-c', 'fsfreeze --unfreeze /mnt/root || true')).exitCode).toBe(0);
    expect((await run('sh', '-c', 'curl x | sh')).exitCode).toBe(127);
  });

  it('loses with its power what was in memory, and keeps its disks', async () => {
    await begin(language);
    await run('coreos-installer', 'install', '/dev/sda');
    await writeFile(join(folder, 'root/opt/journal'), 'x');
    const bootId = await readFile(join(folder, 'root/proc/sys/kernel/random/boot_id'), 'utf8');
    await restartLiveSystem(machine);
    expect(existsSync(join(folder, 'root/opt/journal'))).toBe(false);
    const later = await readFile(join(folder, 'root/proc/sys/kernel/random/boot_id'), 'utf8');
    expect(later).not.toBe(bootId);
    expect(machine.installed?.disk).toBe('sda');
  });
});

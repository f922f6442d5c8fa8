import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { partitionFiles } from '../../mocks/host/partition-files.ts';
import { labHost } from './lab-host.ts';

const lab = labHost();
const { begin, run } = lab;

describe('a simulated host', () => {
  it('knows no device of this machine', async () => {
    await begin();
    const answers = await Promise.all([
      run('wipefs', '--all', '/dev/vdz'),
      run('dd', 'if=/dev/zero', 'of=/dev/vdz', 'bs=512', 'count=1'),
      run('coreos-installer', 'install', '/dev/vdz'),
      run('mount', '/dev/vdz1', '/mnt'),
    ]);
    expect(answers.map(({ exitCode }) => exitCode)).not.toContain(0);
  });

  it('lists its disks as lsblk does', async () => {
    await begin({ disks: [{ name: 'sda', leftovers: 'lvm' }] });
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
    await begin({ disks: [{ name: 'sda', leftovers: 'lvm' }] });
    await writeFile(join(lab.folder, 'root/opt/x.ign'), '{"ignition":{}}');
    const argv = ['coreos-installer', 'install', '--insecure', '-i', '/opt/x.ign', '/dev/sda'];
    expect((await run(...argv)).stderr).toContain('found busy partitions');
    await run('vgremove', 'old', '-y');
    const written = await run(...argv);
    expect(written.exitCode).toBe(0);
    expect(written.stderr).toMatch(/^Read disk [\d.]+ MiB\/1\.1 GiB \(\d+%\)$/m);
    expect(written.stderr.trimEnd().split('\n').at(-1)).toBe('Install complete.');
    expect(lab.machine.installed).toMatchObject({ disk: 'sda', ignition: '{"ignition":{}}' });
    const labels = await run('lsblk', '--noheadings', '--output', 'PARTLABEL', '/dev/sda');
    expect(labels.stdout.split('\n')).toEqual(
      expect.arrayContaining(['BIOS-BOOT', 'EFI-SYSTEM', 'boot', 'root']),
    );
  });

  it('takes down LVM and RAID', async () => {
    await begin({
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
      ['wipefs', '--all', '/dev/sda'],
    ]) {
      expect(await run(...argv)).toMatchObject({ exitCode: 0 });
    }
    const left = lab.machine.devices.all().map(({ kname }) => kname);
    expect(left).toEqual(['sda', 'sdb', 'sdb1', 'sr0']);
  });

  it('keeps boot entries as efibootmgr shows them', async () => {
    await begin();
    await run('coreos-installer', 'install', '/dev/sda');
    const argv = ['efibootmgr', '-v', '-d', '/dev/sda', '-p', '2', '-c', '-L', 'Red Hat'];
    await run(...argv, '-l', '\\EFI\\redhat\\shimx64.efi');
    const again = await run(...argv, '-l', '\\EFI\\redhat\\shimx64.efi');
    expect(again.stderr).toContain('Boot0000 has same label Red Hat');
    expect(again.stdout).toMatch(/^BootOrder: 0002,0000,0001$/m);
    expect(again.stdout).toMatch(/^Boot0002\* Red Hat\tHD\(2,GPT,[0-9a-f-]{36},/m);
    await run('efibootmgr', '-v', '--delete-bootnum', '--bootnum', '0000');
    expect(lab.machine.firmware.order).toEqual(['0002', '0001']);
  });

  it('shows on a mounted partition what was written to it', async () => {
    await begin();
    await writeFile(join(lab.folder, 'root/opt/x.ign'), '{"ignition":{}}');
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
    await begin();
    await run('coreos-installer', 'install', '/dev/sda');
    await run('mount', '/dev/sda4', '/mnt');
    await run('mount', '/dev/sda3', '/mnt/boot');
    expect(await run('umount', '/mnt')).toMatchObject({ exitCode: 32 });
    expect((await run('ls', '/mnt/boot/loader')).stdout).toBe('entries\n');
    await run('umount', '/mnt/boot');
    expect((await run('umount', '/mnt')).exitCode).toBe(0);
  });

  it('copies a registry with the words of an appliance', async () => {
    await begin({ registryKibibytes: 4 });
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
    expect(await partitionFiles(lab.machine, 'sda4')).toContain(
      'ostree/deploy/rhcos/var/lib/iri-registry/docker/registry/v2/blobs/one',
    );
    expect((await run('sh', '-c', 'fsfreeze --unfreeze /mnt/root || true')).exitCode).toBe(0);
    expect((await run('sh', '-c', 'curl x | sh')).exitCode).toBe(127);
  });
});

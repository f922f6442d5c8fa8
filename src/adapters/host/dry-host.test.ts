import { describe, expect, it } from 'vitest';
import { decideDry } from './dry-host.ts';

const world = { device: '/dev/disk/by-id/fake', rebootMarker: '/tmp/rebooted' };

describe('a dry host', () => {
  it.each([
    ['disk formatting', ['dd', 'if=/dev/zero', 'of=/dev/sdb', 'bs=512', 'count=1']],
    ['disk cleanup', ['wipefs', '--all', '--force', '/dev/sda']],
    ['the boot order', ['efibootmgr', '-v', '-d', '/dev/sda']],
    ['units that would change', ['systemctl', 'stop', 'agent.service']],
  ])('leaves out %s', (_, argv) => {
    expect(decideDry(argv, world)).toEqual({ kind: 'answer', stdout: '', exitCode: 0 });
  });

  it.each([
    ['bootlist', ['test', '-f', '/usr/sbin/bootlist']],
    ['EFI', ['test', '-d', '/sys/firmware/efi']],
  ])('has no %s, whatever the machine has', (_, argv) => {
    expect(decideDry(argv, world)).toEqual({ kind: 'answer', stdout: '', exitCode: 1 });
  });

  it.each([
    [
      'writes with dry-installer',
      ['coreos-installer', 'install', 'X'],
      ['dry-installer', 'install', 'X'],
    ],
    ['touches a file instead of a reboot', ['shutdown', '-r', '+1'], ['touch', '/tmp/rebooted']],
    ['makes directories', ['mkdir', '-p', '/opt/x'], ['mkdir', '-p', '/opt/x']],
    ['looks for files', ['test', '-f', '/opt/x'], ['test', '-f', '/opt/x']],
    ['asks about units', ['systemctl', 'list-units', 'x'], ['systemctl', 'list-units', 'x']],
    ['sends logs', ['podman', 'run', 'x'], ['podman', 'run', 'x']],
  ])('%s', (_, argv, expected) => {
    expect(decideDry(argv, world)).toEqual({ kind: 'run', argv: expected });
  });

  it('shows the disk that was asked for', () => {
    const decision = decideDry(['lsblk', '--json'], world);
    expect(decision).toMatchObject({ kind: 'answer' });
    expect(JSON.parse((decision as { stdout: string }).stdout)).toMatchObject({
      blockdevices: [{ name: 'disk/by-id/fake', type: 'disk' }],
    });
  });
});

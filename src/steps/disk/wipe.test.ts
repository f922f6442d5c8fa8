import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from '../../../test/support/disk-samples.ts';
import * as lvm from './wipe.ts';
import {
  forgetTablesArgvs,
  leftoversOn,
  tablesOf,
  takedownArgvs,
  zeroMebibyteArgv,
} from './wipe.ts';

const mebibyte = 1024 ** 2;

describe('forgetTablesArgvs', () => {
  it('zeroes the first sector as asked, then wipes partitions, disk and both ends', () => {
    const disk = blockDevice('sdb', { sizeBytes: 10 * mebibyte }, [partition('sdb1')]);
    expect(forgetTablesArgvs('/dev/disk/by-id/x', tablesOf(disk))).toEqual([
      ['dd', 'if=/dev/zero', 'of=/dev/disk/by-id/x', 'bs=512', 'count=1'],
      ['wipefs', '--all', '--force', '/dev/sdb1'],
      ['wipefs', '--all', '--force', '/dev/sdb'],
      [
        ...['dd', 'if=/dev/zero', 'of=/dev/sdb', 'bs=1M', 'count=1'],
        ...['oflag=seek_bytes', 'seek=0', 'conv=fsync'],
      ],
      [
        ...['dd', 'if=/dev/zero', 'of=/dev/sdb', 'bs=1M', 'count=1'],
        ...['oflag=seek_bytes', `seek=${9 * mebibyte}`, 'conv=fsync'],
      ],
      ['blockdev', '--rereadpt', '/dev/sdb'],
      ['udevadm', 'settle', '--timeout=30'],
    ]);
  });

  it.each([512, 4096])('covers the table at the end on sectors of %d bytes', (sectorBytes) => {
    const sizeBytes = 4_000_000 * sectorBytes;
    const disk = blockDevice('sdb', { sizeBytes, sectorBytes });
    const zeroed = forgetTablesArgvs('/dev/sdb', tablesOf(disk));
    // 128 entries of 128 bytes, and one sector for the header (UEFI specification, 5.3).
    const tableBytes = 128 * 128 + sectorBytes;
    expect(zeroed).toContainEqual(zeroMebibyteArgv('/dev/sdb', sizeBytes - mebibyte));
    expect(tableBytes).toBeLessThan(mebibyte);
  });

  it('writes nothing beyond a tiny device', () => {
    const disk = blockDevice('sdb', { sizeBytes: mebibyte });
    expect(forgetTablesArgvs('/dev/sdb', tablesOf(disk)).flat()).not.toContain('bs=1M');
  });
});

const disk = blockDevice('sda', {}, [partition('sda1'), partition('sda2')]);

it('reads groups with their devices and leaves out half lines', () => {
  expect(lvm.parseVgs('  vg0 /dev/sda1\n  vg1  /dev/sdb \n\n  alone\n')).toEqual([
    { group: 'vg0', device: '/dev/sda1' },
    { group: 'vg1', device: '/dev/sdb' },
  ]);
});

it('reads physical volumes', () => {
  expect(lvm.parsePvs('  /dev/sda1\n\n  /dev/sdb \n')).toEqual(['/dev/sda1', '/dev/sdb']);
});

describe('groupsOn', () => {
  it('goes by whole names, in order, each group once', () => {
    const groups = lvm.parseVgs(
      'far /dev/sdaa1\nfar2 /dev/sdaa\nb /dev/sda1\na /dev/sda2\nb /dev/sda2\nno /dev/sda11',
    );
    expect(lvm.groupsOn(disk, groups)).toEqual(['b', 'a']);
  });
});

it.each([
  [lvm.removeGroupArgv('vg0'), ['vgremove', 'vg0', '-y']],
  [lvm.removePhysicalArgv('/dev/sda1'), ['pvremove', '/dev/sda1', '-y', '-ff']],
  [lvm.deactivateGroupArgv('vg0'), ['vgchange', '--activate', 'n', 'vg0']],
])('builds %j', (argv, expected) => {
  expect(argv).toEqual(expected);
});

it('removes a thin pool from the top', () => {
  const pool = blockDevice('dm-3', { name: 'vg-pool' });
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [
      blockDevice('dm-1', { name: 'vg-pool_tmeta' }, [pool]),
      blockDevice('dm-2', { name: 'vg-pool_tdata' }, [pool]),
    ]),
  ]);
  expect(takedownArgvs(disk)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-pool'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tmeta'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tdata'],
  ]);
});

it('stops an array after what stands on it, and only this disk forgets it', () => {
  const array = blockDevice('md127', {}, [blockDevice('dm-0', { name: 'vg-a' })]);
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [array]),
    partition('sda2'),
    partition('sda3', {}, [array]),
  ]);
  expect(takedownArgvs(disk)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-a'],
    ['mdadm', '--stop', '/dev/md127'],
    ['mdadm', '--zero-superblock', '/dev/sda1'],
    ['mdadm', '--zero-superblock', '/dev/sda3'],
  ]);
});

it('takes a whole disk out of its array', () => {
  expect(takedownArgvs(blockDevice('sda', {}, [blockDevice('md0')]))).toEqual([
    ['mdadm', '--stop', '/dev/md0'],
    ['mdadm', '--zero-superblock', '/dev/sda'],
  ]);
});

it('leaves partitions of a multipath device, and the multipath device', () => {
  const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }, [
    partition('dm-1', { name: 'mpatha1' }),
  ]);
  expect(leftoversOn(multipath)).toEqual([]);
  expect(leftoversOn(blockDevice('sda', {}, [multipath]))).toEqual([]);
});

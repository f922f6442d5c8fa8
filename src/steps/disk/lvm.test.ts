import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import * as lvm from './lvm.ts';

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

import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import { deviceAt, disksUnder, everyDevice, isArray, isMapped, standingOn } from './tree.ts';

const names = (devices: readonly { name: string }[]) => devices.map(({ name }) => name);

describe('standingOn', () => {
  it('lists a thin pool before the devices it is made of, each once', () => {
    const thin = blockDevice('dm-4', { name: 'vg-thin' });
    const pool = blockDevice('dm-3', { name: 'vg-pool' }, [thin]);
    const disk = blockDevice('sda', {}, [
      partition('sda1', {}, [
        blockDevice('dm-1', { name: 'vg-pool_tmeta' }, [pool]),
        blockDevice('dm-2', { name: 'vg-pool_tdata' }, [pool]),
      ]),
    ]);
    expect(names(standingOn(disk))).toEqual([
      'vg-thin',
      'vg-pool',
      'vg-pool_tmeta',
      'vg-pool_tdata',
      'sda1',
    ]);
  });

  it('is empty for an empty disk', () => {
    expect(standingOn(blockDevice('sda'))).toEqual([]);
  });
});

describe('the tree of a host', () => {
  const array = blockDevice('md127');
  const sda = blockDevice('sda', {}, [partition('sda1', {}, [array])]);
  const sdb = blockDevice('sdb', {}, [partition('sdb1', {}, [array])]);
  const roots = [sda, sdb];

  it('knows every device once', () => {
    expect(names(everyDevice(roots)).sort()).toEqual(['md127', 'sda', 'sda1', 'sdb', 'sdb1']);
  });

  it('finds all disks under a device', () => {
    expect(names(disksUnder(roots, array))).toEqual(['sda', 'sdb']);
    expect(names(disksUnder(roots, sda))).toEqual(['sda']);
  });

  it('finds a device by its kernel path and by its own', () => {
    const mapped = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' });
    expect(deviceAt([mapped], '/dev/dm-0')).toBe(mapped);
    expect(deviceAt([mapped], '/dev/mapper/mpatha')).toBe(mapped);
    expect(deviceAt(roots, '/dev/sdaa')).toBeUndefined();
  });
});

it.each([
  ['md127', true],
  ['md_d0', true],
  ['mdev', false],
  ['sda', false],
])('%s is an array: %s', (kname, expected) => {
  expect(isArray(blockDevice(kname))).toBe(expected);
});

it.each([
  ['dm-12', true],
  ['dmx', false],
])('%s is mapped: %s', (kname, expected) => {
  expect(isMapped(blockDevice(kname))).toBe(expected);
});

import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  coreOsDisk,
  lsblkOutput,
  partition,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import {
  deviceAt,
  disksUnder,
  everyDevice,
  findPartition,
  freePercent,
  isArray,
  isMapped,
  descendantsOf,
  readBlockDevices,
} from './block-devices.ts';

const names = (devices: readonly { name: string }[]) => devices.map(({ name }) => name);

describe('descendantsOf', () => {
  it('lists a thin pool before the devices it is made of, each once', () => {
    const thin = blockDevice('dm-4', { name: 'vg-thin' });
    const pool = blockDevice('dm-3', { name: 'vg-pool' }, [thin]);
    const disk = blockDevice('sda', {}, [
      partition('sda1', {}, [
        blockDevice('dm-1', { name: 'vg-pool_tmeta' }, [pool]),
        blockDevice('dm-2', { name: 'vg-pool_tdata' }, [pool]),
      ]),
    ]);
    expect(names(descendantsOf(disk))).toEqual([
      'vg-thin',
      'vg-pool',
      'vg-pool_tmeta',
      'vg-pool_tdata',
      'sda1',
    ]);
  });

  it('is empty for an empty disk', () => {
    expect(descendantsOf(blockDevice('sda'))).toEqual([]);
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

describe('findPartition', () => {
  it.each([
    ['sda', 'esp', '/dev/sda2', 2],
    ['sda', 'boot', '/dev/sda3', 3],
    ['sda', 'root', '/dev/sda4', 4],
    ['nvme0n1', 'root', '/dev/nvme0n1p4', 4],
    ['mmcblk1', 'boot', '/dev/mmcblk1p3', 3],
    ['loop12', 'esp', '/dev/loop12p2', 2],
  ] as const)('finds on %s the %s partition', (...[kname, purpose, path, number]) => {
    expect(findPartition(coreOsDisk(kname), purpose)).toMatchObject({ path, number });
  });

  it('does not go by the number: kept partitions may stand before', () => {
    const disk = blockDevice('sda', {}, [
      partition('sda4', { partLabel: 'data' }),
      partition('sda7', { partLabel: 'root' }),
    ]);
    expect(findPartition(disk, 'root')).toMatchObject({ path: '/dev/sda7', number: 7 });
  });

  it.each([
    ['mpatha', 'mpatha4'],
    ['mpatha', 'mpatha-part4'],
    ['3600508b1', '3600508b1p4'],
  ])('mounts a partition of the multipath device %s as /dev/mapper/%s', (name, part) => {
    const disk = blockDevice('dm-0', { name, type: 'mpath' }, [
      partition('dm-4', { name: part, label: 'root' }),
    ]);
    expect(findPartition(disk, 'root')).toMatchObject({ path: `/dev/mapper/${part}`, number: 4 });
  });

  it.each(['esp', 'boot', 'root'] as const)('says that there is no %s partition', (purpose) => {
    const disk = blockDevice('sda', {}, [
      partition('sda1', { label: 'data' }),
      blockDevice('dm-0', { label: 'root', partType: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b' }),
    ]);
    expect(() => findPartition(disk, purpose)).toThrow(
      expect.objectContaining({
        code: 'disk.no-partition',
        context: expect.objectContaining({ purpose }) as object,
      }),
    );
  });
});

describe('freePercent', () => {
  it.each([
    ['the root partition once more', 3_272_588_800, 92],
    ['two and a half times 20 GiB', (20 * 1024 ** 3 * 5) / 2, 42],
    ['all that is left', 100_000_000_000 - 3_809_459_776, 0],
    ['more than the disk', 200_000_000_000, 0],
  ])('leaves room for %s', (_what, required, percent) => {
    expect(freePercent(coreOsDisk('sda'), required)).toBe(percent);
  });
});

it('reads the ids of NVMe namespaces', async () => {
  const host = fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(blockDevice('nvme0n2'), blockDevice('nvme1n1'), blockDevice('sda')))
    .withFile('/sys/block/nvme0n2/nsid', '1\n');
  const found = await readBlockDevices(host, new AbortController().signal);
  expect(found.map(({ namespaceId }) => namespaceId)).toEqual(['1', undefined, undefined]);
});

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
  findPartition,
  freePercent,
  listBlockDevices,
  parseLsblk,
  readBlockDevices,
} from './block-devices.ts';

const names = (devices: readonly { name: string }[]) => devices.map(({ name }) => name);

describe('the device tree of a host', () => {
  const array = blockDevice('md127');
  const sda = blockDevice('sda', {}, [partition('sda1', {}, [array])]);
  const sdb = blockDevice('sdb', {}, [partition('sdb1', {}, [array])]);
  const roots = [sda, sdb];

  it('finds all disks below a device', () => {
    expect(names(disksUnder(roots, array))).toEqual(['sda', 'sdb']);
    expect(names(disksUnder(roots, sda))).toEqual(['sda']);
  });

  it('finds a device by its kernel path and by its mapper path', () => {
    const mapped = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' });
    expect(deviceAt([mapped], '/dev/dm-0')).toBe(mapped);
    expect(deviceAt([mapped], '/dev/mapper/mpatha')).toBe(mapped);
    expect(deviceAt(roots, '/dev/sdaa')).toBeUndefined();
  });
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

  it('finds a partition by its label, not by its number', () => {
    const disk = blockDevice('sda', {}, [
      partition('sda4', { partLabel: 'data' }),
      partition('sda7', { partLabel: 'root' }),
    ]);
    expect(findPartition(disk, 'root')).toMatchObject({ path: '/dev/sda7', number: 7 });
  });

  it('returns the mapper path for a partition of a multipath device', () => {
    const disk = blockDevice('dm-0', { name: '3600508b1', type: 'mpath' }, [
      partition('dm-4', { name: '3600508b1p4', label: 'root' }),
    ]);
    const path = '/dev/mapper/3600508b1p4';
    expect(findPartition(disk, 'root')).toMatchObject({ path, number: 4 });
  });

  it.each(['esp', 'boot', 'root'] as const)('fails without the %s partition', (purpose) => {
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
    ['the root partition a second time', 3_272_588_800, 92],
    ['two and a half times 20 GiB', (20 * 1024 ** 3 * 5) / 2, 42],
    ['all the remaining space', 100_000_000_000 - 3_809_459_776, 0],
    ['more than the disk', 200_000_000_000, 0],
  ])('leaves room for %s', (_what, required, percent) => {
    expect(freePercent(coreOsDisk('sda'), required)).toBe(percent);
  });
});

it('reads the IDs of NVMe namespaces', async () => {
  const host = fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(blockDevice('nvme0n2'), blockDevice('nvme1n1'), blockDevice('sda')))
    .withFile('/sys/block/nvme0n2/nsid', '1\n');
  const found = await readBlockDevices(host, new AbortController().signal);
  expect(found.map(({ namespaceId }) => namespaceId)).toEqual(['1', undefined, undefined]);
});

const parse = (...blockdevices: object[]) => parseLsblk(JSON.stringify({ blockdevices }));

describe('parseLsblk', () => {
  it.each([
    [true, true],
    [false, false],
    [null, false],
    [undefined, false],
  ])('reads a read-only flag written as %j', (ro, isReadOnly) => {
    expect(parse({ name: 'sda', ro })[0]).toMatchObject({ isReadOnly });
  });

  it.each([[''], ['lsblk: cannot'], ['{}'], ['{"blockdevices":[{"size":1}]}']])(
    'refuses output that is not a list of devices: %j',
    (stdout) => {
      expect(() => parseLsblk(stdout)).toThrow(
        expect.objectContaining({ code: 'disk.unreadable', kind: 'host' }),
      );
    },
  );
});

it('refuses a live image whose lsblk lacks a column', async () => {
  const host = fakeHost().on(['lsblk', rest]).fails(1, 'lsblk: unknown column: MOUNTPOINTS,FSTYPE');
  await expect(listBlockDevices(host, new AbortController().signal)).rejects.toMatchObject({
    code: 'disk.not-supported',
    kind: 'input',
  });
});

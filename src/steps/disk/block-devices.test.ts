import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  coreOsDisk,
  lsblkOutput,
  partition,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import {
  type BlockDevice,
  bareWwn,
  deviceAt,
  disksUnder,
  findPartition,
  freePercent,
  isArray,
  isUnformatted,
  listBlockDevices,
  lsblkArgv,
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

it.each([
  ['0x5000C500', '5000C500'],
  ['EUI.0025385b', '0025385b'],
  ['naa.50aa', '50aa'],
  ['50aa', '50aa'],
])('bareWwn of %s is %s', (wwn, bare) => {
  expect(bareWwn(wwn)).toBe(bare);
});

it.each([
  ['dasda', 0, true],
  ['dasdab', 0, true],
  ['dasda', 1, false],
  ['dasda1', 0, false],
  ['sda', 0, false],
])('%s of %i bytes is an unformatted DASD: %s', (name, sizeBytes, is) => {
  expect(isUnformatted({ name, sizeBytes })).toBe(is);
});

it.each([
  ['md127', true],
  ['md_d0', true],
  ['mda', false],
  ['sda', false],
])('%s is an array: %s', (kname, is) => {
  expect(isArray(blockDevice(kname))).toBe(is);
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

  it.each([
    ['dm-0', '3600508b1', '3600508b14', 4],
    ['sda', 'sda', 'sda12', 12],
  ])('reads the number of %s %s in %s', (kname, name, partitionName, number) => {
    const root = partition('dm-4', { name: partitionName, label: 'root' });
    const disk = blockDevice(kname, { name }, [root]);
    expect(findPartition(disk, 'root')).toMatchObject({ number });
  });

  it('fails where the name of the partition has no number', () => {
    const root = partition('dm-4', { name: 'mpatha-root', label: 'root' });
    const disk = blockDevice('dm-0', { name: 'mpatha' }, [root]);
    expect(() => findPartition(disk, 'root')).toThrow('/dev/mapper/mpatha has no root partition');
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

it('lists loop devices below what they hold', async () => {
  const loop = (name: string, children: readonly BlockDevice[] = [], sizeBytes = 1) =>
    blockDevice(name, { type: 'loop', sizeBytes }, children);
  const mounted = partition('loop1p2', { mountpoints: ['/data'] });
  const host = fakeHost()
    .on(['lsblk', rest])
    .prints(
      lsblkOutput(
        blockDevice('sda', {}, [partition('sda1')]),
        ...[loop('loop1', [partition('loop1p1'), mounted]), loop('loop2'), loop('loop3')],
        loop('loop4', [], 0),
      ),
    );
  const backing = { loop1: 'sda', loop2: 'sda', loop3: 'sda1', loop4: 'sda1' };
  for (const [name, below] of Object.entries(backing))
    host.withFile(`/sys/block/${name}/loop/backing_file`, `/dev/${below}\n`);
  const [sda] = await readBlockDevices(host, new AbortController().signal);
  expect(names(sda?.children ?? [])).toEqual(['sda1', 'loop1']);
  expect(names(sda?.children[0]?.children ?? [])).toEqual(['loop3']);
});

it('asks for the columns that it reads', () => {
  const recorded = readFileSync(new URL('../../../mocks/logs/lsblk/perc.json', import.meta.url));
  const [disk] = (JSON.parse(String(recorded)) as { blockdevices: object[] }).blockdevices;
  const columns = Object.keys(disk ?? {}).filter((name) => name !== 'children');
  expect(lsblkArgv.at(-1)?.toLowerCase()).toBe(columns.join(','));
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

  it.each([
    ['', 'lsblk did not print JSON'],
    ['lsblk: cannot', 'lsblk did not print JSON'],
    ['{}', 'lsblk printed JSON that is not a list of devices'],
    ['{"blockdevices":[{"size":1}]}', 'lsblk printed JSON that is not a list of devices'],
  ])('refuses output that is not a list of devices: %j', (stdout, message) => {
    const cause = expect.any(Error) as Error;
    expect(() => parseLsblk(stdout)).toThrow(
      expect.objectContaining({ code: 'disk.unreadable', kind: 'host', message, cause }),
    );
  });

  it('gives the identifiers of a path to its multipath device, and to no partition', () => {
    const part = { name: 'sda1', type: 'part' };
    const mpath = { name: 'mpatha', kname: 'dm-0', type: 'mpath' };
    const [disk] = parse({ name: 'sda', type: 'disk', serial: 'S1', children: [part, mpath] });
    expect(disk?.children.map(({ serial }) => serial)).toEqual(['', 'S1']);
    expect(disk?.mountpoints).toEqual([]);
  });
});

it('refuses a live image whose lsblk lacks a column', async () => {
  const host = fakeHost()
    .on(['lsblk', rest])
    .fails(1, 'lsblk: unknown column: MOUNTPOINTS,FSTYPE\n');
  await expect(listBlockDevices(host, new AbortController().signal)).rejects.toMatchObject({
    code: 'disk.not-supported',
    kind: 'input',
    message: 'the live image is too old: lsblk: unknown column: MOUNTPOINTS,FSTYPE',
    cause: { code: 'command.failed' },
  });
});

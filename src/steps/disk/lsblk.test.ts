import { describe, expect, it } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { listBlockDevices, parseLsblk } from './block-devices.ts';

const parse = (...blockdevices: object[]) => parseLsblk(JSON.stringify({ blockdevices }));

describe('parseLsblk', () => {
  it('reads a device with its partitions', () => {
    const [disk] = parse({
      name: 'sda',
      kname: 'sda',
      'maj:min': '8:0',
      type: 'disk',
      size: 100_000_000_000,
      'log-sec': 512,
      ro: false,
      mountpoints: ['/var', null, '/mnt'],
      serial: ' S1 ',
      children: [{ name: 'sda2', type: 'part', parttype: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B' }],
    });
    expect(disk).toMatchObject({
      majorMinor: '8:0',
      sizeBytes: 100_000_000_000,
      sectorBytes: 512,
      mountpoints: ['/var', '/mnt'],
      serial: 'S1',
      children: [
        {
          path: '/dev/sda2',
          kname: 'sda2',
          partType: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
          children: [],
        },
      ],
    });
  });

  it.each([
    [true, true],
    [false, false],
    [null, false],
    [undefined, false],
  ])('reads a read-only flag written as %j', (ro, isReadOnly) => {
    expect(parse({ name: 'sda', ro })[0]).toMatchObject({ isReadOnly });
  });

  it('names a mapped device as /dev/mapper does', () => {
    expect(parse({ name: 'vg-root', kname: 'dm-0' })[0]).toMatchObject({
      path: '/dev/mapper/vg-root',
    });
  });

  it.each([[''], ['lsblk: cannot'], ['{}'], ['{"blockdevices":[{"size":1}]}']])(
    'refuses what is no list of devices: %j',
    (stdout) => {
      expect(() => parseLsblk(stdout)).toThrow(
        expect.objectContaining({ code: 'disk.unreadable', kind: 'host' }),
      );
    },
  );
});

it('refuses a live image whose lsblk does not know the columns', async () => {
  const host = fakeHost().on(['lsblk', rest]).fails(1, 'lsblk: unknown column: MOUNTPOINTS,FSTYPE');
  await expect(listBlockDevices(host, new AbortController().signal)).rejects.toMatchObject({
    code: 'disk.not-supported',
    kind: 'input',
  });
});

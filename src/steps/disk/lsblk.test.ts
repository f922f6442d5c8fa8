import { describe, expect, it } from 'vitest';
import { parseLsblk, withMounts } from './block-devices.ts';

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
      mountpoint: null,
      serial: ' S1 ',
      children: [{ name: 'sda2', type: 'part', parttype: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B' }],
    });
    expect(disk).toMatchObject({
      majorMinor: '8:0',
      sizeBytes: 100_000_000_000,
      sectorBytes: 512,
      mountpoints: [],
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
    ['1', true],
    ['0', false],
    [1, true],
    [0, false],
    [null, false],
    [undefined, false],
  ])('reads a read-only flag written as %j', (ro, isReadOnly) => {
    expect(parse({ name: 'sda', ro })[0]).toMatchObject({ isReadOnly });
  });

  it('reads numbers that are written as text', () => {
    expect(parse({ name: 'sda', size: '4096', 'log-sec': '4096' })[0]).toMatchObject({
      sizeBytes: 4096,
      sectorBytes: 4096,
    });
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

describe('withMounts', () => {
  it('adds every mount point of a device, whichever of them lsblk printed', () => {
    const roots = parse({
      name: 'sda',
      'maj:min': '8:0',
      children: [
        { name: 'sda1', 'maj:min': '8:1', mountpoint: '[SWAP]' },
        { name: 'sda4', 'maj:min': '8:4', mountpoint: '/var' },
      ],
    });
    // From proc_pid_mountinfo(5), but for the numbers and the places.
    const listed = [
      '36 35 8:4 / /sysroot rw,noatime master:1 - xfs /dev/sda4 rw,seclabel',
      '37 35 8:4 /ostree/deploy/rhcos/var /var rw,noatime shared:3 - xfs /dev/sda4 rw,seclabel',
      '38 35 8:40 / /run/media/no\\040such rw - xfs /dev/sdc8 rw',
      '39 35 8:4 / /mnt/with\\040blank rw - xfs /dev/sda4 rw',
      '',
    ].join('\n');
    const [disk] = withMounts(roots, listed);
    expect(disk?.mountpoints).toEqual([]);
    expect(disk?.children.map(({ mountpoints }) => mountpoints)).toEqual([
      ['[SWAP]'],
      ['/var', '/sysroot', '/mnt/with blank'],
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { parseLsblk } from './lsblk.ts';

const parse = (...blockdevices: object[]) => parseLsblk(JSON.stringify({ blockdevices }));

describe('parseLsblk', () => {
  it('reads a device with its partitions', () => {
    const [disk] = parse({
      name: 'sda',
      kname: 'sda',
      path: '/dev/sda',
      'maj:min': '8:0',
      type: 'disk',
      size: 100_000_000_000,
      'log-sec': 512,
      ro: false,
      mountpoints: [null],
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

  it('keeps every mount point and swap', () => {
    const [disk] = parse({ name: 'sda', mountpoints: ['/a', null, '[SWAP]'] });
    expect(disk?.mountpoints).toEqual(['/a', '[SWAP]']);
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

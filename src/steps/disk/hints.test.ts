import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { blockDevice } from '../../../test/support/disk-samples.ts';
import type { DiskHints } from '../../settings/disk-hints.ts';
import type { AgentError } from '../../model/failure.ts';
import { type BlockDevice, parseLsblk } from './block-devices.ts';
import { availableDisks, chooseByHints, describeDisk, hintsFor, isWhole } from './hints.ts';

const recorded = (name: string): readonly BlockDevice[] =>
  parseLsblk(
    readFileSync(new URL(`../../../mocks/logs/lsblk/${name}.json`, import.meta.url), 'utf8'),
  );
const none = new Map<string, string>();

/** The kernel name of the chosen disk, or the failure. */
function chosen(roots: readonly BlockDevice[], hints: DiskHints, paths = none): string {
  try {
    return chooseByHints(roots, hints, paths).kname;
  } catch (error) {
    const { code, message } = error as AgentError;
    return `${code}: ${message}`;
  }
}

it.each([
  [0, '/dev/sda (not formatted, M)'],
  [99_900_000_000, '/dev/sda (99.9 GB, M)'],
  [100_000_000_000, '/dev/sda (100 GB, M)'],
])('describes a disk of %i bytes as %s', (sizeBytes, described) => {
  expect(describeDisk(blockDevice('sda', { sizeBytes, model: 'M' }))).toBe(described);
});

it.each(['disk', 'loop', 'mpath', 'md', 'raid1', 'raid10', 'linear'])(
  'a device of the type %s can have the operating system',
  (type) => {
    expect(isWhole(blockDevice('x', { type }))).toBe(true);
  },
);

it.each(['part', 'lvm', 'crypt', 'rom'])('a device of the type %s cannot', (type) => {
  expect(isWhole(blockDevice('x', { type }))).toBe(false);
});

describe('the disk chosen by hints', () => {
  it.each<readonly [hints: DiskHints, kname: string]>([
    [{ serialNumber: '5002538E40B1C2D3' }, 'sdb'],
    [{ model: 'h730' }, 'sda'],
    [{ vendor: 'dell' }, 'sda'],
    [{ hctl: '0:0:1:0' }, 'sdb'],
    [{ rotational: false }, 'sdb'],
    [{ rotational: true }, 'sda'],
    [{ minSizeGigabytes: 448 }, 'sda'],
    [{ wwn: '0x61866da068d6a50025a1f3c70b2e4d19' }, 'sda'],
    [{ wwn: '0x61866da068d6a500' }, 'sda'],
    [{ wwnWithExtension: '61866DA068D6A50025A1F3C70B2E4D19' }, 'sda'],
    [{ wwnVendorExtension: '0x25a1f3c70b2e4d19' }, 'sda'],
    [{ wwn: '5002538e40b1c2d3', rotational: false, minSizeGigabytes: 447 }, 'sdb'],
  ])('matches %j', (hints, kname) => {
    expect(chosen(recorded('perc'), hints)).toBe(kname);
  });

  it('is not a memory device, a floppy or an eMMC boot partition unless named by path', () => {
    const names = ['fd0', 'mmcblk0', 'mmcblk0boot0', 'mmcblk10boot1', 'ram0', 'zram0'];
    const roots = names.map((name) => blockDevice(name, { isRotational: false }));
    expect(chosen(roots, { rotational: false })).toBe('mmcblk0');
    expect(availableDisks(roots).map(({ kname }) => kname)).toEqual(['mmcblk0']);
    expect(chosen(roots, {}, new Map([['/dev/x', '/dev/zram0']]))).toBe('zram0');
  });

  it.each<readonly [hints: DiskHints]>([
    [{ model: 'MZ7LH480HAHQ0D3', rotational: true }],
    [{ serialNumber: '5002538e40b1c2d' }],
    [{ vendor: 'iDRAC' }],
    [{ minSizeGigabytes: 560 }],
    [{ wwnWithExtension: '0x61866da068d6a500' }],
    [{ wwnVendorExtension: '0x61866da068d6a500' }],
    // The second disk has no extension.
    [{ wwnVendorExtension: '0x' }],
  ])('is missing for %j', (hints) => {
    expect(chosen(recorded('perc'), hints)).toMatch(/^disk\.not-one: no of 2 disks fits /);
  });

  it('fails with the reasons that exclude each disk, the closest match first', () => {
    expect(
      chosen(recorded('perc'), { vendor: 'ATA', rotational: false, minSizeGigabytes: 500 }),
    ).toBe(
      'disk.not-one: no of 2 disks fits vendor=ATA,minSizeGigabytes=500,rotational=false: ' +
        '/dev/sdb (480 GB, MZ7LH480HAHQ0D3, 5002538e40b1c2d3): size is 447.1 GiB; ' +
        '/dev/sda (600 GB, PERC H730 Mini, 61866da068d6a50025a1f3c70b2e4d19): vendor is DELL, rotational is true',
    );
  });

  it('is ambiguous when several disks match', () => {
    expect(chosen(recorded('perc'), { minSizeGigabytes: 400 })).toMatch(
      /^disk\.not-one: 2 of 2 disks fit .*\/dev\/sda .*: fits; .*\/dev\/sdb .*: fits$/,
    );
  });

  it('is missing when a disk lacks the hinted attribute', () => {
    const vda = blockDevice('vda', { vendor: '0x1af4' });
    expect(chosen([vda], { serialNumber: 'S1' })).toMatch(/serialNumber is not known$/);
    expect(chosen([vda], { rotational: false })).toMatch(/rotational is not known$/);
    const dasda = blockDevice('dasda', { sizeBytes: 0 });
    expect(chosen([dasda], { minSizeGigabytes: 1 })).toMatch(/size is not known$/);
  });

  it('is the multipath device for the address of any of its paths', () => {
    const path = (kname: string, hctl: string): BlockDevice =>
      blockDevice(kname, { hctl, serial: 'S1' }, [
        blockDevice('dm-4', { name: 'mpatha', type: 'mpath', hctl, serial: 'S1' }),
      ]);
    const roots = [path('sda', '1:0:0:1'), path('sdb', '2:0:0:1'), blockDevice('sdc')];
    for (const hctl of ['1:0:0:1', '2:0:0:1'])
      expect(chosen(roots, { hctl, serialNumber: 'S1' })).toBe('dm-4');
    expect(chosen(roots, { hctl: '3:0:0:1', serialNumber: 'S1' })).toContain('hctl is 1:0:0:1;');
    expect(chosen(recorded('multipath-friendly'), { minSizeGigabytes: 100_000 })).not.toMatch(
      /\/dev\/sd/,
    );
  });

  it('is missing when a path leads to none, and names the disks', () => {
    const paths = new Map([['/dev/disk/by-id/x', '/dev/sdz']]);
    const roots = [blockDevice('sda'), blockDevice('sdb')];
    expect(chosen(roots, {}, paths)).toMatch(
      /^disk\.not-one: no of 2 disks fits \/dev\/disk\/by-id\/x: \/dev\/sda .*: not \/dev\/disk\/by-id\/x; /,
    );
    const error = expect.objectContaining({
      context: { hints: '/dev/disk/by-id/x with vendor=V', disks: '/dev/sda /dev/sdb' },
    }) as Error;
    expect(() => chooseByHints(roots, { vendor: 'V' }, paths)).toThrow(error);
  });

  it('is an array or a loop device only when named by path', () => {
    const md = blockDevice('md127', { type: 'raid1' });
    const roots = [blockDevice('sda', {}, [md]), blockDevice('loop1', { type: 'loop' })];
    expect(chosen(roots, { minSizeGigabytes: 1 })).toBe('sda');
    expect(chosen(roots, {}, new Map([['/dev/md/os', '/dev/md127']]))).toBe('md127');
    expect(chosen(roots, {}, new Map([['/dev/loop1', '/dev/loop1']]))).toBe('loop1');
  });
});

describe('the hints for a disk', () => {
  it.each<readonly [name: string, hints: readonly DiskHints[]]>([
    [
      'perc',
      [{ serialNumber: '61866da068d6a50025a1f3c70b2e4d19' }, { serialNumber: '5002538e40b1c2d3' }],
    ],
  ])('identify each disk: %s', (name, hints) => {
    const roots = recorded(name);
    expect(availableDisks(roots).map(hintsFor(roots))).toEqual(hints);
  });

  it.each<readonly [string, DiskHints | undefined, readonly Partial<BlockDevice>[]]>([
    ['a serial number in another case', undefined, [{ serial: 's1' }, { serial: 'S1' }]],
    ['a WWN in another notation', undefined, [{ wwn: 'naa.50AA' }, { wwn: '0x50aa' }]],
    [
      'a WWN that is a prefix of another',
      undefined,
      [{ wwn: '0x500a00000000000b' }, { wwn: `0x500a00000000000b${'1'.repeat(16)}` }],
    ],
    [
      'a serial number of two disks',
      { wwn: '1' },
      [
        { serial: 'S', wwn: '1' },
        { serial: 's', wwn: '2' },
      ],
    ],
    [
      'a serial number and a WWN that other disks have',
      { serialNumber: 'S', wwn: '1' },
      [{ serial: 'S', wwn: '1' }, { serial: 's', wwn: '2' }, { wwn: '1' }],
    ],
    [
      'a serial number without a WWN that another disk has too',
      { hctl: '0:0:0:0' },
      [
        { serial: 'S', hctl: '0:0:0:0' },
        { serial: 'S', hctl: '0:0:1:0' },
      ],
    ],
    [
      'a WWN without a serial number that another disk has too',
      { hctl: '0:0:0:0' },
      [
        { wwn: '1', hctl: '0:0:0:0' },
        { wwn: '1', hctl: '0:0:1:0' },
      ],
    ],
    ['an address that two disks have', undefined, [{ hctl: '0:0:0:0' }, { hctl: '0:0:0:0' }]],
  ])('do not rely on %s', (_, hints, disks) => {
    const roots = disks.map((disk, at) => blockDevice(`sd${at}`, disk));
    expect(roots.map(hintsFor(roots))[0]).toEqual(hints);
  });

  it('are found for 1000 LUNs with 4 paths in linear time', () => {
    let reads = 0;
    const counted = (lun: BlockDevice): BlockDevice => ({
      ...lun,
      get serial() {
        reads += 1;
        return lun.serial;
      },
    });
    const luns = Array.from({ length: 1000 }, (_, at) =>
      counted(blockDevice(`dm-${at}`, { name: `mpath${at}`, type: 'mpath', serial: `S${at}` })),
    );
    const roots = Array.from({ length: 4000 }, (_, at) => ({
      ...blockDevice(`sd${at}`),
      children: luns.slice(at % 1000, (at % 1000) + 1),
    }));
    const hints = availableDisks(roots).map(hintsFor(roots));
    expect(new Set(hints.map((one) => one?.serialNumber)).size).toBe(1000);
    // Comparing each disk with every other would be tens of millions of reads.
    expect(reads / roots.length).toBeLessThan(30);
  });

  it('are undefined for a disk without identifiers', () => {
    const disks = [blockDevice('vda'), blockDevice('vdb')];
    expect(disks.map(hintsFor(disks))).toEqual([undefined, undefined]);
  });
});

import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { type BlockDevice } from './block-devices.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import {
  byIdNames,
  execOnTarget,
  isOtherDisk,
  linksOf,
  nameDifference,
  readTarget,
  rivalsOf,
  targetAmong,
} from './target.ts';

const { signal } = new AbortController();
const link = '/dev/disk/by-id/ata-SSD_S1';
const disk = blockDevice('sda', { serial: 'S1', wwn: '0x5000c500a0b1c2d3' });
const target: TargetDisk = { ...targetOf(disk), byId: [link] };

const outcomeOf = (roots: readonly BlockDevice[], of: TargetDisk, links = new Map()): string => {
  try {
    return targetAmong(roots, of, links).name;
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`;
  }
};

describe('the install disk among the devices of the host', () => {
  it.each<[string, Partial<BlockDevice>, Partial<TargetDisk>, string]>([
    ['the same without changes', {}, {}, 'sda'],
    ['the same while udev reads it again', { serial: '', wwn: '' }, {}, 'sda'],
    [
      'the same when chosen by hints',
      { hctl: '0:0:1:0' },
      { hints: { hctl: '0:0:1:0', model: 'X' } },
      'sda',
    ],
    [
      'changed at another address than that of the hints',
      { serial: '', wwn: '', hctl: '0:0:2:0' },
      { hints: { hctl: '0:0:1:0' } },
      'disk.changed: /dev/sda is another disk now: its hctl is 0:0:2:0',
    ],
    [
      'the same while udev reads the properties of its hints again',
      { hctl: '' },
      { hints: { hctl: '0:0:1:0' } },
      'sda',
    ],
    ['the same while its size is unknown', { sizeBytes: 0 }, {}, 'sda'],
    ['the same when its size was unknown', {}, { sizeBytes: 0 }, 'sda'],
    [
      'the same with other blanks in its serial number',
      { serial: ' A  B ' },
      { serial: 'A B' },
      'sda',
    ],
    [
      'the same as a virtual disk without identifiers',
      { serial: '', wwn: '' },
      { serial: '', wwn: '' },
      'sda',
    ],
    ['the same with a journal of an earlier version', {}, { serial: '', wwn: '', byId: [] }, 'sda'],
    [
      'changed with another serial number',
      { serial: 'S2' },
      {},
      'disk.changed: /dev/sda is another disk now: its serial number is S2',
    ],
    [
      'changed with another WWN only',
      { serial: '', wwn: '0x5' },
      {},
      'disk.changed: /dev/sda is another disk now: its WWN is 0x5',
    ],
    [
      'changed with another size only',
      { serial: '', wwn: '', sizeBytes: 1 },
      { sizeBytes: 2 },
      'disk.changed: /dev/sda is another disk now: it has 1 bytes, not 2',
    ],
    [
      'changed with its own identifiers and another size',
      { sizeBytes: 1 },
      { sizeBytes: 2 },
      'disk.changed: /dev/sda is another disk now: it has 1 bytes, not 2',
    ],
    [
      'changed by its name in a journal of an earlier version',
      { serial: 'S2' },
      { serial: '', wwn: '', byId: [], asked: link },
      'disk.changed: /dev/sda is another disk now: its serial number is S2',
    ],
  ])('is %s', (...[, differs, of, expected]) => {
    expect(outcomeOf([{ ...disk, ...differs }], { ...target, ...of })).toBe(expected);
  });

  it('is the same DASD with another size after formatting', () => {
    const dasd = blockDevice('dasda', { sizeBytes: 7_385_333_760 });
    const formatted = { ...dasd, sizeBytes: 7_385_300_000 };
    expect(outcomeOf([formatted], targetOf(dasd))).toBe('dasda');
  });

  it('is changed when its by-id name leads to another disk', () => {
    const bare = blockDevice('sda');
    const other = blockDevice('sdb', { sizeBytes: 1 });
    const links = new Map([[link, '/dev/sdb']]);
    expect(outcomeOf([bare, other], { ...targetOf(bare), byId: [link] }, links)).toBe(
      `disk.changed: /dev/sda is another disk now: ${link} is /dev/sdb`,
    );
  });

  it('is the same multipath device when its by-id name leads to one of its paths', () => {
    const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' });
    const roots = [blockDevice('sda', {}, [multipath]), blockDevice('sdb', {}, [multipath])];
    const links = new Map([[link, '/dev/sdb']]);
    expect(outcomeOf(roots, { ...targetOf(multipath), byId: [link] }, links)).toBe('mpatha');
  });

  it.each([
    ['another namespace of one NVMe drive', 'nvme0n1', 'nvme0n2', 'eui.00', 'eui.01'],
    ['two paths of one LUN', 'sda', 'sdb', '0x60', '0x60'],
  ])(
    'is the same when its by-id name leads to a similar disk: %s',
    (...[, own, other, wwn, otherWwn]) => {
      const device = blockDevice(own, { serial: 'S1', wwn });
      const roots = [device, blockDevice(other, { serial: 'S1', wwn: otherWwn })];
      const links = new Map([[link, `/dev/${other}`]]);
      const found = { ...targetOf(device), serial: 'S1', wwn };
      expect(outcomeOf(roots, found, links)).toBe(own);
      expect(outcomeOf(roots, { ...found, wwn: '' }, links)).toMatch(/^disk\.changed: /);
    },
  );

  it.each<[string, Partial<BlockDevice>, Partial<BlockDevice>, boolean]>([
    [
      'one WWN with two serial numbers',
      { serial: 'S1', wwn: '0x50' },
      { serial: 'S2', wwn: '0x50' },
      true,
    ],
    [
      'a WWN of zeros with two serial numbers',
      { serial: 'S1', wwn: '0x00' },
      { serial: 'S2', wwn: '0x00' },
      true,
    ],
    [
      'a WWN of zeros with one serial number',
      { serial: 'S1', wwn: 'eui.00' },
      { serial: 'S1', wwn: 'eui.00' },
      false,
    ],
    ['one WWN without serial numbers', { wwn: '0x50' }, { wwn: '0x50' }, false],
    ['one WWN with one serial number', { serial: 'S1', wwn: '0x50' }, { wwn: '0x50' }, false],
  ])('is identified by its serial number when a name has moved: %s', (...[, is, isToo, isSame]) => {
    const device = blockDevice('sda', is);
    const roots = [device, blockDevice('sdb', isToo)];
    for (const name of ['/dev/disk/by-id/wwn-0x50', '/dev/disk/by-path/pci-0000:00:1f.2-ata-1']) {
      const links = new Map([[name, '/dev/sdb']]);
      const result = outcomeOf(roots, { ...targetOf(device), byId: [name] }, links);
      expect(result.startsWith('disk.changed: ')).toBe(!isSame);
    }
  });

  it('does not match another disk by a WWN of zeros', () => {
    const zeros = blockDevice('sda', { wwn: '0x0000000000000000' });
    expect(outcomeOf([blockDevice('sdb', { wwn: zeros.wwn })], targetOf(zeros))).toMatch(
      /^disk\.missing: /,
    );
  });

  it('is refused under another device name, which is reported', () => {
    const moved = { ...disk, name: 'sdc', kname: 'sdc', path: '/dev/sdc', majorMinor: '8:32' };
    expect(outcomeOf([moved], target)).toBe('disk.changed: the install disk is /dev/sdc now');
    expect(outcomeOf([{ ...disk, serial: 'S2' }, moved], target)).toBe(
      'disk.changed: /dev/sda is another disk now: its serial number is S2; the install disk is /dev/sdc now',
    );
  });

  it.each<[string, string, Partial<BlockDevice>, Partial<TargetDisk>]>([
    ['with its serial number alone', 'disk.changed', { wwn: '' }, { wwn: '' }],
    ['with its WWN alone', 'disk.changed', { serial: '' }, { serial: '' }],
    ['with another WWN', 'disk.missing', { wwn: '0x50' }, {}],
    ['with another serial number', 'disk.missing', { serial: 'S2' }, {}],
    ['of another type', 'disk.missing', { type: 'mpath' }, {}],
    ['without identifiers', 'disk.missing', { serial: '', wwn: '' }, { serial: '', wwn: '' }],
  ])('under another device name %s is %s', (...[, code, differs, of]) => {
    const other = blockDevice('sdc', { serial: disk.serial, wwn: disk.wwn, ...differs });
    expect(outcomeOf([other], { ...target, ...of }).split(':')[0]).toBe(code);
  });

  it.each<[string, Partial<BlockDevice>]>([
    ['has its name and another number', { majorMinor: '8:99' }],
    ['has its number and another name', { kname: 'sdb' }],
  ])('is missing when a disk without identifiers %s', (_, differs) => {
    const bare = blockDevice('sda');
    expect(outcomeOf([{ ...bare, ...differs }], targetOf(bare))).toMatch(/^disk\.missing: /);
  });

  it('is missing when no device has its name', () => {
    expect(() => targetAmong([blockDevice('sdb')], target)).toThrow(
      expect.objectContaining({
        code: 'disk.missing',
        hint: expect.stringContaining('cabling') as string,
        context: { disk: '/dev/sda' },
      }),
    );
  });

  it('names in a failure the disk, its identifiers, and where it is now', () => {
    const moved = blockDevice('sdc', { serial: disk.serial, wwn: disk.wwn });
    const context = { disk: '/dev/sda', serial: disk.serial, wwn: disk.wwn };
    expect(() => targetAmong([swapped], target)).toThrow(expect.objectContaining({ context }));
    expect(() => targetAmong([swapped, moved], target)).toThrow(
      expect.objectContaining({ context: { ...context, now: '/dev/sdc' } }),
    );
  });

  it('is the same when one of its names leads to no disk', () => {
    expect(outcomeOf([disk], target, new Map([[link, '/dev/sdz']]))).toBe('sda');
  });

  it.each<[string, Partial<BlockDevice>, Partial<TargetDisk>, Partial<BlockDevice>]>([
    ['its serial number is read again', { serial: '' }, { serial: 'S1' }, { serial: 'S2' }],
    ['its serial number was unknown', { serial: 'S1' }, { serial: '' }, { serial: 'S2' }],
    [
      'its WWN is read again',
      { serial: 'S1', wwn: '' },
      { serial: 'S1', wwn: '0x60' },
      { serial: 'S1', wwn: '0x60' },
    ],
  ])('is changed when a name leads to another disk and %s', (_, is, was, other) => {
    const device = blockDevice('sda', is);
    const roots = [device, blockDevice('sdb', other)];
    const found = { ...targetOf(device), ...was, byId: [link] };
    expect(outcomeOf(roots, found, new Map([[link, '/dev/sdb']]))).toMatch(/^disk\.changed: /);
  });
});

describe('nameDifference', () => {
  it.each<[string, Partial<BlockDevice>]>([
    ['wwn-0x5000c500a0b1c2d3', { wwn: '0x5000C500A0B1C2D3' }],
    ['wwn-0x5000c500a0b1c2d3', { wwn: '' }],
    ['wwn-0x5000c500a0b1c2d3aaaa', { wwn: '0x5000c500a0b1c2d3' }],
    ['wwn-0x5000c500a0b1c2d3', { wwn: '0x5000c500a0b1c2d3aaaa' }],
    ['wwn-0x5000c500a0b1c2d3-part1', { wwn: '0x50' }],
    ['usb-SSD_wwn-0x50', { wwn: '0x60' }],
    ['ata-SSD_S1', { serial: ' S1 ' }],
    ['ata-SSD_S1', { serial: '' }],
    ['usb-ata-SSD_S1', { serial: 'S2' }],
  ])('finds none between %s and %j', (name, differs) => {
    const device = blockDevice('sda', differs);
    expect(nameDifference(`/dev/disk/by-id/${name}`, device)).toBeUndefined();
  });

  it.each<[string, Partial<BlockDevice>, string]>([
    ['wwn-0x5000c500a0b1c2d3', { wwn: '0xb1c2d3' }, 'its WWN is 0xb1c2d3'],
    ['scsi-35000c500a0b1c2d3', { wwn: '0x60' }, 'its WWN is 0x60'],
    ['nvme-eui.0025385a', { wwn: 'eui.0025385b' }, 'its WWN is eui.0025385b'],
    ['virtio-target', { serial: 'other' }, 'its serial number is other'],
  ])('finds one between %s and %j', (name, differs, difference) => {
    const device = blockDevice('sda', differs);
    expect(nameDifference(`/dev/disk/by-id/${name}`, device)).toBe(difference);
  });
});

describe('rivalsOf', () => {
  it.each<[string, Partial<BlockDevice>, Partial<BlockDevice>, boolean]>([
    ['ata-M_SERIAL', { serial: 'SERIAL' }, { serial: 'SERIAL' }, true],
    ['scsi-0M_SERIAL', { serial: 'SERIAL' }, { serial: 'SERIAL' }, true],
    ['scsi-2M_SERIAL', { serial: 'SERIAL' }, { serial: 'SERIAL' }, false],
    ['ieee1394-ata_SERIAL', { serial: 'SERIAL' }, { serial: 'SERIAL' }, false],
    ['ata-M_SERIAL', { serial: 'SERIAL' }, { serial: 'S' }, false],
    ['ata-M_SERIAL', {}, { serial: 'SERIAL' }, true],
    ['ata-M_S1', {}, { serial: 'S1' }, false],
    ['ata-M', {}, {}, false],
    ['ata-M_S1', { serial: 'S1', model: 'M' }, { serial: 'S1' }, true],
    ['ata-M_S1', { serial: 'S1', model: 'M' }, { serial: 'S1', model: 'N' }, false],
    ['ata-M_S1', { serial: 'S1', model: 'L' }, { serial: 'S1', model: 'N' }, true],
  ])('by the name %s of %j has the rival %j: %j', (name, is, other, isRival) => {
    const roots = [blockDevice('sda', is), blockDevice('sdb', other)];
    const rivals = rivalsOf(roots, `/dev/disk/by-id/${name}`, roots[0] ?? expect.fail());
    expect(rivals.map(({ kname }) => kname)).toEqual(isRival ? ['sdb'] : []);
  });

  it.each([
    ['nvme-M_2401_12', '12', '2', false],
    ['nvme-M_2401_12', '12', '12', true],
    ['nvme-M_2401', '1', '2', true],
    ['nvme-M_2401_1_x', '1', '2', true],
  ])('by the name %s of the namespace %s has the rival %s: %j', (name, own, other, isRival) => {
    const namespace = (kname: string, namespaceId: string): BlockDevice =>
      blockDevice(kname, { serial: '2401', namespaceId });
    const roots = [namespace('nvme0n1', own), namespace('nvme1n1', other)];
    const rivals = rivalsOf(roots, `/dev/disk/by-id/${name}`, roots[0] ?? expect.fail());
    expect(rivals).toHaveLength(isRival ? 1 : 0);
  });
});

it.each([
  ['disk.changed', true],
  ['disk.missing', true],
  ['disk.busy', false],
] as const)('isOtherDisk of %s is %s', (code, isOther) => {
  expect(isOtherDisk(diskFailure(code, ''))).toBe(isOther);
});

it('reads a TargetDisk fact from a journal of an earlier version', () => {
  const { serial: _serial, wwn: _wwn, byId: _byId, ...before } = target;
  expect(TargetDisk.schema.parse(before)).toMatchObject({ serial: '', wwn: '', byId: [] });
});

const swapped = { ...disk, serial: 'S2' };
const hostWith = (...roots: readonly BlockDevice[]) =>
  fakeHost()
    .withLink(link, '/dev/sda')
    .withLink('/dev/disk/by-id/lvm-pv-uuid-x', '/dev/sda')
    .withLink('/dev/disk/by-id/ccw-0X1234', '/dev/sda')
    .withLink('/dev/disk/by-id/ata-SSD_S2', '/dev/sdb')
    .on(['wipefs', rest])
    .succeeds()
    .on(['lsblk', rest])
    .prints(lsblkOutput(...roots));

it('byIdNames returns the by-id names of the disk, not those of its content', async () => {
  const like = '/dev/disk/by-id/usb-SSD_ccw-1';
  const host = hostWith().withLink(like, '/dev/sda');
  expect(await byIdNames(host, '/dev/sda', signal)).toEqual([link, like]);
});

it('linksOf leaves out names that lead nowhere', async () => {
  const links = await linksOf(hostWith(), { ...target, asked: '/dev/disk/by-id/gone' }, signal);
  expect([...links]).toEqual([[link, '/dev/sda']]);
});

it('readTarget resolves the by-id names again each time', async () => {
  const host = hostWith(disk, blockDevice('sdb', {}, [partition('sdb1')]));
  expect((await readTarget(host, target, signal)).name).toBe('sda');
  host.withLink(link, '/dev/sdb');
  await expect(readTarget(host, target, signal)).rejects.toMatchObject({ code: 'disk.changed' });
});

it('readTarget resolves the configured name again in any folder', async () => {
  const asked = '/dev/disk/by-path/pci-0000:00:1f.2-ata-1';
  const host = hostWith(blockDevice('sda'), blockDevice('sdb')).withLink(asked, '/dev/sda');
  const plain = { ...targetOf(blockDevice('sda')), asked };
  expect((await readTarget(host, plain, signal)).name).toBe('sda');
  host.withLink(asked, '/dev/sdb');
  await expect(readTarget(host, plain, signal)).rejects.toMatchObject({ code: 'disk.changed' });
});

it('execOnTarget runs no command on a replaced disk', async () => {
  const wipe = ['wipefs', '/dev/sda'];
  const options = { signal, limit: 1 };
  const same = hostWith(disk);
  await execOnTarget({ host: same, target }, wipe, options);
  expect(same.ran.at(-1)).toEqual(wipe);
  const other = hostWith(swapped);
  await expect(execOnTarget({ host: other, target }, wipe, options)).rejects.toMatchObject({
    code: 'disk.changed',
    isFinal: true,
  });
  expect(other.ran).not.toContainEqual(wipe);
});

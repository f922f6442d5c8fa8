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
import { byIdNames, execOnTarget, readTarget, targetAmong } from './target.ts';

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

  it('is missing when no device has its name', () => {
    expect(outcomeOf([blockDevice('sdb')], target)).toMatch(/^disk\.missing: /);
  });
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
    .withLink('/dev/disk/by-id/ata-SSD_S2', '/dev/sdb')
    .on(['wipefs', rest])
    .succeeds()
    .on(['lsblk', rest])
    .prints(lsblkOutput(...roots));

it('byIdNames returns the by-id names of the disk, not those of its content', async () => {
  expect(await byIdNames(hostWith(), '/dev/sda', signal)).toEqual([link]);
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

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
    ['as it was', {}, {}, 'sda'],
    ['while udev reads it again', { serial: '', wwn: '' }, {}, 'sda'],
    ['chosen by hints', { hctl: '0:0:1:0' }, { hints: { hctl: '0:0:1:0', model: 'X' } }, 'sda'],
    [
      'at another address than the hints say',
      { serial: '', wwn: '', hctl: '0:0:2:0' },
      { hints: { hctl: '0:0:1:0' } },
      'disk.changed: /dev/sda is another disk now: its hctl is 0:0:2:0',
    ],
    ['a virtual disk', { serial: '', wwn: '' }, { serial: '', wwn: '' }, 'sda'],
    ['of a journal of before', {}, { serial: '', wwn: '', byId: [] }, 'sda'],
    [
      'with another serial number',
      { serial: 'S2' },
      {},
      'disk.changed: /dev/sda is another disk now: its serial number is S2',
    ],
    [
      'with another WWN alone',
      { serial: '', wwn: '0x5' },
      {},
      'disk.changed: /dev/sda is another disk now: its WWN is 0x5',
    ],
    [
      'of another size alone',
      { serial: '', wwn: '', sizeBytes: 1 },
      { sizeBytes: 2 },
      'disk.changed: /dev/sda is another disk now: it has 1 bytes, not 2',
    ],
    [
      'another than the name says, in a journal of before',
      { serial: 'S2' },
      { serial: '', wwn: '', byId: [], asked: link },
      'disk.changed: /dev/sda is another disk now: its serial number is S2',
    ],
  ])('is %s', (...[, differs, of, expected]) => {
    expect(outcomeOf([{ ...disk, ...differs }], { ...target, ...of })).toBe(expected);
  });

  it('is the same DASD when the writer has formatted it with other blocks', () => {
    const dasd = blockDevice('dasda', { sizeBytes: 7_385_333_760 });
    const formatted = { ...dasd, sizeBytes: 7_385_300_000 };
    expect(outcomeOf([formatted], targetOf(dasd))).toBe('dasda');
  });

  it('is another when its name in by-id leads elsewhere', () => {
    const bare = blockDevice('sda');
    const other = blockDevice('sdb', { sizeBytes: 1 });
    const links = new Map([[link, '/dev/sdb']]);
    expect(outcomeOf([bare, other], { ...targetOf(bare), byId: [link] }, links)).toBe(
      `disk.changed: /dev/sda is another disk now: ${link} is /dev/sdb`,
    );
  });

  it('is the same when the name of a multipath device leads to one of its paths', () => {
    const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' });
    const roots = [blockDevice('sda', {}, [multipath]), blockDevice('sdb', {}, [multipath])];
    const links = new Map([[link, '/dev/sdb']]);
    expect(outcomeOf(roots, { ...targetOf(multipath), byId: [link] }, links)).toBe('mpatha');
  });

  it.each([
    ['a namespace of one NVMe drive', 'nvme0n1', 'nvme0n2', 'eui.00', 'eui.01'],
    ['a LUN by two paths', 'sda', 'sdb', '0x60', '0x60'],
  ])('is the same when another disk has its name too: %s', (...[, own, other, wwn, otherWwn]) => {
    const device = blockDevice(own, { serial: 'S1', wwn });
    const roots = [device, blockDevice(other, { serial: 'S1', wwn: otherWwn })];
    const links = new Map([[link, `/dev/${other}`]]);
    const found = { ...targetOf(device), serial: 'S1', wwn };
    expect(outcomeOf(roots, found, links)).toBe(own);
    expect(outcomeOf(roots, { ...found, wwn: '' }, links)).toMatch(/^disk\.changed: /);
  });

  it.each<[string, Partial<BlockDevice>, Partial<BlockDevice>, boolean]>([
    ['a WWN of two disks', { serial: 'S1', wwn: '0x50' }, { serial: 'S2', wwn: '0x50' }, true],
    ['a WWN of zeros', { serial: 'S1', wwn: '0x00' }, { serial: 'S2', wwn: '0x00' }, true],
    [
      'zeros and one serial number',
      { serial: 'S1', wwn: 'eui.00' },
      { serial: 'S1', wwn: 'eui.00' },
      false,
    ],
    ['a WWN, no serial number', { wwn: '0x50' }, { wwn: '0x50' }, false],
    ['a WWN, and the other is silent', { serial: 'S1', wwn: '0x50' }, { wwn: '0x50' }, false],
  ])('is held to its serial number when a name has moved: %s', (...[, is, isToo, isSame]) => {
    const device = blockDevice('sda', is);
    const roots = [device, blockDevice('sdb', isToo)];
    for (const name of ['/dev/disk/by-id/wwn-0x50', '/dev/disk/by-path/pci-0000:00:1f.2-ata-1']) {
      const links = new Map([[name, '/dev/sdb']]);
      const result = outcomeOf(roots, { ...targetOf(device), byId: [name] }, links);
      expect(result.startsWith('disk.changed: ')).toBe(!isSame);
    }
  });

  it('is not taken for another disk with an identifier of zeros', () => {
    const zeros = blockDevice('sda', { wwn: '0x0000000000000000' });
    expect(outcomeOf([blockDevice('sdb', { wwn: zeros.wwn })], targetOf(zeros))).toMatch(
      /^disk\.missing: /,
    );
  });

  it('is refused under another name, which is told', () => {
    const moved = { ...disk, name: 'sdc', kname: 'sdc', path: '/dev/sdc', majorMinor: '8:32' };
    expect(outcomeOf([moved], target)).toBe('disk.changed: the install disk is /dev/sdc now');
    expect(outcomeOf([{ ...disk, serial: 'S2' }, moved], target)).toBe(
      'disk.changed: /dev/sda is another disk now: its serial number is S2; the install disk is /dev/sdc now',
    );
  });

  it('is missing when nothing has its name', () => {
    expect(outcomeOf([blockDevice('sdb')], target)).toMatch(/^disk\.missing: /);
  });
});

it('reads a fact of a journal of before', () => {
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

it('knows a disk by its names in by-id, without those of its content', async () => {
  expect(await byIdNames(hostWith(), '/dev/sda', signal)).toEqual([link]);
});

it('follows these names again at each look', async () => {
  const host = hostWith(disk, blockDevice('sdb', {}, [partition('sdb1')]));
  expect((await readTarget(host, target, signal)).name).toBe('sda');
  host.withLink(link, '/dev/sdb');
  await expect(readTarget(host, target, signal)).rejects.toMatchObject({ code: 'disk.changed' });
});

it('follows the name that was asked for, whatever folder it is in', async () => {
  const asked = '/dev/disk/by-path/pci-0000:00:1f.2-ata-1';
  const host = hostWith(blockDevice('sda'), blockDevice('sdb')).withLink(asked, '/dev/sda');
  const plain = { ...targetOf(blockDevice('sda')), asked };
  expect((await readTarget(host, plain, signal)).name).toBe('sda');
  host.withLink(asked, '/dev/sdb');
  await expect(readTarget(host, plain, signal)).rejects.toMatchObject({ code: 'disk.changed' });
});

it('runs no command on another disk', async () => {
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

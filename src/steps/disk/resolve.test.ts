import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  sfdiskOutput,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config } from '../../config/schema.ts';
import { type BlockDevice, lsblkArgv } from './block-devices.ts';
import { tableArgv } from './kept.ts';
import { chooseDisk, resolveDisk } from './resolve.ts';

const byId = '/dev/disk/by-id/ata-SSD_S1';
const sda = blockDevice('sda', { serial: 'S1', sectorBytes: 4096, majorMinor: '8:0' });
const hostWith = (...disks: readonly BlockDevice[]) =>
  fakeHost()
    .withLink(byId, '../../sda')
    .withLink('/dev/disk/by-id/../../sda', '/dev/sda')
    .on(['lsblk', rest])
    .prints(lsblkOutput(...disks), 'lsblk: a warning');

describe('disk/resolve', () => {
  it('resolves the link to the disk', async () => {
    const { value } = await runStep(resolveDisk, {
      host: hostWith(sda),
      config: { disk: { device: byId } },
    });
    expect(value).toEqual({
      path: '/dev/sda',
      asked: byId,
      name: 'sda',
      majorMinor: '8:0',
      sizeBytes: sda.sizeBytes,
      sectorBytes: 4096,
      type: 'disk',
      serial: 'S1',
      wwn: '',
      byId: [byId],
    });
  });

  it('records the partitions that coreos-installer will keep', async () => {
    const data = partition('sda5', { partUuid: '9000-uuid', fsType: 'xfs', label: 'var' });
    const host = hostWith({ ...sda, children: [data] })
      .withFile('/w.yaml', 'save-partlabel: ["d*"]\n')
      .on(tableArgv('/dev/sda'))
      .prints(sfdiskOutput([3, 'boot', 1], [5, 'data', 9000]));
    const kept = async (...writerArgs: string[]) =>
      (
        await runStep(resolveDisk, {
          host,
          config: { disk: { device: byId }, image: { writerArgs } },
        })
      ).value.kept;
    expect(await kept('-n')).toBeUndefined();
    expect(await kept('-c', '/w.yaml')).toMatchObject([{ number: 5, partUuid: '9000-uuid' }]);
    expect(await kept('--save-partindex', '3')).toMatchObject([{ number: 3 }]);
    expect(await kept('--save-partindex', '7')).toEqual([]);
  });

  it.each([
    ['no install disk is set', {}, hostWith(sda), 'disk.missing'],
    [
      'the disk has another serial number',
      { device: byId },
      hostWith({ ...sda, serial: 'S2' }),
      'disk.not-the-one',
    ],
    ['the disk does not exist', { device: '/dev/sdq' }, hostWith(sda), 'disk.missing'],
    [
      'lsblk finds no disk',
      { device: byId },
      hostWith().on(['lsblk', rest]).fails(32),
      'disk.missing',
    ],
    [
      'lsblk prints no list',
      { device: byId },
      fakeHost().on(['lsblk', rest]).prints('?'),
      'disk.unreadable',
    ],
  ])('fails when %s', async (...[, disk, host, code]) => {
    const { failure } = await tryStep(resolveDisk, { host, config: { disk } });
    expect(failure).toMatchObject({ code });
  });

  it('resolves the disk that the hints match, with the hints', async () => {
    const hints = { serialNumber: 's1', minSizeGigabytes: 100 };
    const { value } = await runStep(resolveDisk, {
      host: hostWith(blockDevice('sdb', { serial: 'S2' }), sda),
      config: { disk: { hints } },
    });
    expect(value).toMatchObject({ path: '/dev/sda', asked: '/dev/sda', byId: [byId], hints });
  });

  it.each([
    ['the hints match none', { hints: { rotational: true } }, 'disk.not-one'],
    ['the hints match both', { hints: { minSizeGigabytes: 1 } }, 'disk.not-one'],
    [
      'the device does not match the hints',
      { device: byId, hints: { serialNumber: 'S2' } },
      'disk.not-one',
    ],
    [
      'the hints name another device',
      { device: '/dev/sdb', hints: { deviceName: byId } },
      'disk.not-one',
    ],
    ['the device matches the hints', { device: byId, hints: { serialNumber: 'S1' } }, undefined],
    ['the hints name the device by its path', { hints: { deviceName: byId } }, undefined],
  ])('of two disks, when %s', async (_, disk, code) => {
    const host = hostWith(sda, blockDevice('sdb', { serial: 'S2' })).withFile('/dev/sdb', '');
    const { failure, value } = await tryStep(resolveDisk, { host, config: { disk } });
    expect(failure ?? value).toMatchObject(code === undefined ? { path: '/dev/sda' } : { code });
  });

  it.each([
    [{}, 'no install disk is set'],
    [{ device: byId }, byId],
    [{ hints: { serialNumber: 'S1' } }, 'serialNumber=S1'],
    [{ device: byId, hints: { serialNumber: 'S1' } }, `${byId} with serialNumber=S1`],
  ])('explains the choice by %j', (disk, explanation) => {
    expect(resolveDisk.explain?.(Config.parse({ disk }))).toBe(explanation);
  });

  it.each([
    ['-n', []],
    ['--save-partlabel=data', [tableArgv(byId)]],
  ])('previews what it reads with %s', (word, table) => {
    const config = Config.parse({ disk: { device: byId }, image: { writerArgs: [word] } });
    expect(resolveDisk.preview?.(config, {})).toEqual([lsblkArgv, ...table]);
  });

  it('resolves the extra disks that exist', async () => {
    const disk = { device: byId, format: ['/dev/sdb', '/dev/sdq'] };
    const sdb = blockDevice('sdb', { serial: 'S2' });
    const { value } = await runStep(resolveDisk, {
      host: hostWith(sda, sdb).withFile('/dev/sdb', ''),
      config: { disk },
    });
    expect(value.extra).toMatchObject([{ asked: '/dev/sdb', path: '/dev/sdb', serial: 'S2' }]);
  });
});

const ssd = blockDevice('sda', { sizeBytes: 480_103_981_056, model: 'SSD 1', serial: 'S1' }, [
  partition('sda1'),
]);
const cd = blockDevice('sr0', { type: 'rom' });
const path = blockDevice('sdb', {}, [blockDevice('dm-0', { name: 'mpatha', type: 'mpath' })]);
const roots = [ssd, cd, path];

describe('chooseDisk', () => {
  it('finds a multipath device by its kernel name', () => {
    const asked = { asked: '/dev/mapper/mpatha', real: '/dev/dm-0' };
    expect(chooseDisk(roots, asked)).toMatchObject({ name: 'mpatha' });
  });

  const there = { disks: '/dev/sda /dev/mapper/mpatha' };
  it.each([
    ['/dev/sdz', '/dev/sdz', 'disk.missing', there],
    ['', '', 'disk.missing', there],
    ['/dev/sda1', '/dev/sda1', 'disk.not-whole', { device: '/dev/sda1', type: 'part' }],
    ['/dev/cdrom', '/dev/sr0', 'disk.not-whole', { device: '/dev/sr0', type: 'rom' }],
    ['/dev/sdb', '/dev/sdb', 'disk.multipath-member', { multipath: '/dev/mapper/mpatha' }],
    [
      '/dev/disk/by-id/ata-SSD_1_S2',
      '/dev/sda',
      'disk.not-the-one',
      { device: '/dev/sda', serial: 'S1', wwn: '' },
    ],
  ])('refuses %j, which leads to %j, with %s', (asked, real, code, context) => {
    expect(() => chooseDisk(roots, { asked, real })).toThrow(
      expect.objectContaining({ code, kind: 'input', context: { asked, ...context } }),
    );
  });

  it.each([
    ['', /^no install disk is set; available: /],
    ['/dev/sdz', /^\/dev\/sdz is not a disk of this host; available: /],
  ])('says of %j why it is no disk', (asked, message) => {
    expect(() => chooseDisk(roots, { asked, real: asked })).toThrow(message);
  });
});

it('resolves an unformatted DASD with the block size that it will have', async () => {
  // coreos-installer pull request 430: the DASD reports 512 bytes until then.
  const dasd = blockDevice('dasda', { sizeBytes: 0, sectorBytes: 512 });
  const host = fakeHost().on(['lsblk', rest]).prints(lsblkOutput(dasd));
  const config = { disk: { device: '/dev/dasda' } };
  const { value } = await runStep(resolveDisk, { host: host.withFile('/dev/dasda', ''), config });
  expect(value).toMatchObject({ name: 'dasda', sizeBytes: 0, sectorBytes: 4096 });
  expect(() => chooseDisk([dasd], { asked: 'x', real: 'x' })).toThrow('/dev/dasda (not formatted)');
});

const optane = {
  serial: 'PHM2913000R9960CGN',
  wwn: 'nvme.8086-50484d32393133303030523939363043474e-494e54454c2053534450453231443936304741-00000001',
};
const ebs =
  'nvme.1d0f-766f6c3061313364653736363230663566346466-416d617a6f6e20456c617374696320426c6f636b2053746f7265-00000001';

describe('the identity of a disk by its by-id name', () => {
  const same = true;
  const differs = false;
  const isTaken = (asked: string, known: Partial<BlockDevice>): boolean => {
    try {
      return chooseDisk([blockDevice('sda', known)], { asked, real: '/dev/sda' }).name === 'sda';
    } catch (error) {
      expect(error).toMatchObject({ code: 'disk.not-the-one' });
      return false;
    }
  };
  it.each([
    ['wwn-0x5000c500a0b1c2d3', { wwn: '0x5000c500a0b1c2d3' }, same],
    ['wwn-0x5000c500a0b1c2d3', { wwn: '0x5000c500ffffffff' }, differs],
    ['wwn-0x6000c29d', { wwn: '0x6000c29d70aa80aa' }, same],
    ['scsi-36000c29d', { wwn: '0x6000c29d' }, same],
    ['scsi-36000c29d', { wwn: '0x6000c29e' }, differs],
    ['nvme-eui.002538b1', { wwn: 'eui.002538b2' }, differs],
    // Disks without EUI, by names that their owners published; the names contain serial number and
    // model.
    [`nvme-${optane.wwn}`, optane, same],
    [`nvme-${optane.wwn}`, { ...optane, wwn: '' }, same],
    [`nvme-${optane.wwn}`, { ...optane, wwn: ebs }, differs],
    [`nvme-${ebs}`, { serial: 'vol0a13de76620f5f4df', wwn: ebs }, same],
    [
      'nvme-Amazon_EC2_NVMe_Instance_Storage_AWS23558744BCB1E907D-ns-1',
      { serial: 'AWS23558744BCB1E907D' },
      same,
    ],
    ['nvme-SAMSUNG_MZ_S64', { serial: 'S64' }, same],
    ['nvme-SAMSUNG_MZ_S64', { serial: 'S65' }, differs],
    ['virtio-vol_7', { serial: 'vol 7' }, same],
    ['virtio-vol_7', { serial: 'vol-8' }, differs],
    ['wwn-0x5000c500a0b1c2d3', {}, same],
  ])('compares %s with %j', (name, known, expected) => {
    expect(isTaken(`/dev/disk/by-id/${name}`, known)).toBe(expected);
  });
});

describe('a name that several disks match', () => {
  const naa = '0x5000000000000000';
  const eui = 'eui.0000000000000000';
  type Known = Partial<BlockDevice>;
  const usb = { model: 'Ultra', serial: '0123456789' };
  const lun = { serial: '7QZ4', wwn: '0x60a98000' };
  it.each<[string, string, Known, string, Known]>([
    [
      'wwn-0x5000000000000000',
      'sda',
      { serial: 'A1', wwn: naa },
      'sdb',
      { serial: 'B2', wwn: naa },
    ],
    [`nvme-${eui}`, 'nvme0n1', { serial: 'A1', wwn: eui }, 'nvme1n1', { serial: 'B2', wwn: eui }],
    // A path that multipathd has not claimed, or another disk: nothing distinguishes them.
    ['wwn-0x60a98000', 'sda', lun, 'sdb', lun],
    ['usb-SanDisk_Ultra_0123456789-0:0', 'sda', usb, 'sdb', usb],
    ['virtio-data', 'vda', { serial: 'data' }, 'vdb', { serial: 'data' }],
    ['nvme-Micron_20452B', 'nvme0n1', { serial: '20452B' }, 'nvme0n2', { serial: '20452B' }],
    ['nvme-Micron_20452B_1', 'nvme0n1', { serial: '20452B' }, 'nvme1n1', { serial: '20452B' }],
    // The number in a name is the id of the namespace, independent of the kernel's device name.
    [
      'nvme-Micron_20452B_1',
      ...(['nvme0n2', { serial: '20452B', namespaceId: '1' }] as const),
      ...(['nvme1n3', { serial: '20452B', namespaceId: '1' }] as const),
    ],
    // udev is reading the disk with the name again.
    ['ata-SSD_S3Z1', 'sda', {}, 'sdb', { serial: 'S3Z1' }],
  ])('is refused and lists all of them: %s', (...[name, own, is, rival, isToo]) => {
    const asked = `/dev/disk/by-id/${name}`;
    const disks = [blockDevice(own, is), blockDevice(rival, isToo)];
    const code = 'disk.ambiguous';
    const context = { asked, disks: `/dev/${own} /dev/${rival}` };
    expect(() => chooseDisk(disks, { asked, real: `/dev/${own}` })).toThrow(
      expect.objectContaining({ code, kind: 'input', context }),
    );
  });

  it.each<[string, string, Known, string, Known]>([
    ['ata-SSD_S1', 'sda', { serial: 'S1', wwn: naa }, 'sdb', { serial: 'S2', wwn: naa }],
    [
      'nvme-Micron_20452B_1',
      ...(['nvme0n2', { serial: '20452B', namespaceId: '1' }] as const),
      ...(['nvme0n1', { serial: '20452B', namespaceId: '2' }] as const),
    ],
    ['usb-A_Ultra_0123456789-0:0', 'sda', usb, 'sdb', { ...usb, model: 'Cruzer' }],
    ['ata-SSD_S12', 'sda', { serial: 'S12' }, 'sdb', { serial: 'S1' }],
    ['wwn-0x5000c500a0', 'sda', { wwn: '0x5000c500a0' }, 'sdb', {}],
  ])('is accepted when only one disk has it: %s', (...[name, own, is, other, isNot]) => {
    const asked = `/dev/disk/by-id/${name}`;
    const disks = [blockDevice(own, is, [partition(`${own}p1`, is)]), blockDevice(other, isNot)];
    expect(chooseDisk(disks, { asked, real: `/dev/${own}` }).kname).toBe(own);
  });

  it.each(['/dev/sda', '/dev/disk/by-path/pci-0000:00:1f.2-ata-1'])(
    'does not include the unique path %s',
    (asked) => {
      const disks = [blockDevice('sda', lun), blockDevice('sdb', lun)];
      expect(chooseDisk(disks, { asked, real: '/dev/sda' }).kname).toBe('sda');
    },
  );

  it('is accepted for a multipath device over its paths, but not beside another disk', () => {
    const asked = '/dev/disk/by-id/wwn-0x60a98000';
    const multipath = blockDevice('dm-0', { ...lun, name: 'mpatha', type: 'mpath' });
    const paths = ['sda', 'sdb'].map((path) => blockDevice(path, lun, [multipath]));
    const question = { asked, real: '/dev/dm-0' };
    const untaken = blockDevice('sdc', lun);
    expect(chooseDisk([...paths, untaken], question).name).toBe('mpatha');
    const other = blockDevice('sdd', { ...lun, serial: 'X' });
    expect(() => chooseDisk([...paths, other], question)).toThrow(
      expect.objectContaining({ code: 'disk.ambiguous' }),
    );
  });
});

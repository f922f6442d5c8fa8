// Recorded output of machines other than a server with one SSD (mocks/logs), and the decisions on
// it.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { targetOf as identified } from '../../../test/support/disk-samples.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { deviceAt, findPartition, type BlockDevice, parseLsblk } from './block-devices.ts';
import { checkDisk } from './check.ts';
import type { TargetDisk } from './facts.ts';
import { decideExtraDisk, diskReadiness } from './guards.ts';
import { chooseDisk, resolveDisk } from './resolve.ts';
import { setBootEntry } from './set-boot-entry.ts';
import { readTarget } from './target.ts';
import { cleanDisk, emptyingArgvs } from './empty.ts';

const { signal } = new AbortController();
const textOf = (name: string): string =>
  readFileSync(new URL(`../../../mocks/logs/${name}`, import.meta.url), 'utf8');
const devicesOf = (name: string): readonly BlockDevice[] =>
  parseLsblk(textOf(`lsblk/${name}.json`));
const on = (roots: readonly BlockDevice[], path: string): BlockDevice => deviceAt(roots, path)!;

/** A machine with this output, and with links below /dev/disk and /dev/mapper. */
function machine(name: string, links: Readonly<Record<string, string>> = {}): FakeHost {
  const host = fakeHost().on(['wipefs', rest]).succeeds();
  for (const [link, path] of Object.entries(links)) host.withLink(link, path);
  return host.on(['lsblk', rest]).prints(textOf(`lsblk/${name}.json`));
}

async function targetOf(host: FakeHost, device: string): Promise<TargetDisk> {
  return (await runStep(resolveDisk, { host, config: { disk: { device } } })).value;
}

/** The disks in the error message for a missing disk. */
function availableOn(name: string): readonly string[] {
  try {
    chooseDisk(devicesOf(name), { asked: '/dev/x', real: '/dev/x' });
    return [];
  } catch (error) {
    return (error as Error).message.replace(/^.*available: /, '').split('; ');
  }
}

const wwid = '360002ac0000000000000002a0001d9f1';
const lun = `/dev/mapper/${wwid}`;
const friendly = '/dev/mapper/mpatha';

describe('a multipath device', () => {
  it('is resolved by its name, with the serial number and WWN of its paths', async () => {
    const byId = `/dev/disk/by-id/wwn-0x${wwid.slice(1)}`;
    const host = machine('multipath-wwid', { [byId]: '/dev/dm-4' });
    const config = { disk: { device: byId } };
    const { value, notes } = await runStep(resolveDisk, { host, config });
    expect(value).toMatchObject({ path: '/dev/dm-4', type: 'mpath', byId: [byId] });
    expect(value).toMatchObject({ serial: '7QZ40291', wwn: `0x${wwid.slice(1)}` });
    expect(notes).toEqual([`info: the install disk is ${lun}, asked for as ${byId}`]);
  });

  it('is refused when another LUN has its device number', async () => {
    const host = machine('multipath-wwid', { [lun]: '/dev/dm-4' });
    const target = await targetOf(host, lun);
    expect((await readTarget(host, target, signal)).path).toBe(lun);
    const other = textOf('lsblk/multipath-wwid.json').replaceAll('002a0001d9f1', '002b0001d9f1');
    await expect(
      readTarget(host.on(['lsblk', rest]).prints(other), target, signal),
    ).rejects.toMatchObject({ code: 'disk.changed' });
  });

  it.each([
    ['multipath-wwid', '/dev/sda', lun],
    ['multipath-wwid', '/dev/sdd', lun],
    ['multipath-friendly', '/dev/sdb', friendly],
    ['multipath-friendly', '/dev/sdc', '/dev/mapper/mpathb'],
  ])('is not resolved by one of its paths: %s, %s', (name, real, over) => {
    expect(() => chooseDisk(devicesOf(name), { asked: real, real })).toThrow(
      expect.objectContaining({ code: 'disk.multipath-member', hint: `use ${over} instead` }),
    );
  });

  it('is listed once instead of its paths', () => {
    expect(availableOn('multipath-wwid')).toEqual([`${lun} (137 GB, VV, 7QZ40291)`]);
    expect(availableOn('multipath-friendly')).toEqual([
      '/dev/mapper/mpatha (129 GB, LUN C-Mode, 80NM-Q$J7YcO)',
      '/dev/mapper/mpathb (500 GB, MZ7LH500HAHQ0D3, S4EVNX0K112233)',
    ]);
  });

  it.each([
    ['multipath-wwid', lun, '/dev/dm-4'],
    ['multipath-friendly', friendly, '/dev/dm-0'],
  ])('does not conflict with the partitions of its own paths: %s', async (name, path, real) => {
    const host = machine(name, { [path]: real });
    const target = await targetOf(host, path);
    const config = { disk: { cleanup: true } };
    const { notes } = await runStep(checkDisk, { host, config, facts: { disk: target } });
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
  });

  it('is cleaned from the top, not through its paths', () => {
    const disk = on(devicesOf('multipath-friendly'), friendly);
    const partitions = [1, 2, 3, 4].map((number) => `${friendly}${number}`);
    expect(emptyingArgvs(disk)).toEqual([
      ['dmsetup', 'remove', '--retry', 'rhel-root'],
      ...partitions.map((path) => ['wipefs', '--all', path]),
      ...partitions.map((path) => [
        'dmsetup',
        'remove',
        '--retry',
        path.slice('/dev/mapper/'.length),
      ]),
      ['wipefs', '--all', friendly],
    ]);
  });

  it.each([
    ['multipath-wwid', lun, 'esp', `${lun}-part1`, 1],
    ['multipath-wwid', lun, 'root', `${lun}-part3`, 3],
    ['multipath-friendly', friendly, 'boot', `${friendly}3`, 3],
  ] as const)(
    'has partitions with mapper paths: %s',
    (...[name, path, purpose, partition, number]) => {
      const found = findPartition(on(devicesOf(name), path), purpose);
      expect(found).toMatchObject({ path: partition, number });
    },
  );

  it('is not formatted through one of its paths', () => {
    const roots = devicesOf('multipath-friendly');
    const asked = '/dev/disk/by-id/ata-MZ7LH500HAHQ0D3_S4EVNX0K112233';
    const identity = { ...identified(on(roots, '/dev/sdc')), asked };
    const disks = { roots, disk: on(roots, friendly) };
    expect(decideExtraDisk(disks, identity, new Map())).toMatchObject({
      code: 'disk.extra-refused',
      message: 'it is one path of /dev/mapper/mpathb',
    });
  });
});

describe('the boot list of a Power machine', () => {
  it.each([
    ['multipath', []],
    ['vscsi-1.3.8', []],
    [
      'nvram-locked',
      ['warn: the boot order could not be confirmed: bootlist: Could not update bootlist!'],
    ],
  ])('contains every path: %s', async (printed, notes) => {
    const host = machine('multipath-wwid', { [lun]: '/dev/dm-4' });
    const target = await targetOf(host, lun);
    host.on(['test', '-f', '/usr/sbin/bootlist']).succeeds();
    host.on(['bootlist', rest]).prints(textOf(`bootlist/${printed}.txt`));
    const end = await runStep(setBootEntry, { host, facts: { disk: target, ignition: undefined } });
    const paths = ['/dev/sda', '/dev/sdb', '/dev/sdc', '/dev/sdd'];
    expect(host.ran.at(-1)).toEqual(['bootlist', '-m', 'normal', '-o', ...paths]);
    expect(end.notes).toEqual(notes);
  });
});

describe('a PERC', () => {
  it.each([
    ['wwn-0x61866da068d6a50025a1f3c70b2e4d19', '/dev/sda'],
    ['scsi-361866da068d6a50025a1f3c70b2e4d19', '/dev/sda'],
    // A SATA disk behind it: udev knows the serial number, lsblk before 2.37 prints the WWN
    // instead.
    ['ata-MZ7LH480HAHQ0D3_S4EVNA0M445566', '/dev/sdb'],
  ])('resolves the disk %s', async (name, path) => {
    const asked = `/dev/disk/by-id/${name}`;
    expect(await targetOf(machine('perc', { [asked]: path }), asked)).toMatchObject({ path });
  });

  it('is listed without the padding of its firmware and can be cleaned', () => {
    expect(availableOn('perc')[0]).toMatch(/^\/dev\/sda \(600 GB, PERC H730 Mini, 6/);
    const disk = on(devicesOf('perc'), '/dev/sda');
    expect(emptyingArgvs(disk)[0]).toEqual(['dmsetup', 'remove', '--retry', 'rhel-root']);
    expect(diskReadiness({ roots: [disk], disk }, { willBeCleaned: true }).problem).toBeUndefined();
  });
});

describe('iSCSI', () => {
  const byPath = '/dev/disk/by-path/ip-192.0.2.10:3260-iscsi-iqn.2015-02.example.boot:h1-lun-1';
  const shared = '/dev/disk/by-id/wwn-0x60000000000000000e00000000010001';

  it('is resolved like any disk, and a LUN without a size is not listed', async () => {
    const target = await targetOf(machine('iscsi', { [byPath]: '/dev/sda' }), byPath);
    expect(target).toMatchObject({ path: '/dev/sda', type: 'disk', sectorBytes: 512 });
    expect(availableOn('iscsi').join()).not.toContain('/dev/sdd');
  });

  it('is identified by its LUN, with a warning about another disk with its identifiers', async () => {
    const host = machine('iscsi', { [byPath]: '/dev/sdb', [shared]: '/dev/sdb' });
    const target = await targetOf(host, byPath);
    host.withLink(shared, '/dev/sdc');
    expect((await readTarget(host, target, signal)).name).toBe('sdb');
    const { notes } = await runStep(checkDisk, { host, facts: { disk: target } });
    expect(notes).toEqual([
      'warn: /dev/sdc has the same serial number and WWN as /dev/sdb: a second path without multipath, or another disk that looks the same',
    ]);
  });
});

describe('4Kn', () => {
  it('has sectors of 4096 bytes on a namespace, without a warning about the other namespace', async () => {
    const eui = '/dev/disk/by-id/nvme-eui.000000000000001000a075012b91c7a0';
    const shared = '/dev/disk/by-id/nvme-Micron_9300_MTFDHAL7T6TDP_20452B91C7A0';
    const host = machine('nvme-4kn', { [eui]: '/dev/nvme0n2', [shared]: '/dev/nvme0n2' });
    const target = await targetOf(host, eui);
    expect(target).toMatchObject({ path: '/dev/nvme0n2', sectorBytes: 4096 });
    host.withLink(shared, '/dev/nvme0n1');
    const { notes } = await runStep(checkDisk, { host, facts: { disk: target } });
    expect(notes).toEqual([]);
  });
});

describe('a DASD', () => {
  const uid = '/dev/disk/by-id/ccw-IBM.750000000DL241.1000.21';

  it('is resolved before it has a size and is not cleaned', async () => {
    const host = machine('dasd', { [uid]: '/dev/dasda' });
    // Another disk among them has an old system.
    const config = { disk: { device: uid, cleanup: true, format: ['/dev/dasdc'] } };
    const target = (await runStep(resolveDisk, { host, config })).value;
    expect(target).toMatchObject({ path: '/dev/dasda', sizeBytes: 0, sectorBytes: 4096 });
    const facts = { disk: target };
    await runStep(checkDisk, { host, config, facts });
    const { notes } = await runStep(cleanDisk, { host, config, facts });
    expect(notes).toEqual(['info: /dev/dasda is not formatted; coreos-installer formats it']);
  });

  it.each(['/dev/dasda', '/dev/dasdb', '/dev/dasdc'])(
    'is the same disk after the writer has changed its volume serial: %s',
    async (path) => {
      const volume = '/dev/disk/by-id/ccw-MDSK02';
      const host = machine('dasd', { [uid]: path, [volume]: path });
      const target = await targetOf(host, path);
      expect(target.byId).toEqual([uid]);
      // The label that fdasd writes; a name of the label may lead to any disk with the same label.
      const labelled = devicesOf('dasd').map((disk) =>
        disk.path === path ? { ...disk, sizeBytes: 7_385_333_760, serial: '0X0201' } : disk,
      );
      host.withLink(volume, '/dev/dasdd');
      host.on(['lsblk', rest]).prints(JSON.stringify({ blockdevices: labelled.map(printed) }));
      expect((await readTarget(host, target, signal)).path).toBe(path);
    },
  );

  it('is refused when its by-id name leads to another one', async () => {
    const host = machine('dasd', { [uid]: '/dev/dasdb' });
    const target = await targetOf(host, uid);
    host.withLink(uid, '/dev/dasdc');
    const { failure } = await tryStep(checkDisk, { host, facts: { disk: target } });
    expect(failure).toMatchObject({ code: 'disk.changed' });
  });
});

const printed = ({ kname, majorMinor, sizeBytes, serial, type }: BlockDevice): object => ({
  name: kname,
  'maj:min': majorMinor,
  type,
  size: sizeBytes,
  'log-sec': 4096,
  serial,
});

import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  coreOsDisk,
  keptPartition,
  sfdiskOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { argsToKeep, findSaved, readTable, refuseWipes, tableArgv } from './kept.ts';
import type { KeptPartition } from './facts.ts';
import { usesIn } from './writer-args.ts';

const { signal } = new AbortController();
const disk = { path: '/dev/sda', sectorBytes: 512 };

describe('readTable', () => {
  it('reads numbers, labels and offsets in bytes', async () => {
    const host = fakeHost()
      .on(['sfdisk', '--json', '/dev/sda'])
      .prints(sfdiskOutput([4, 'root', 600], [5, '', 9000]));
    expect(await readTable(host, disk, signal)).toEqual([
      keptPartition(4, 'root', 600),
      keptPartition(5, '', 9000),
    ]);
  });

  it.each([
    ['/dev/nvme0n1p5', 5],
    ['/dev/mapper/mpatha-part12', 12],
    ['/dev/mapper/mpatha3', 3],
  ])('reads from %s the number %i, with sectors of 4096 bytes', async (node, number) => {
    const partitions = [{ node, start: 256, size: 256, uuid: 'A' }];
    const table = JSON.stringify({ partitiontable: { label: 'gpt', partitions } });
    const host = fakeHost().on(tableArgv('/dev/sda')).prints(table);
    expect(await readTable(host, { ...disk, sectorBytes: 4096 }, signal)).toMatchObject([
      { number, startBytes: 2 ** 20, sizeBytes: 2 ** 20, partUuid: 'a' },
    ]);
  });

  it('returns no partitions without a GPT', async () => {
    const none = 'sfdisk: /dev/sda: does not contain a recognized partition table';
    const dos =
      '{"partitiontable": {"label": "dos", "partitions": [{"node": "/dev/sda1", "start": 1, "size": 1}]}}';
    for (const host of [
      fakeHost().on(tableArgv('/dev/sda')).fails(1, none),
      fakeHost().on(tableArgv('/dev/sda')).prints(dos),
    ])
      expect(await readTable(host, disk, signal)).toEqual([]);
  });

  it('refuses a GPT of which sfdisk shows only the protective MBR', async () => {
    const partitions = [{ node: '/dev/sda1', start: 1, size: 262_143, type: 'ee' }];
    const table = JSON.stringify({ partitiontable: { label: 'dos', partitions } });
    const host = fakeHost().on(tableArgv('/dev/sda')).prints(table);
    await expect(readTable(host, disk, signal)).rejects.toMatchObject({
      code: 'disk.keep-refused',
      context: { path: '/dev/sda' },
    });
  });

  it('fails when the table cannot be read', async () => {
    const host = fakeHost().on(tableArgv('/dev/sda')).fails(1, 'sfdisk: cannot open /dev/sda');
    await expect(readTable(host, disk, signal)).rejects.toMatchObject({
      code: 'command.unreadable',
      message: expect.stringContaining('cannot open /dev/sda') as string,
    });
  });
});

describe('findSaved', () => {
  const disk = [
    keptPartition(1, 'EFI-SYSTEM', 1),
    keptPartition(5, 'data', 9000),
    keptPartition(7, '', 11_000),
  ];
  it.each([
    ['save-partlabel', 'data', [5], []],
    ['save-partlabel', 'da*,EFI-?YSTEM,[a-d]ata,[!x]ata', [1, 5], []],
    ['save-partlabel', 'data,Data', [5], ['--save-partlabel Data']],
    ['save-partlabel', ' data', [], ['--save-partlabel  data']],
    ['save-partlabel', 'd.ta', [], ['--save-partlabel d.ta']],
    ['save-partlabel', '[z-a]', [], ['--save-partlabel [z-a]']],
    ['save-partindex', '5', [5], []],
    ['save-partindex', '4-6,-1,7-', [1, 5, 7], []],
    ['save-partindex', '2-4,8-', [], ['--save-partindex 2-4', '--save-partindex 8-']],
  ])('--%s %s keeps %j and misses %j', (option, value, numbers, missing) => {
    const found = findSaved([{ option, value }], disk);
    expect(found.kept.map(({ number }) => number)).toEqual(numbers);
    expect(found.missing).toEqual(missing);
  });
});

describe('argsToKeep', () => {
  const data = keptPartition(3, 'data', 9000);
  const logs = keptPartition(5, 'logs', 11_000);
  const image = [keptPartition(3, 'boot', 129), keptPartition(4, 'root', 513)];
  const savedBy = (args: readonly string[]) =>
    usesIn(args).filter(({ option }) => option.startsWith('save-part'));
  const keep = (
    kept: readonly KeptPartition[],
    args: readonly string[],
    table: readonly KeptPartition[],
  ) => argsToKeep({ path: '/dev/sda', kept }, args, savedBy(args), table);

  it.each([
    [['-n', '--save-partindex', '3']],
    [['--save-partlabel=?*', '-n']],
    [['--save-partindex', '-3', '--save-partlabel', 'data', '-n']],
  ])('names the kept partition by its current number for %j', (args) => {
    expect(keep([data], args, [data])).toEqual(['-n', '--save-partindex', '3']);
    const table = [...image, { ...data, number: 5 }];
    expect(keep([data], args, table)).toEqual(['-n', '--save-partindex', '5']);
  });

  it('names several partitions, and none when none was found', () => {
    const table = [...image, { ...data, number: 5 }, { ...logs, number: 6 }];
    const args = ['--save-partindex', '3-'];
    expect(keep([data, logs], args, table)).toEqual(['--save-partindex', '5,6']);
    expect(keep([], ['-n', ...args], image)).toEqual(['-n']);
  });

  it('leaves the arguments when the disk was found without kept partitions', () => {
    const args = ['--save-partindex', '3'];
    expect(argsToKeep({ path: '/dev/sda' }, args, savedBy(args), [data])).toBe(args);
  });

  it.each([
    ['is gone', image, 'data'],
    ['has another start', [{ ...data, startBytes: 1 }], 'data'],
    ['has another size', [{ ...data, sizeBytes: 1 }], 'data'],
    ['has another UUID', [{ ...data, partUuid: 'b' }], 'data'],
    ['that matches was created meanwhile', [data, { ...logs, number: 3 }], 'logs'],
  ])('refuses when a partition %s', (_, table, label) => {
    expect(() => keep([data], ['--save-partindex', '3'], table)).toThrow(
      expect.objectContaining({
        code: 'disk.keep-changed',
        context: { disk: '/dev/sda', partition: 3, label },
      }),
    );
  });
});

describe('refuseWipes', () => {
  const byId = '/dev/disk/by-id/ata-Lab_Disk_LAB01';
  const byPath = '/dev/disk/by-path/pci-0000:00:1f.2-ata-1';
  const target = {
    ...targetOf(coreOsDisk('sda')),
    asked: '/dev/disk/by-id/wwn-0x5',
    byId: [byId],
    kept: [keptPartition(5, 'data', 25_000)],
  };
  const host = fakeHost()
    .withFile('/dev/sda', '')
    .withFile('/dev/sda5', '')
    .withFile('/dev/sda4', '')
    .withLink(byPath, '/dev/sda')
    .withLink('/dev/disk/by-partlabel/root', '/dev/sda4')
    .withLink('/dev/disk/by-label/var', '/dev/sda5');
  const refused = async (
    storage: object,
    of: Parameters<typeof refuseWipes>[1] = target,
  ): Promise<string | undefined> => {
    const text = JSON.stringify({ ignition: { version: '3.2.0' }, storage });
    try {
      await refuseWipes({ host, signal }, of, text);
      return undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: 'disk.keep-wiped', context: { disk: of.path } });
      return (error as Error).message.split('this host: ')[1];
    }
  };
  const data = '/dev/disk/by-partlabel/data';

  it.each([
    ...['/dev/sda', '/dev/disk/by-id/wwn-0x5', byId, byPath, '/dev/disk/by-id/coreos-boot-disk'],
  ])('refuses wipes of the disk named %s', async (device) => {
    const partitions = [
      { label: 'data', number: 0, wipePartitionEntry: true },
      { number: 5, wipePartitionEntry: true },
      { label: 'data2', number: 0 },
    ];
    expect(await refused({ disks: [{ device, wipeTable: true, partitions }] })).toBe(
      `wipeTable on ${device}; wipePartitionEntry of "data" on ${device}; wipePartitionEntry of 5 on ${device}`,
    );
  });

  it.each([
    '/dev/sda',
    data,
    '/dev/disk/by-partuuid/25000-uuid',
    '/dev/disk/by-label/var',
    '/dev/sda5',
    `${byId}-part5`,
  ])('refuses wipes of the kept partition named %s', async (device) => {
    const wiped = {
      filesystems: [{ device, format: 'xfs', path: '/var/data', wipeFilesystem: true }],
      luks: [{ name: 'd', device, wipeVolume: true, clevis: { tpm2: true } }],
      raid: [{ name: 'd', level: 'raid1', devices: [device, '/dev/sdb1'] }],
    };
    expect(await refused(wiped)).toBe(
      `wipeFilesystem on ${device}; wipeVolume on ${device}; RAID "d" on ${device}`,
    );
  });

  it.each([
    ['/dev/nvme0n1', '/dev/nvme0n1p5'],
    ['/dev/mapper/mpath1b', '/dev/mapper/mpath1b5'],
  ])('refuses wipes of a kept partition of %s', async (path, device) => {
    const filesystems = [{ device, format: 'xfs', wipeFilesystem: true }];
    expect(await refused({ filesystems }, { ...target, path })).toBe(`wipeFilesystem on ${device}`);
  });

  it.each(['/dev/mapper/mpatha5', '/dev/disk/by-label/var', '/dev/disk/by-id/dm-name-mpatha5'])(
    'refuses wipes of a kept partition of a multipath device named %s',
    async (device) => {
      const links = ['/dev/disk/by-partuuid/25000-uuid', device];
      const multipath = links.reduce(
        (known, link) => known.withLink(link, '/dev/dm-5'),
        fakeHost().withFile('/dev/dm-5', ''),
      );
      const storage = { filesystems: [{ device, format: 'xfs', wipeFilesystem: true }] };
      const text = JSON.stringify({ ignition: { version: '3.2.0' }, storage });
      const of = { ...target, path: '/dev/dm-0', asked: '/dev/disk/by-id/wwn-0x5', byId: [] };
      await expect(refuseWipes({ host: multipath, signal }, of, text)).rejects.toThrow(device);
    },
  );

  it('accepts every wipe of a disk without kept partitions', async () => {
    const storage = { disks: [{ device: '/dev/sda', wipeTable: true }] };
    for (const kept of [undefined, []])
      expect(await refused(storage, { ...target, kept })).toBeUndefined();
  });

  it.each(['merge', 'replace'])('refuses wipes in an embedded config (%s)', async (key) => {
    const inner = (storage: object, config: object = {}): string =>
      JSON.stringify({ ignition: { version: '3.2.0', config }, storage });
    const dataUrl = (text: string, compression?: 'gzip') => {
      const bytes = compression === undefined ? Buffer.from(text) : gzipSync(text);
      return { source: `data:;base64,${bytes.toString('base64')}`, compression };
    };
    const wipes = inner({ disks: [{ device: byId, wipeTable: true }] });
    const entry = dataUrl(inner({}, { merge: [dataUrl(wipes, 'gzip')] }));
    const remote = { source: 'https://config.example.com/worker' };
    const config = key === 'merge' ? { merge: [remote, entry] } : { replace: entry };
    await expect(refuseWipes({ host, signal }, target, inner({}, config))).rejects.toMatchObject({
      code: 'disk.keep-wiped',
    });
  });

  it('accepts storage that keeps the data or is on other disks', async () => {
    const storage = {
      disks: [
        { device: '/dev/sdb', wipeTable: true },
        { device: byId, wipeTable: false, partitions: [{ label: 'data', number: 5 }] },
      ],
      filesystems: [
        { device: data, format: 'xfs', path: '/var/data', wipeFilesystem: false },
        { device: '/dev/disk/by-partlabel/root', format: 'xfs', wipeFilesystem: true },
        { device: '/dev/disk/by-id/ata-other-part5', format: 'xfs', wipeFilesystem: true },
        { device: '/dev/sdb5', format: 'xfs', wipeFilesystem: true },
      ],
      luks: [{ name: 'd', device: data, clevis: { tpm2: true } }],
      raid: [{ name: 'd', level: 'raid1', devices: ['/dev/sdb1', '/dev/sdc1'] }],
    };
    expect(await refused(storage)).toBeUndefined();
    await expect(
      refuseWipes({ host, signal }, target, '{"ignition":{"version":"3.2.0"}}'),
    ).resolves.toBeUndefined();
  });
});

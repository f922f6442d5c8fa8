import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  coreOsDisk,
  keptPartition,
  sfdiskOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { argsToKeep, readTable, refuseWipes, requireKeepable, tableArgv } from './kept.ts';
import { espType } from './block-devices.ts';
import type { KeptPartition } from './facts.ts';

const { signal } = new AbortController();
const disk = { path: '/dev/sda', sectorBytes: 512 };

describe('readTable', () => {
  it('reads numbers, labels and places in bytes', async () => {
    const host = fakeHost()
      .on(tableArgv('/dev/sda'))
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
  ])('takes %s for number %i, in sectors of 4096 bytes too', async (node, number) => {
    const partitions = [{ node, start: 256, size: 256, uuid: 'A' }];
    const table = JSON.stringify({ partitiontable: { label: 'gpt', partitions } });
    const host = fakeHost().on(tableArgv('/dev/sda')).prints(table);
    expect(await readTable(host, { ...disk, sectorBytes: 4096 }, signal)).toMatchObject([
      { number, startBytes: 2 ** 20, sizeBytes: 2 ** 20, partUuid: 'a' },
    ]);
  });

  it('finds nothing to keep where there is no GPT', async () => {
    const none = 'sfdisk: /dev/sda: does not contain a recognized partition table';
    const dos =
      '{"partitiontable": {"label": "dos", "partitions": [{"node": "/dev/sda1", "start": 1, "size": 1}]}}';
    for (const host of [
      fakeHost().on(tableArgv('/dev/sda')).fails(1, none),
      fakeHost().on(tableArgv('/dev/sda')).prints(dos),
    ])
      expect(await readTable(host, disk, signal)).toEqual([]);
  });

  it('refuses a GPT that sfdisk takes for the one partition of its protective MBR', async () => {
    const partitions = [{ node: '/dev/sda1', start: 1, size: 262_143, type: 'ee' }];
    const table = JSON.stringify({ partitiontable: { label: 'dos', partitions } });
    const host = fakeHost().on(tableArgv('/dev/sda')).prints(table);
    await expect(readTable(host, disk, signal)).rejects.toMatchObject({
      code: 'disk.keep-refused',
    });
  });

  it('fails where the table cannot be read', async () => {
    const host = fakeHost().on(tableArgv('/dev/sda')).fails(1, 'sfdisk: cannot open /dev/sda');
    await expect(readTable(host, disk, signal)).rejects.toMatchObject({
      code: 'command.unreadable',
    });
  });
});

describe('requireKeepable', () => {
  const gibibyte = 1024 ** 3;
  const data = keptPartition(5, 'data', 1024);
  const logs = keptPartition(6, 'logs', 2048);
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => keptPartition(index + 1, '', 1024 * (index + 1)));
  const require = (
    kept: readonly KeptPartition[],
    sizeBytes = 1000 * gibibyte,
    sectorBytes = 512,
  ) => requireKeepable({ path: '/dev/sda', sizeBytes, sectorBytes, kept });

  it.each([
    ['no partition', []],
    ['one behind another', [logs, data]],
    ['the last number of the table', [{ ...data, number: 128 }]],
    ['as many as there is room for beside those of the image', many(124)],
  ])('takes %s', (_, kept) => {
    expect(() => require(kept)).not.toThrow();
  });

  it.each([
    ['a number above 128', [{ ...data, number: 130 }], /number 130/],
    ['more than there is room for beside those of the image', many(125), /number 129/],
    ['two with one GUID', [data, { ...logs, partUuid: data.partUuid }], /5 and 6 have one GUID/],
    ['one that reaches over another', [{ ...data, sizeBytes: gibibyte + 512 }, logs], /5 reaches/],
    ['one without a size', [{ ...data, sizeBytes: 0 }], /5 reaches/],
  ])('refuses %s', (_, kept, why) => {
    expect(() => require(kept)).toThrow(why);
  });

  it.each([
    [512, 33],
    [4096, 5],
  ])('leaves room for the second table in sectors of %i bytes', (sectorBytes, sectors) => {
    const end = 2 * gibibyte + sectors * sectorBytes;
    expect(() => require([data], end, sectorBytes)).not.toThrow();
    expect(() => require([data], end + sectorBytes - 1, sectorBytes)).not.toThrow();
    expect(() => require([data], end - sectorBytes, sectorBytes)).toThrow(/5 reaches/);
  });
});

describe('argsToKeep', () => {
  const data = keptPartition(3, 'data', 9000);
  const logs = keptPartition(5, 'logs', 11_000);
  const ext4 = { ...data, content: 'ext4', contentLabel: 'data' };
  const image = [keptPartition(3, 'boot', 129), keptPartition(4, 'root', 513)];
  const byNumber = ['-n', '--save-partindex', '3'];
  const keep = (
    kept: readonly KeptPartition[] | undefined,
    [args, file = '']: readonly [args: readonly string[], file?: string | undefined],
    table: readonly KeptPartition[],
  ) =>
    argsToKeep(
      {
        disk: { path: '/dev/sda', ...(kept === undefined ? {} : { kept }) },
        args,
        savedByFiles: file === '' ? [] : [{ option: 'save-partindex', value: file }],
      },
      table,
    );

  it('passes the arguments on while they choose what was there', () => {
    expect(keep([data], [byNumber], [data, logs])).toBe(byNumber);
    for (const now of [ext4, data]) expect(keep([ext4], [byNumber], [now])).toBe(byNumber);
    expect(keep([data, logs], [['--save-partlabel', '*']], [data, logs])).toHaveLength(2);
  });

  it.each([
    ['its number is that of the image now', [data], byNumber],
    ['its label fits one of the image too', [data], ['-n', '--save-partlabel=?*']],
  ])('names what was there by its present number when %s', (_, kept, args) => {
    const table = [...image, { ...data, number: 5 }];
    expect(keep(kept, [args], table)).toEqual(['-n', '--save-partindex', '5']);
  });

  it('names more than one, and none where there was none', () => {
    const table = [...image, { ...data, number: 5 }, { ...logs, number: 6 }];
    expect(keep([data, logs], [['--save-partindex', '3-']], table)).toEqual([
      '--save-partindex',
      '5,6',
    ]);
    expect(keep([], [byNumber], image)).toEqual(['-n']);
  });

  it.each([
    ['is gone', [data], byNumber, image],
    ['has moved', [data], byNumber, [{ ...data, startBytes: 1 }]],
    ['has another size', [data], byNumber, [{ ...data, sizeBytes: 1 }]],
    ['is another one', [data], byNumber, [{ ...data, partUuid: 'b' }]],
    ['has a file system now', [data], byNumber, [{ ...data, content: 'xfs' }]],
    ['has another label', [ext4], byNumber, [{ ...ext4, contentLabel: 'boot' }]],
    ['has come since', [data], ['--save-partlabel', '*'], [data, logs]],
    ['has come where nothing was found', undefined, byNumber, [data]],
    ['of the image would be kept by a file', [data], [], [...image, { ...data, number: 5 }], '3'],
  ])('refuses when a partition %s', (...[, kept, args, table, file]) => {
    expect(() => keep(kept, [args, file], table)).toThrow(
      expect.objectContaining({ code: 'disk.keep-changed' }),
    );
  });

  it('names what a file names by its old number too', () => {
    const table = [image[1] ?? data, { ...data, number: 5 }];
    expect(keep([data], [[], '3'], table)).toEqual(['--save-partindex', '5']);
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
    .withLink(byPath, '/dev/sda')
    .withLink('/dev/disk/by-label/var', '/dev/sda5');
  const refused = async (storage: object): Promise<string | undefined> => {
    const text = JSON.stringify({ ignition: { version: '3.2.0' }, storage });
    try {
      await refuseWipes({ host, signal }, target, text);
      return undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: 'disk.keep-wiped' });
      return (error as Error).message.split('this host: ')[1];
    }
  };
  const data = '/dev/disk/by-partlabel/data';

  it.each([
    ...['/dev/sda', '/dev/disk/by-id/wwn-0x5', byId, byPath, '/dev/disk/by-id/coreos-boot-disk'],
  ])('knows the disk as %s', async (device) => {
    const partitions = [
      { label: 'data', number: 0, wipePartitionEntry: true },
      { number: 5, wipePartitionEntry: true },
      { label: 'logs', number: 6, wipePartitionEntry: true },
      { label: 'data2', number: 0 },
    ];
    expect(await refused({ disks: [{ device, wipeTable: true, partitions }] })).toBe(
      `wipeTable of ${device}; wipePartitionEntry of "data" on ${device}; wipePartitionEntry of 5 on ${device}`,
    );
  });

  it.each([data, '/dev/disk/by-partuuid/25000-uuid', '/dev/disk/by-label/var', '/dev/sda5'])(
    'knows what is kept as %s',
    async (device) => {
      const wiped = {
        filesystems: [{ device, format: 'xfs', path: '/var/data', wipeFilesystem: true }],
        luks: [{ name: 'd', device, wipeVolume: true, clevis: { tpm2: true } }],
        raid: [{ name: 'd', level: 'raid1', devices: [device, '/dev/sdb1'] }],
      };
      expect(await refused(wiped)).toBe(
        `wipeFilesystem of ${device}; wipeVolume of ${device}; RAID "d" of ${device}`,
      );
    },
  );

  describe('with a number that the image has too', () => {
    const low = {
      ...target,
      kept: [keptPartition(1, 'data', 25_000), keptPartition(4, 'logs', 9)],
    };
    const wiping = (storage: object) => {
      const text = JSON.stringify({ ignition: { version: '3.2.0' }, storage });
      return refuseWipes({ host, signal }, low, text);
    };
    const filesystem = (device: string) => ({
      filesystems: [{ device, format: 'xfs', path: '/var/data', wipeFilesystem: true }],
    });

    it.each(['/dev/sda5', '/dev/sda6', `${byId}-part5`, `${byPath}-part6`])(
      'knows what is kept as %s',
      async (device) => {
        const code = 'disk.keep-wiped';
        await expect(wiping(filesystem(device))).rejects.toMatchObject({ code });
        const partitions = [{ number: Number(device.slice(-1)), wipePartitionEntry: true }];
        await expect(wiping({ disks: [{ device: byPath, partitions }] })).rejects.toMatchObject({
          code,
        });
      },
    );

    it.each(['/dev/sda7', `${byId}-part7`, '/dev/disk/by-id/ata-other-part5'])(
      'takes what wipes %s',
      async (device) => {
        await expect(wiping(filesystem(device))).resolves.toBeUndefined();
      },
    );
  });

  it.each(['merge', 'replace'])('knows what a config inside it wipes (%s)', async (key) => {
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

  /** What is said to be wrong with the storage of a config, where it does not fit what is kept. */
  const mismatchIn = async (
    storage: object,
    kept: readonly KeptPartition[],
  ): Promise<string | undefined> => {
    const text = JSON.stringify({ ignition: { version: '3.3.0' }, storage });
    try {
      await refuseWipes({ host, signal }, { ...target, kept }, text);
      return undefined;
    } catch (error) {
      expect(error).toMatchObject({ code: 'disk.keep-mismatch' });
      return (error as Error).message.split('this host: ')[1];
    }
  };

  describe('a partition that Ignition would neither find as it is kept nor make', () => {
    const linuxType = '0fc63daf-8483-4772-8e79-3d69d8477de4';
    const found = target.kept.map((one) => ({ ...one, typeGuid: linuxType }));
    const misfit = (partition: object, kept = found): Promise<string | undefined> =>
      mismatchIn(
        {
          disks: [
            { device: '/dev/sdb', partitions: [partition] },
            { device: byId, partitions: [partition] },
          ],
        },
        kept,
      );
    const whole = { number: 5, label: 'data', startMiB: 25_000, sizeMiB: 1024 };

    it.each<[object, string]>([
      [{ number: 5, label: 'logs' }, '5 "logs": label "data"'],
      [{ number: 5, startMiB: 25_001 }, '5: startMiB 25000'],
      [{ ...whole, sizeMiB: 1025 }, '5 "data": sizeMiB 1024'],
      [{ ...whole, sizeMiB: 1023, resize: true }, '5 "data": sizeMiB 1024'],
      [{ number: 5, guid: '01234567-89AB-CDEF-EDCB-A98765432101' }, '5: guid 25000-uuid'],
      [{ number: 5, typeGuid: espType }, `5: typeGuid ${linuxType}`],
      [{ number: 5, shouldExist: false }, '5: shouldExist true'],
      [{ number: 0, label: 'data' }, '0 "data": number 5'],
      [{ number: 6, label: 'data' }, '6 "data": number 5'],
      [{ number: 0, label: 'new', startMiB: 25_000, sizeMiB: 0 }, '0 "new": number 5'],
      [{ number: 6, label: 'new', startMiB: 24_000, sizeMiB: 1001 }, '6 "new": number 5'],
      [{ number: 6, label: 'new', startMiB: 26_023, sizeMiB: 1001 }, '6 "new": number 5'],
    ])('is refused: %j', async (partition, says) => {
      expect(await misfit(partition)).toBe(`partition ${says} of the kept one`);
    });

    it.each<object>([
      whole,
      { ...whole, guid: '25000-UUID', resize: true, sizeMiB: 2000 },
      { number: 5, label: 'data', startMiB: 25_000, sizeMiB: 0 },
      { number: 5, guid: '', typeGuid: '' },
      { number: 5, typeGuid: linuxType.toUpperCase() },
      { number: 4, label: 'root', resize: true, sizeMiB: 0 },
      { number: 0, label: 'new' },
      { number: 0, label: 'new', sizeMiB: 30_000 },
      { number: 6, label: 'new', startMiB: 24_000, sizeMiB: 1000 },
      { number: 6, label: 'new', startMiB: 26_024, sizeMiB: 0 },
      { number: 6, shouldExist: false },
    ])('is none: %j', async (partition) => {
      expect(await misfit(partition)).toBeUndefined();
    });

    it('is told by the number that it has after the write', async () => {
      const low = [keptPartition(4, 'data', 25_000)];
      expect(await misfit(whole, low)).toBeUndefined();
      expect(await misfit({ ...whole, number: 4 }, low)).toBe(
        'partition 4 "data": number 5 of the kept one',
      );
    });
  });

  describe('content at which Ignition stops', () => {
    const ext4 = { ...keptPartition(5, 'data', 25_000), content: 'ext4', contentLabel: 'var' };
    const luks = { ...ext4, content: 'crypto_LUKS', contentLabel: '' };
    const keyFile = { source: 'data:,key' };
    const misfit = (storage: object, kept: readonly KeptPartition[] = [ext4]) =>
      mismatchIn(storage, kept);
    const filesystem = (differs: object) => ({
      filesystems: [{ device: data, path: '/var/data', format: 'ext4', ...differs }],
    });
    const volume = (differs: object) => ({ luks: [{ name: 'd', device: data, ...differs }] });

    it.each<[object, string]>([
      [filesystem({ format: 'xfs' }), `filesystem of ${data}: format ext4`],
      [filesystem({ format: 'none' }), `filesystem of ${data}: format ext4`],
      [filesystem({ label: 'data' }), `filesystem of ${data}: label "var"`],
      [volume({ keyFile }), `luks "d" of ${data}: content ext4`],
    ])('is refused: %j', async (storage, says) => {
      expect(await misfit(storage)).toBe(`${says} of the kept one`);
    });

    it.each(['/dev/sda5', `${byId}-part5`, '/dev/disk/by-label/var'])(
      'is refused on %s',
      async (device) => {
        const storage = { filesystems: [{ device, format: 'xfs' }] };
        expect(await misfit(storage)).toContain(`filesystem of ${device}: format ext4`);
      },
    );

    it('is known by the number that the partition has after the write', async () => {
      const kept = [
        { ...ext4, number: 4 },
        { ...keptPartition(5, 'logs', 30_000), content: 'xfs' },
      ];
      const storage = (format: string) => ({ filesystems: [{ device: '/dev/sda5', format }] });
      expect(await misfit(storage('ext4'), kept)).toBeUndefined();
      expect(await misfit(storage('xfs'), kept)).toContain('format ext4');
      const byLabel = { filesystems: [{ device: '/dev/disk/by-label/var', format: 'xfs' }] };
      expect(await misfit(byLabel, kept)).toBeUndefined();
    });

    it.each([
      {},
      { clevis: { tpm2: true }, keyFile },
      { clevis: { tang: [{ url: 'https://tang.example.com' }] }, keyFile },
      { clevis: { custom: { pin: 'sss', config: '{}' } }, keyFile },
      { clevis: { threshold: 1 }, keyFile },
      { label: 'vault', keyFile },
    ])('is an encrypted volume that Ignition cannot open again: %j', async (differs) => {
      expect(await misfit(volume(differs), [luks])).toContain('luks "d" of');
    });

    it.each<[object, KeptPartition]>([
      [filesystem({}), ext4],
      [filesystem({ label: 'var' }), ext4],
      [filesystem({ format: undefined }), ext4],
      [filesystem({ format: 'xfs', device: '/dev/sdb1' }), ext4],
      [filesystem({ format: 'xfs' }), keptPartition(5, 'data', 25_000)],
      [volume({ clevis: {}, keyFile }), luks],
      [volume({ label: '', keyFile }), luks],
      [volume({ clevis: { tpm2: true } }), keptPartition(5, 'data', 25_000)],
    ])('is none: %j on %j', async (storage, kept) => {
      expect(await misfit(storage, [kept])).toBeUndefined();
    });
  });

  it('takes what keeps data, and what is of other disks', async () => {
    const storage = {
      disks: [
        { device: '/dev/sdb', wipeTable: true },
        { device: byId, wipeTable: false, partitions: [{ label: 'data', number: 5 }] },
      ],
      filesystems: [
        { device: data, format: 'xfs', path: '/var/data', wipeFilesystem: false },
        { device: '/dev/disk/by-partlabel/root', format: 'xfs', wipeFilesystem: true },
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

import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { any, type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import type { BlockDevice } from './block-devices.ts';
import {
  checkErase,
  distinctName,
  type ErasedDisk,
  eraseDisk,
  nvmeErasuresOf,
  parseSanitizeLog,
} from './erase.ts';

const gibibyte = 1024 ** 3;
const blkdiscard = (option: string, offset: number, length: number) => [
  ...['blkdiscard', option, '--step', '268435456'],
  ...['--offset', String(offset), '--length', String(length), '/dev/sda'],
];

/** A host with disks that are not in use. */
const hostWith = (...disks: readonly BlockDevice[]): FakeHost => {
  const host = fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(...disks));
  for (const program of ['wipefs', 'udevadm', 'blockdev', 'blkdiscard'])
    host.on([program, rest]).succeeds();
  return host
    .on(['blkdiscard', '--secure', rest])
    .fails(1, 'BLKSECDISCARD ioctl failed: Operation not supported');
};

const sda = blockDevice('sda', { serial: 'S1', sizeBytes: 20 * gibibyte });
const nvme = blockDevice('nvme0n1', { serial: 'N1' });
const withoutNvme = (): FakeHost => hostWith(nvme).on(['nvme', rest]).isMissing();

/**
 * A drive with these abilities; its log returns the given texts in turn and then repeats the last.
 */
const nvmeHost = (
  able: { readonly oacs?: number; readonly fna?: number; readonly sanicap?: number },
  logs: readonly string[] = ['0x101'],
  namespaces = '[   0]:0x1',
): FakeHost => {
  let reads = 0;
  return hostWith(nvme)
    .on(['nvme', rest])
    .succeeds()
    .on(['nvme', 'id-ctrl', '/dev/nvme0n1', '--output-format=json'])
    .prints(JSON.stringify({ oacs: 0, fna: 0, sanicap: 0, ...able }))
    .on(['nvme', 'list-ns', rest])
    .prints(namespaces)
    .on(['nvme', 'sanitize-log', any])
    .answers(() => {
      const status = logs[Math.min(reads, logs.length - 1)] ?? '';
      reads += 1;
      return sanitizeLog(status, '23297');
    });
};

const sanitizeLog = (status: string, progress = '65535'): string =>
  `Sanitize Progress                      (SPROG) :  ${progress}\nSanitize Status                        (SSTAT) :  ${status}\nSanitize Command Dword 10 Information (SCDW10) :  0x2\n`;

const erasing = (host: FakeHost) =>
  host.ran.filter(
    ([program, word]) =>
      program === 'blkdiscard' || (program === 'nvme' && /^(sanitize|format)$/.test(word ?? '')),
  );

async function erased(host: FakeHost, device: BlockDevice, signal = new AbortController().signal) {
  let result: ErasedDisk | undefined;
  const report = (one: ErasedDisk): void => void (result = one);
  const end = await tryStep(eraseDisk(report), { host, signal, facts: { disk: targetOf(device) } });
  return { ...end, method: result?.method };
}

describe('disk/check-erase', () => {
  const check = (
    confirm: string | undefined,
    { device = sda, host = hostWith(device), config = {} } = {},
  ) => tryStep(checkErase(confirm), { host, config, facts: { disk: targetOf(device) } });

  it('accepts an unused disk that is confirmed by its serial number', async () => {
    const { failure, notes } = await check('S1');
    expect(failure).toBeUndefined();
    expect(notes).toEqual([
      'info: /dev/sda (21.5 GB, S1) is erased by secure-discard, or by zeros where it has none',
    ]);
  });

  it.each<[string | undefined, string]>([
    [undefined, '/dev/sda (21.5 GB, S1) is not confirmed'],
    ...['', 'S2', 's1', '/dev/sda'].map((confirm): [string, string] => [
      confirm,
      `--confirm ${confirm} is not what /dev/sda (21.5 GB, S1) is named by`,
    ]),
  ])('refuses the confirmation %j', async (confirm, why) => {
    expect((await check(confirm)).failure).toMatchObject({
      code: 'disk.not-confirmed',
      message: `nothing was erased: ${why}`,
      hint: expect.stringContaining('--confirm "S1"') as string,
      context: { disk: '/dev/sda' },
    });
  });

  it.each([
    ['--save-partlabel', 'data'],
    ['-c', '/w.yaml'],
  ])('refuses settings that keep partitions: %s %s', async (...writerArgs) => {
    const host = hostWith(sda).withFile('/w.yaml', 'save-partindex: [5]\n');
    const { failure } = await check('S1', { host, config: { image: { writerArgs } } });
    expect(failure).toMatchObject({
      code: 'disk.keeps-partitions',
      kind: 'input',
      context: { disk: '/dev/sda' },
    });
  });

  const small = { ...sda, sizeBytes: gibibyte };
  const with1 = (mountpoint: string): BlockDevice => ({
    ...small,
    children: [partition('sda1', { mountpoints: [mountpoint] })],
  });
  it.each([
    ['the running system of any size', with1('/sysroot'), 'disk.is-live-medium'],
    ['a mount', with1('/mnt'), 'disk.busy'],
    ['swap', with1('[SWAP]'), 'disk.busy'],
    ['no size', { ...sda, sizeBytes: 0 }, 'disk.not-wiped'],
    [
      'no DASD format',
      { ...blockDevice('dasda', { sizeBytes: 0 }), serial: 'S1' },
      'disk.not-wiped',
    ],
    ['write protection', { ...sda, isReadOnly: true }, 'disk.read-only'],
  ])('refuses a disk with %s', async (_what, device, code) => {
    expect((await check('S1', { device })).failure).toMatchObject({ code });
  });

  it('refuses a disk with another serial number', async () => {
    const host = hostWith({ ...sda, serial: 'S2' });
    expect((await check('S1', { host })).failure).toMatchObject({ code: 'disk.changed' });
  });

  it('reports what will be removed, and what stays on other disks', async () => {
    const root = blockDevice('dm-0', { name: 'vg-root' });
    const device = { ...sda, children: [root] };
    const host = hostWith(device, blockDevice('sdb', { serial: 'S2' }, [root]));
    const { failure, notes } = await check('S1', { device, host });
    expect(failure).toBeUndefined();
    expect(notes).toContain('info: /dev/mapper/vg-root (lvm) uses it; it will be removed');
    expect(notes.join('\n')).toContain('/dev/sdb: its part of /dev/mapper/vg-root stays');
  });
});

describe('distinctName', () => {
  const twin = blockDevice('nvme0n2', { serial: 'N1', wwn: 'eui.02' });
  it.each<[string, readonly [BlockDevice, ...BlockDevice[]], string]>([
    ['its serial number', [{ ...nvme, wwn: 'eui.01' }], 'N1'],
    [
      'its WWN when another namespace has the same serial number',
      [{ ...nvme, wwn: 'eui.01' }, twin],
      'eui.01',
    ],
    ['its path when no identifier is unique', [{ ...nvme, wwn: 'eui.02' }, twin], '/dev/nvme0n1'],
    [
      'its path when one of two others has the same WWN',
      [{ ...nvme, wwn: 'eui.02' }, twin, { ...twin, kname: 'nvme0n3', wwn: 'eui.03' }],
      '/dev/nvme0n1',
    ],
    ['its path without identifiers', [blockDevice('loop0')], '/dev/loop0'],
  ])('is %s', (_what, [disk, ...others], name) => {
    expect(distinctName({ roots: [disk, ...others], disk })).toBe(name);
  });

  it('is the serial number of a multipath device despite its paths', () => {
    const mpath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath', serial: 'M1' });
    const roots = ['sda', 'sdb'].map((name) => blockDevice(name, { serial: 'M1' }, [mpath]));
    expect(distinctName({ roots, disk: mpath })).toBe('M1');
  });
});

describe('disk/erase', () => {
  it('overwrites a disk without secure discard in parts and reports progress', async () => {
    const host = hostWith(sda);
    const { method, failure, notes } = await erased(host, sda);
    expect(failure).toBeUndefined();
    expect(method).toBe('zeros');
    expect(erasing(host)).toEqual([
      blkdiscard('--secure', 0, 8 * gibibyte),
      blkdiscard('--zeroout', 0, 8 * gibibyte),
      blkdiscard('--zeroout', 8 * gibibyte, 8 * gibibyte),
      blkdiscard('--zeroout', 16 * gibibyte, 4 * gibibyte),
    ]);
    expect(notes.slice(1)).toEqual(
      [40, 80, 100].map((percent) => `info: ${percent} % of /dev/sda is erased`),
    );
  });

  it('reports each percent once, and ends with the last block', async () => {
    const large = { ...sda, sizeBytes: 800 * gibibyte };
    const host = hostWith(large);
    const { notes } = await erased(host, large);
    expect(notes.slice(1)).toEqual(
      Array.from({ length: 100 }, (_, at) => `info: ${at + 1} % of /dev/sda is erased`),
    );
    expect(erasing(host).at(-1)).toEqual(blkdiscard('--zeroout', 792 * gibibyte, 8 * gibibyte));
    const huge = { ...sda, sizeBytes: 1600 * gibibyte };
    expect((await erased(hostWith(huge), huge)).notes).toHaveLength(101);
  });

  it('uses secure discard when the disk supports it', async () => {
    const host = hostWith(sda).on(['blkdiscard', '--secure', rest]).succeeds();
    expect((await erased(host, sda)).method).toBe('secure-discard');
    expect(erasing(host).map(([, option]) => option)).toEqual(['--secure', '--secure', '--secure']);
  });

  it('overwrites from the start when secure discard fails midway', async () => {
    const host = hostWith(sda)
      .on(['blkdiscard', '--secure', '--step', any, '--offset', '0', rest])
      .succeeds();
    expect((await erased(host, sda)).method).toBe('zeros');
    expect(erasing(host)[2]).toEqual(blkdiscard('--zeroout', 0, 8 * gibibyte));
  });

  it('removes the partition maps of a multipath device', async () => {
    let parts = [partition('dm-1', { name: 'mpatha1' })];
    const mpath = () =>
      blockDevice('dm-0', { name: 'mpatha', type: 'mpath', sizeBytes: gibibyte }, parts);
    const host = hostWith()
      .on(['lsblk', rest])
      .answers(() => lsblkOutput(blockDevice('sda', {}, [mpath()])))
      .on(['dmsetup', rest])
      .answers(() => void (parts = []));
    const { method } = await erased(host, mpath());
    expect(method).toBe('zeros');
    expect(host.ran).toContainEqual(['dmsetup', 'remove', '--retry', 'mpatha1']);
  });

  it.each([
    ['a disk error', ['blkdiscard', '--zeroout', rest], 'fails'],
    ['a missing blkdiscard', ['blkdiscard', rest], 'isMissing'],
  ] as const)('fails on %s and reports no method', async (_what, pattern, way) => {
    const row = hostWith(sda).on([...pattern]);
    const host = way === 'fails' ? row.fails(1, 'Input/output error') : row.isMissing();
    const { failure, method } = await erased(host, sda);
    expect(failure).toMatchObject({ kind: 'host' });
    expect(method).toBeUndefined();
  });

  it.each([
    ['nvme format', () => nvmeHost({ oacs: 2 }), nvme],
    ['blkdiscard', () => hostWith(sda), sda],
  ] as const)(
    'does not run %s while the kernel refuses exclusive access',
    async (_, make, disk) => {
      const host = make()
        .on(['wipefs', '--all', '--no-act', any])
        .fails(1, 'Device or resource busy');
      expect(await erased(host, disk)).toMatchObject({ failure: { code: 'disk.busy' } });
      expect(erasing(host)).toEqual([]);
    },
  );

  it('fails when a signature is left on the disk', async () => {
    const host = hostWith(sda).on(['wipefs', '--noheadings', rest]).prints('gpt 0x200\n');
    const { failure, method } = await erased(host, sda);
    expect(failure).toMatchObject({
      code: 'disk.not-wiped',
      message: '/dev/sda was not erased: it still has gpt 0x200',
      context: { disk: '/dev/sda' },
    });
    expect(method).toBeUndefined();
    const blank = hostWith(sda).on(['wipefs', '--noheadings', rest]).prints('\n');
    expect((await erased(blank, sda)).method).toBe('zeros');
  });

  it.each<[string, () => FakeHost]>([
    ['wipefs --all /', withoutNvme],
    ['nvme sanitize-log', () => nvmeHost({ sanicap: 2 })],
    ['nvme sanitize ', () => nvmeHost({ sanicap: 2 })],
    ['nvme format', () => nvmeHost({ oacs: 2 })],
    ['blkdiscard --secure', withoutNvme],
    ['blkdiscard --zeroout', withoutNvme],
    ['blockdev --rereadpt', () => nvmeHost({ oacs: 2 })],
  ])('checks the disk again right before %s', async (command, makeHost) => {
    const lines = ({ ran }: FakeHost): readonly string[] => ran.map((argv) => argv.join(' '));
    const usual = makeHost();
    await erased(usual, nvme);
    const nth = lines(usual).findIndex((line) => line.startsWith(command));
    expect(usual.ran[nth - 1]?.[0]).toBe('lsblk');
    const polls = usual.ran.slice(0, nth).filter(([program]) => program === 'lsblk').length;
    const mounted = { ...nvme, children: [partition('nvme0n1p1', { mountpoints: ['/mnt'] })] };
    const mapped = { ...nvme, children: [blockDevice('dm-0', { name: 'vg-root' })] };
    const isCleanup = command.startsWith('wipefs');
    const erases = !isCleanup && !/sanitize-log|rereadpt/.test(command);
    for (const [later, code] of [
      [{ ...nvme, serial: 'N2' }, 'disk.changed'] as const,
      ...(isCleanup || erases ? [[mounted, 'disk.busy'] as const] : []),
      ...(erases ? [[mapped, 'disk.busy'] as const] : []),
    ]) {
      let reads = 0;
      const host = makeHost()
        .on(['lsblk', rest])
        .answers(() => {
          reads += 1;
          return lsblkOutput(reads < polls ? nvme : later);
        });
      const { failure, method, notes } = await erased(host, nvme);
      expect({ failure, method }).toMatchObject({ failure: { code }, method: undefined });
      // Another disk, or a user of it, is not a method that the drive refuses.
      const next = notes.filter((note) => note.includes('continuing with the next way'));
      expect(next).toHaveLength(command.includes('--zeroout') ? 1 : 0);
      expect(lines(host).filter((line) => line.startsWith(command))).toEqual([]);
    }
  });

  it('waits until the sanitize operation is done', async () => {
    const host = nvmeHost({ sanicap: 3 }, ['0x101', '0x2', '0x2', '0x101']);
    const { method, events } = await erased(host, nvme);
    expect(method).toBe('nvme-sanitize');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status: '35 % is erased' }),
    );
    expect(erasing(host)).toEqual([['nvme', 'sanitize', '/dev/nvme0n1', '--sanact=2']]);
    expect(host.ran.filter(([, word]) => word === 'sanitize-log')).toHaveLength(4);
  });

  it('waits for a sanitize operation of an earlier run without writing', async () => {
    const host = nvmeHost({ sanicap: 2 }, ['0x2', '0x2', '0x101']);
    const { method, notes } = await erased(host, nvme);
    expect(method).toBe('nvme-sanitize');
    expect(notes).toEqual(['info: /dev/nvme0n1 erases itself since an earlier run']);
    expect(erasing(host)).toEqual([]);
    expect(host.ran.filter(([program, word]) => program === 'wipefs' && word === '--all')).toEqual(
      [],
    );
  });

  it.each([
    ['reports a failed sanitize operation', '0x3'],
    ['never started the sanitize operation', '0x0'],
    ['reports a reserved status', '0x7'],
  ])('fails with a drive that %s', async (_, status) => {
    const { failure, method } = await erased(
      nvmeHost({ sanicap: 2 }, ['0x101', '0x2', status]),
      nvme,
    );
    expect(failure).toMatchObject({ code: 'disk.not-wiped' });
    expect(method).toBeUndefined();
  });

  it('tries the next method when the drive refuses one', async () => {
    const host = nvmeHost({ sanicap: 3, oacs: 2 })
      .on(['nvme', 'sanitize', rest])
      .fails(1, 'NVMe status: SANITIZE_FAILED');
    expect((await erased(host, nvme)).method).toBe('nvme-format');
    expect(erasing(host).map((argv) => argv.at(-1))).toEqual([
      '--sanact=2',
      '--sanact=4',
      '--ses=1',
    ]);
    // A format ends with its command.
    expect(host.ran.filter(([, word]) => word === 'sanitize-log')).toHaveLength(1);
  });

  it('counts lines of namespaces, and asks for detached ones only where there may be some', async () => {
    const host = nvmeHost({ sanicap: 2 }, ['0x101'], '[   0]:0x1 [attached]');
    expect((await erased(host, nvme)).method).toBe('nvme-sanitize');
    expect(host.ran).toContainEqual(['nvme', 'list-ns', '/dev/nvme0n1']);
  });

  it('uses no method for the whole drive when it lists no namespace', async () => {
    expect((await erased(nvmeHost({ sanicap: 3 }, ['0x101'], 'none'), nvme)).method).toBe('zeros');
  });

  it('does not erase another namespace of the drive', async () => {
    const host = nvmeHost({ sanicap: 3, oacs: 10, fna: 2 }, ['0'], '[   0]:0x1\n[   1]:0x2');
    expect((await erased(host, nvme)).method).toBe('zeros');
    expect(host.ran).toContainEqual(['nvme', 'list-ns', '/dev/nvme0n1', '--all']);
    expect(erasing(host).filter(([program]) => program === 'nvme')).toEqual([]);
  });

  it.each<[string, (host: FakeHost) => FakeHost]>([
    ['no nvme program', (host) => host.on(['nvme', rest]).isMissing()],
    ['a failing nvme command', (host) => host.on(['nvme', rest]).fails(1, 'ENOTTY')],
    ['unexpected nvme output', (host) => host.on(['nvme', rest]).prints('{"oacs":"x"}')],
  ])('overwrites the disk with %s', async (_what, without) => {
    const { method, notes } = await erased(without(hostWith(nvme)), nvme);
    expect(method).toBe('zeros');
    expect(notes[0]).toMatch(/^warn: \/dev\/nvme0n1 cannot be asked to erase itself: /);
  });
});

describe('nvmeErasuresOf', () => {
  it.each<[string, { oacs: number; fna: number; sanicap: number }, boolean, readonly string[]]>([
    [
      'prefers block erase to crypto erase',
      { oacs: 2, fna: 0, sanicap: 3 },
      true,
      ['--sanact=2', '--sanact=4', '--ses=1'],
    ],
    ['uses crypto erase alone', { oacs: 0, fna: 0, sanicap: 1 }, true, ['--sanact=4']],
    ['does not use sanitize overwrite', { oacs: 0, fna: 0, sanicap: 4 }, true, []],
    [
      'formats its own namespace beside another',
      { oacs: 2, fna: 4, sanicap: 3 },
      false,
      ['--ses=1'],
    ],
    [
      'does not format beside another namespace when a format affects all',
      { oacs: 2, fna: 1, sanicap: 3 },
      false,
      [],
    ],
    [
      'does not format beside another namespace when an erase affects all',
      { oacs: 2, fna: 2, sanicap: 3 },
      false,
      [],
    ],
    [
      'formats the only namespace when a format affects all',
      { oacs: 2, fna: 3, sanicap: 0 },
      true,
      ['--ses=1'],
    ],
  ])('%s', (...[, controller, isAlone, options]) => {
    const found = nvmeErasuresOf('/dev/nvme0n1', controller, isAlone);
    expect(found.map(({ argv }) => argv.at(-1))).toEqual(options);
  });
});

describe('parseSanitizeLog', () => {
  it.each([
    ['never run', sanitizeLog('0'), false, false, 99],
    ['done without writes since', sanitizeLog('0x101'), false, true, 99],
    ['done with deallocated blocks', sanitizeLog('0x4'), false, true, 99],
    ['running', sanitizeLog('0x2', '23297 (35.548401%)'), true, false, 35],
    ['running with a count of overwrite passes', sanitizeLog('0xa', '0'), true, false, 0],
    ['running after another one', sanitizeLog('0x102'), true, false, 99],
    ['without blanks', '(SPROG):65535\n(SSTAT):0x101', false, true, 99],
    ['failed', sanitizeLog('0x3'), false, false, 99],
  ])('reads a status: %s', (...[, text, isRunning, isDone, percent]) => {
    expect(parseSanitizeLog(text)).toEqual({ isRunning, isDone, percent });
  });

  it.each(['sanitize status: ok', '(SPROG) : 1', '(SSTAT) : 0x101'])('refuses %j', (text) => {
    expect(() => parseSanitizeLog(text)).toThrow(/sanitize/);
  });
});

it('eraseDisk reports no method when it is stopped', async () => {
  const stop = new AbortController();
  const host = hostWith(sda)
    .on(['blkdiscard', '--zeroout', rest])
    .answers(() => stop.abort(new Error('stopped')));
  expect((await erased(host, sda, stop.signal)).method).toBeUndefined();
  expect(erasing(host)).toHaveLength(2);
});

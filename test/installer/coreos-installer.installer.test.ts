import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { tinyDisk } from '../../scripts/parts/tiny-disk.ts';
import { loopbackRelay } from '../../src/adapters/image-relay/loopback-relay.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { valueMistake } from '../../src/settings/writer-args.ts';
import type { Host } from '../../src/ports/host.ts';
import { argsToKeep, readTable } from '../../src/steps/disk/kept.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { fakeWeb } from '../support/fake-web.ts';
import { compareWithRecording, progressLines, runInstaller, serveImage } from './real-installer.ts';
import { createLoopDisk, type LoopDisk, readDisk } from './loop-disk.ts';

let folder: TestFolder;
let disk: LoopDisk;
let image: string;

beforeAll(async () => {
  await ensureParts([coreosInstaller, tinyDisk]);
  folder = createTestFolder('installer');
  image = join(partFolder(tinyDisk), 'tiny-512.raw.zst');
}, 1_800_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

beforeEach(() => {
  disk = createLoopDisk(join(folder.path, 'disk.raw'), 128);
});

afterEach(() => {
  disk[Symbol.dispose]();
});

function fromFile(path = image): string[] {
  return ['--insecure', '--image-file', path];
}

function fromUrl(url: string): string[] {
  return ['--insecure', '--image-url', url];
}

/** Expects an output to be as recorded, in the terms of the recordings. */
function expectRecorded(name: string, stderr: string, more: Record<string, string> = {}): void {
  const stands = {
    [disk.device]: '/dev/vda',
    [partFolder(tinyDisk)]: '/images',
    [folder.path]: '/images',
  };
  const { recorded, fresh } = compareWithRecording(name, stderr, { ...more, ...stands });
  expect(fresh).toEqual(recorded);
}

function raw(): Buffer {
  return readFileSync(join(partFolder(tinyDisk), 'tiny-512.raw'));
}

describe('coreos-installer on a loop device', () => {
  it('writes the image from a file, byte for byte', async () => {
    const run = await runInstaller({ options: fromFile(), device: disk.device });
    expect(run.code).toBe(0);
    expect(readDisk(disk.path, 0, 64 * 1024 * 1024).equals(raw())).toBe(true);
    expectRecorded('success-file', run.stderr);
  });

  it('prints its progress about once a second during a download', async () => {
    await using server = await serveImage({ image: raw(), overSeconds: 5 });
    const run = await runInstaller({ options: fromUrl(server.imageUrl), device: disk.device });
    expect(run.code).toBe(0);
    expectRecorded('success-download', run.stderr, {
      [server.imageUrl]: 'http://images.example/tiny.raw',
    });
    expect(progressLines(run.stderr).length).toBeGreaterThanOrEqual(4);
  });

  it('fails when the download is cut, and leaves an empty partition table', async () => {
    await using server = await serveImage({ image: raw(), overSeconds: 3, cutAfter: 0.6 });
    const run = await runInstaller({ options: fromUrl(server.imageUrl), device: disk.device });
    expect(run.code).toBe(1);
    expectRecorded('cut-download', run.stderr, {
      [server.imageUrl]: 'http://images.example/tiny.raw',
    });
    expect(readDisk(disk.path, 512, 8).toString('latin1')).toBe('EFI PART');
    expect(readDisk(disk.path, 1024, 128).every((byte) => byte === 0)).toBe(true);
  });
});

describe('an image that the relay passes on', () => {
  /** Writes it by the relay, with a digest from the settings. */
  async function relayed(sha256: string) {
    const url = 'https://images.example/tiny.raw';
    const relay = loopbackRelay({ web: fakeWeb().with(url, raw()), clock: systemClock });
    const served = await relay.serve({ url, sha256 }, { signal: new AbortController().signal });
    try {
      const { code } = await runInstaller({ options: fromUrl(served.url), device: disk.device });
      return { code, failure: served.outcome().failure?.code };
    } finally {
      await served.close();
    }
  }

  it('is written byte for byte with the right digest', async () => {
    const sha256 = createHash('sha256').update(raw()).digest('hex');
    expect(await relayed(sha256)).toEqual({ code: 0, failure: undefined });
    expect(readDisk(disk.path, 0, 64 * 1024 * 1024).equals(raw())).toBe(true);
  });

  it('leaves neither boot code nor a partition with a wrong one', async () => {
    expect(await relayed('a'.repeat(64))).toEqual({ code: 1, failure: 'image.wrong-digest' });
    const [bootCode, table] = [readDisk(disk.path, 0, 440), readDisk(disk.path, 1024, 16_384)];
    expect(bootCode.every((byte) => byte === 0)).toBe(true);
    expect(table.every((byte) => byte === 0)).toBe(true);
  });
});

describe('a value of an option', () => {
  const values: readonly (readonly [option: string, values: readonly string[]])[] = [
    ['console', ['tty0', 'hvc0', 'ttysclp0', 'tty1', 'ttyX', 'TTY0', '']],
    ['console', ['ttyS0', 'ttyS', 'ttyS0,', 'ttyS0,115200', 'ttyS0,115200n', 'ttyAMA1,9600e7']],
    ['console', ['ttyS0,115200x8', 'ttyS0,9600n4', 'ttyS0,9600n9', 'ttyS0,n8']],
    ['fetch-retries', ['infinite', '0', '3', '999999999', '-1', '1.5', 'Infinite', '']],
    ['save-partindex', ['5', '5-7', '5-', '-7', '5,6-8', '4294967295']],
    ['save-partindex', ['0', '7-5', '0-3', 'x', '-', '5,,6', '5-6-7', '4294967296', '']],
    ['save-partlabel', ['data*', 'a?', 'a[b-z]', 'a,b', 'a[!b]']],
    ['save-partlabel', ['a[', 'a**', '[!]', 'a,b[']],
    ['stream-base-url', ['https://a.example/', 'a:b', 'nonsense', '', '/path', 'http://']],
  ];

  it.each(values)(
    '%s is refused exactly when coreos-installer refuses it: %j',
    async (option, all) => {
      const missing = join(folder.path, 'no-image.raw');
      const refused: string[] = [];
      for (const value of all) {
        const options = [...fromFile(missing), `--${option}=${value}`];
        const { stderr } = await runInstaller({ options, device: disk.device });
        if (!stderr.includes(missing)) refused.push(value);
      }
      expect(all.filter((value) => valueMistake({ option, value }) !== undefined)).toEqual(refused);
    },
  );
});

describe('a partition that coreos-installer keeps', () => {
  const { signal } = new AbortController();
  const kept =
    'label: gpt\n3 : start=96MiB, size=16MiB, name=data, uuid=11111111-2222-4333-8444-555555555555\n';

  it.each([
    ['by its number', 'save-partindex', '3'],
    ['by its label', 'save-partlabel', 'dat*'],
  ])('gets another number, which a resumed agent uses: %s', async (_, option, value) => {
    execFileSync('sfdisk', ['--quiet', '--no-reread', '--no-tell-kernel', disk.device], {
      input: kept,
    });
    const host = { exec: (argv: readonly string[]) => Promise.resolve(ranHere(argv)) };
    const table = () =>
      readTable(host as unknown as Host, { path: disk.device, sectorBytes: 512 }, signal);
    const [data] = await table();
    expect(data).toMatchObject({ number: 3, label: 'data', startBytes: 96 * 1024 ** 2 });
    const target = { path: disk.device, kept: data === undefined ? [] : [data] };
    const args = [`--${option}`, value];
    const saved = [{ option, value }];
    const write = async (options: readonly string[]) =>
      (await runInstaller({ options: [...fromFile(), ...options], device: disk.device })).stderr;
    const first = argsToKeep(target, args, saved, await table());
    expect(first).toEqual(['--save-partindex', '3']);
    expect(await write(first)).toContain('Saving partition 3 ("data") to new partition 5');
    const second = argsToKeep(target, args, saved, await table());
    expect(second).toEqual(['--save-partindex', '5']);
    expect(await write(second)).toContain('Saving partition 5 ("data") to new partition 5');
    expect((await table()).map(({ number, label }) => [number, label])).toEqual([
      [1, 'BIOS-BOOT'],
      [2, 'EFI-SYSTEM'],
      [3, 'boot'],
      [4, 'root'],
      [5, 'data'],
    ]);
  });
});

/** Runs a command on this machine, which need not be a live system. */
function ranHere([program = '', ...args]: readonly string[]) {
  const { stdout, stderr, status } = spawnSync(program, args, { encoding: 'utf8' });
  return { stdout, stderr, exitCode: status ?? -1, duration: 0 };
}

describe('coreos-installer fails as recorded', () => {
  it('before it touches a disk with a mounted partition', async () => {
    copyFileSync(join(partFolder(tinyDisk), 'tiny-512.raw'), disk.path);
    const part = `${disk.device}p3`;
    const mountpoint = join(folder.path, 'mnt');
    mkdirSync(mountpoint);
    // The kernel may have no parser for GPT; partx has one.
    const before = `[ -e ${part} ] || partx --add ${disk.device}; mount ${part} ${mountpoint}`;
    const run = await runInstaller({ options: fromFile(), device: disk.device, before });
    expect(run.code).toBe(1);
    expectRecorded('busy-disk', run.stderr);
  });

  it.each([
    ['without a signature', 'missing-signature', () => ['--image-file', image]],
    [
      'on an image with another sector size',
      'sector-size-mismatch',
      () => fromFile(join(partFolder(tinyDisk), 'tiny-4096.raw.zst')),
    ],
    ['on a truncated image', 'truncated-image', () => fromFile(halfImage())],
    ['on an invalid image', 'bad-image', () => fromFile(shortImage())],
  ])('%s', async (_name, recording, options) => {
    const run = await runInstaller({ options: options(), device: disk.device });
    expect(run.code).toBe(1);
    expectRecorded(recording, run.stderr);
  });

  it('on a disk smaller than the image', async () => {
    using small = createLoopDisk(join(folder.path, 'small.raw'), 32);
    const run = await runInstaller({ options: fromFile(), device: small.device });
    expect(run.code).toBe(1);
    expectRecorded('no-space', run.stderr, { [small.device]: '/dev/vda' });
  });

  it('on a missing image of the server', async () => {
    await using server = await serveImage({ image: raw() });
    const url = server.imageUrl.replace('tiny', 'absent');
    const run = await runInstaller({ options: fromUrl(url), device: disk.device });
    expect(run.code).toBe(1);
    expectRecorded('not-found', run.stderr, {
      [url]: 'http://images.example/absent.raw',
    });
  });
});

function halfImage(): string {
  const path = join(folder.path, 'half.raw.zst');
  copyFileSync(image, path);
  truncateSync(path, 20_000);
  return path;
}

function shortImage(): string {
  const path = join(folder.path, 'short.raw');
  copyFileSync(join(partFolder(tinyDisk), 'tiny-512.raw'), path);
  truncateSync(path, 4096);
  return path;
}

import { Buffer } from 'node:buffer';
import { closeSync, openSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { liveRoot } from '../../scripts/parts/scripted.ts';
import { seconds } from '../../src/model/duration.ts';
import { checkDisk } from '../../src/steps/disk/check.ts';
import { cleanDisk, formatExtraDisks } from '../../src/steps/disk/empty.ts';
import { checkErase, eraseDisk } from '../../src/steps/disk/erase.ts';
import type { TargetDisk } from '../../src/steps/disk/facts.ts';
import { lockDisk, removeStaleMounts } from '../../src/steps/disk/in-use.ts';

import { resolveDisk } from '../../src/steps/disk/resolve.ts';
import { readTarget } from '../../src/steps/disk/target.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { quickClock } from '../support/quick-clock.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { type LiveHost, startLiveHost } from './deploy-image-host.ts';
import { createLoopDisk, type LoopDisk, readDisk } from './loop-disk.ts';

let folder: TestFolder;
let live: LiveHost;
let disk: LoopDisk;

beforeAll(async () => {
  await ensurePart(liveRoot);
  folder = createTestFolder('disks');
  live = await startLiveHost(join(folder.path, 'live'));
}, 600_000);

afterAll(async () => {
  await live[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

beforeEach(() => {
  disk = createLoopDisk(join(folder.path, 'disk.raw'), 5 * 1024);
});

afterEach(() => {
  disk[Symbol.dispose]();
});

const run = () => ({
  host: live.host,
  clock: quickClock(20),
  config: { disk: { device: disk.device } },
});

const resolve = async (config: object = {}): Promise<TargetDisk> =>
  (await runStep(resolveDisk, { ...run(), config: { ...run().config, ...config } })).value;

/** Creates partitions on a disk; the kernel of this machine may have no parser for the table. */
function partition({ device }: LoopDisk, ...sizes: readonly string[]): void {
  const script = ['label: gpt', ...sizes.map((size) => `size=${size}`)].join('\\n');
  live.ask('sh', '-c', `printf '${script}\\n' | sfdisk --quiet --no-reread ${device}`);
  live.ask('sh', '-c', `partx --add ${device} || partx --update ${device}`);
}

/** Metadata 1.0 is in the last 8 KiB, at a multiple of 4. */
const superblockAt = (partitionMiB: number): number => (partitionMiB * 2048 - 16) * 512;

/**
 * Writes a superblock of metadata 1.0 at the end of the first partition (Linux, `md_p.h`), as mdadm
 * would with a kernel that has arrays.
 */
function joinArray({ path }: LoopDisk, partitionMiB: number): void {
  const at = superblockAt(partitionMiB) / 512;
  const block = Buffer.alloc(260);
  block.writeUInt32LE(0xa92b4efc, 0);
  block.writeUInt32LE(1, 4);
  block.write('any:md-boot', 32);
  block.writeUInt32LE(1, 72);
  block.writeBigUInt64LE(BigInt(at), 80);
  block.writeUInt32LE(2, 92);
  block.writeBigUInt64LE(BigInt(at), 136);
  block.writeBigUInt64LE(BigInt(at), 144);
  block.writeUInt32LE(2, 220);
  let sum = 0n;
  for (let offset = 0; offset < block.length; offset += 4)
    sum += BigInt(block.readUInt32LE(offset));
  block.writeUInt32LE(Number((sum & 0xffffffffn) + (sum >> 32n)), 216);
  const file = openSync(path, 'r+');
  writeSync(file, block, 0, block.length, 1024 ** 2 + superblockAt(partitionMiB));
  closeSync(file);
}

const signatures = (device: string): string => live.ask('wipefs', '--noheadings', device).trim();

describe('disks of a live system', () => {
  it('resolves, locks and checks the install disk', async () => {
    const target = await resolve();
    expect(target).toMatchObject({ path: disk.device, sizeBytes: 5 * 1024 ** 3, type: 'loop' });
    await runStep(lockDisk, { ...run(), facts: { disk: target } });
    const { notes } = await runStep(checkDisk, { ...run(), facts: { disk: target } });
    expect(notes.filter((note) => note.includes(disk.device))).toEqual([]);
  });

  it('lists the partitions to keep, and none without a partition table', async () => {
    const image = { writerArgs: ['--save-partindex', '2-'], allowMissingPartitions: true };
    expect((await resolve({ image })).kept).toEqual([]);
    partition(disk, '1GiB', '1GiB');
    const { kept } = await resolve({ image });
    const [startBytes, sizeBytes] = [1025 * 1024 ** 2, 1024 ** 3];
    const partUuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as string;
    expect(kept).toEqual([{ number: 2, label: '', partUuid, startBytes, sizeBytes }]);
  });

  it('names every mount point of the disk and removes stale mounts', async () => {
    partition(disk, '1GiB', '1GiB');
    const part = `${disk.device}p1`;
    live.ask('mkfs.ext2', '-q', part);
    for (const place of ['/mnt/one', '/mnt/two']) {
      live.ask('mkdir', '-p', place);
      live.ask('mount', part, place);
    }
    const target = await resolve();
    const { failure } = await tryStep(checkDisk, { ...run(), facts: { disk: target } });
    expect(failure).toMatchObject({
      code: 'disk.busy',
      context: { holders: expect.stringMatching(/\/mnt\/(one|two);.*\/mnt\/(one|two)$/) as string },
    });
    const { signal } = new AbortController();
    const scope = { host: live.host, signal };
    const found = await readTarget(live.host, target, signal);
    await removeStaleMounts(scope as never, found, ['/mnt/two', '/mnt/one']);
    const { notes } = await runStep(checkDisk, { ...run(), facts: { disk: target } });
    expect(notes.filter((note) => note.includes('/mnt'))).toEqual([]);
  });

  it('removes partitions, file systems and LVM of earlier systems', async () => {
    partition(disk, '1GiB', '1GiB');
    const [data, volume] = [`${disk.device}p1`, `${disk.device}p2`];
    live.ask('mkfs.ext2', '-q', data);
    live.ask('pvcreate', '-q', volume);
    live.ask('vgcreate', '-q', 'leftover', volume);
    const { notes } = await runStep(cleanDisk, { ...run(), facts: { disk: await resolve() } });
    expect(notes).toEqual([]);
    expect(signatures(disk.device)).toBe('');
    // The kernel has no partitions any more: the file has the bytes that a table at the same place
    // would expose.
    const at = (MiB: number, offset: number): Buffer =>
      readDisk(disk.path, MiB * 1024 ** 2 + offset, 8);
    expect(at(1, 1024 + 0x38).readUInt16LE()).toBe(0);
    expect(at(1025, 512 + 24).toString('latin1')).not.toBe('LVM2 001');
    expect(live.ask('vgs', '--noheadings')).not.toContain('leftover');
  });

  it('erases a whole disk with partitions, file systems and LVM', async () => {
    partition(disk, '1GiB', '1GiB');
    const [data, volume] = [`${disk.device}p1`, `${disk.device}p2`];
    live.ask('mkfs.ext2', '-q', '-L', 'precious', data);
    live.ask('pvcreate', '-q', volume);
    live.ask('vgcreate', '-q', 'leftover', volume);
    live.ask(
      'sh',
      '-c',
      `printf last | dd of=${disk.device} bs=1 seek=${5 * 1024 ** 3 - 4} conv=notrunc`,
    );
    const facts = { disk: await resolve() };
    const { failure } = await tryStep(checkErase('S1'), { ...run(), facts });
    expect(failure).toMatchObject({ code: 'disk.not-confirmed' });
    expect(live.ask('pvs', '--noheadings')).toContain(volume);
    await runStep(checkErase(disk.device), { ...run(), facts });
    const erased: unknown[] = [];
    await runStep(
      eraseDisk((one) => erased.push(one)),
      { ...run(), facts },
    );
    expect(erased).toEqual([{ ...facts, method: 'zeros' }]);
    expect(live.ask('vgs', '--noheadings')).not.toContain('leftover');
    live.ask('sync', disk.device);
    const mebibyte = 1024 ** 2;
    for (const at of [0, 1024 * mebibyte, 5 * 1024 * mebibyte - 4 * mebibyte])
      expect(readDisk(disk.path, at, 4 * mebibyte).every((byte) => byte === 0)).toBe(true);
  });

  it('erases nothing while a partition is mounted', async () => {
    partition(disk, '1GiB');
    const data = `${disk.device}p1`;
    live.ask('mkfs.ext2', '-q', '-L', 'precious', data);
    const facts = { disk: await resolve() };
    live.ask('mkdir', '-p', '/mnt/one');
    live.ask('mount', data, '/mnt/one');
    const ends = [checkErase(disk.device), eraseDisk(() => expect.unreachable())];
    for (const step of ends)
      expect((await tryStep(step, { ...run(), facts })).failure).toMatchObject({ kind: 'host' });
    live.ask('umount', '/mnt/one');
    expect(signatures(data)).toContain('precious');
  });

  it('does not touch a disk that is mounted in another mount namespace', async () => {
    using extra = createLoopDisk(join(folder.path, 'extra.raw'), 64);
    partition(disk, '1GiB', '1GiB');
    const data = `${disk.device}p2`;
    for (const device of [data, extra.device])
      live.ask('mkfs.ext2', '-q', '-L', 'precious', device);
    const config = { disk: { device: disk.device, format: [extra.device] } };
    const how = { ...run(), config, facts: { disk: await resolve(config) } };
    const stop = new AbortController();
    const { signal } = stop;
    const mounting = `mkdir -p /mnt/one /mnt/two && mount ${data} /mnt/one && mount ${extra.device} /mnt/two && exec sleep 600`;
    const holder = live.host
      .exec(['unshare', '--mount', 'sh', '-c', mounting], { signal, limit: seconds(600) })
      .catch(() => undefined);
    await expect
      .poll(async () => (await tryStep(checkDisk, how)).failure)
      .toMatchObject({
        code: 'disk.busy',
        context: { holders: expect.stringContaining(data) as string },
      });
    expect(live.ask('lsblk', '--noheadings', '--output', 'MOUNTPOINTS', data).trim()).toBe('');
    const image = { writerArgs: ['--save-partindex', '2'] };
    const keeping = { ...how, config: { ...config, image } };
    expect((await tryStep(checkDisk, keeping)).failure).toMatchObject({ code: 'disk.busy' });
    const { notes } = await runStep(formatExtraDisks, how);
    expect(notes.join()).toMatch(
      new RegExp(`${extra.device} was not formatted: .* Device or resource busy`),
    );
    await runStep(cleanDisk, how);
    const { failure } = await tryStep(
      eraseDisk(() => expect.unreachable()),
      how,
    );
    expect(failure).toMatchObject({ code: 'disk.busy' });
    stop.abort();
    await holder;
    expect([data, extra.device].map(signatures)).toEqual(
      [1, 2].map(() => expect.stringContaining('precious') as string),
    );
  });

  it('does not touch a disk while a loop device uses its partition', async () => {
    partition(disk, '1GiB');
    const data = `${disk.device}p1`;
    live.ask('mkfs.ext2', '-q', '-L', 'precious', data);
    const how = { ...run(), facts: { disk: await resolve() } };
    const loop = live.ask('losetup', '--find', '--show', data).trim();
    const { failure } = await tryStep(checkDisk, how);
    await runStep(cleanDisk, how);
    live.ask('losetup', '--detach', loop);
    expect(failure).toMatchObject({
      code: 'disk.busy',
      context: { holders: `${loop} (loop) uses it` },
    });
    expect(signatures(data)).toContain('precious');
  });

  it('does not touch a disk of another size with the same name', async () => {
    const target = await resolve();
    truncateSync(disk.path, 6 * 1024 ** 3);
    live.ask('losetup', '--set-capacity', disk.device);
    live.ask('mkfs.ext2', '-q', '-L', 'precious', disk.device);
    const { failure } = await tryStep(cleanDisk, { ...run(), facts: { disk: target } });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(signatures(disk.device)).toContain('precious');
  });

  it('removes partition table, array and file system of an extra disk', async () => {
    using extra = createLoopDisk(join(folder.path, 'extra.raw'), 64);
    partition(extra, '32MiB');
    const member = `${extra.device}p1`;
    live.ask('mkfs.ext4', '-q', '-L', 'boot', member, '24M');
    joinArray(extra, 32);
    expect(signatures(member)).toMatch(/linux_raid_member[\s\S]*ext4/);
    const config = { disk: { device: disk.device, format: [extra.device] } };
    const { notes } = await runStep(formatExtraDisks, {
      ...run(),
      config,
      facts: { disk: await resolve(config) },
    });
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
    expect(signatures(extra.device)).toBe('');
    // The kernel has no partition any more: the file has the bytes that a table at the same place
    // would expose.
    const zeros = (at: number, length: number) =>
      readDisk(extra.path, 1024 ** 2 + at, length).every((byte) => byte === 0);
    expect([zeros(1024 + 0x38, 2), zeros(superblockAt(32), 4)]).toEqual([true, true]);
  });
});

import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { oldUserland, oldUserlandTree } from '../../scripts/parts/old-userland.ts';
import { seconds } from '../../src/model/duration.ts';
import { checkDisk } from '../../src/steps/disk/check.ts';
import { cleanDisk } from '../../src/steps/disk/clean.ts';
import type { TargetDisk } from '../../src/steps/disk/facts.ts';
import { formatExtraDisks } from '../../src/steps/disk/format-extra.ts';
import { lockDisk, removeStaleMounts } from '../../src/steps/disk/in-use.ts';

import { resolveDisk } from '../../src/steps/disk/resolve.ts';
import { readTarget } from '../../src/steps/disk/target.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { quickClock } from '../support/quick-clock.ts';
import { runStep, tryStep } from '../support/run-step.ts';
import { type LiveHost, startLiveHost } from './deploy-image-host.ts';
import { createLoopDisk, type LoopDisk } from './loop-disk.ts';

let folder: TestFolder;
let live: LiveHost;
let disk: LoopDisk;

beforeAll(async () => {
  await ensureParts([oldUserland]);
  folder = createTestFolder('old-userland');
  live = await startLiveHost(join(folder.path, 'live'), oldUserlandTree());
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

const resolve = async (): Promise<TargetDisk> => (await runStep(resolveDisk, run())).value;

/** Partitions of a disk; the kernel of this machine may have no parser for the table. */
function partition({ device }: LoopDisk, ...sizes: readonly string[]): void {
  const script = ['label: gpt', ...sizes.map((size) => `size=${size}`)].join('\\n');
  live.ask('sh', '-c', `printf '${script}\\n' | sfdisk --quiet --no-reread ${device}`);
  live.ask('sh', '-c', `partx --add ${device} || partx --update ${device}`);
}

const signatures = (device: string): string => live.ask('wipefs', '--noheadings', device).trim();

it('is older than what the steps were written with', () => {
  expect(live.ask('lsblk', '--version')).toContain('util-linux 2.36');
});

describe('a live system with an older userland', () => {
  it('finds, locks and checks the install disk', async () => {
    const target = await resolve();
    expect(target).toMatchObject({ path: disk.device, sizeBytes: 5 * 1024 ** 3, type: 'loop' });
    await runStep(lockDisk, { ...run(), facts: { disk: target } });
    const { notes } = await runStep(checkDisk, { ...run(), facts: { disk: target } });
    expect(notes.filter((note) => note.includes(disk.device))).toEqual([]);
  });

  it('names every place where the disk is mounted, and takes mounts away again', async () => {
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

  it('sees a process that has the disk open', async () => {
    const target = await resolve();
    const stop = new AbortController();
    const holder = live.host
      .exec(['sh', '-c', `exec 9<${disk.device}; exec sleep 60`], {
        signal: stop.signal,
        limit: seconds(60),
      })
      .catch(() => undefined);
    await expect
      .poll(async () => (await tryStep(checkDisk, { ...run(), facts: { disk: target } })).failure)
      .toMatchObject({ code: 'disk.busy' });
    stop.abort();
    await holder;
  });

  it('removes what earlier systems left: partitions, file systems, LVM', async () => {
    partition(disk, '1GiB', '1GiB');
    const [data, volume] = [`${disk.device}p1`, `${disk.device}p2`];
    live.ask('mkfs.ext2', '-q', data);
    live.ask('pvcreate', '-q', volume);
    live.ask('vgcreate', '-q', 'leftover', volume);
    const { notes } = await runStep(cleanDisk, { ...run(), facts: { disk: await resolve() } });
    expect(notes).toEqual([]);
    expect([disk.device, data, volume].map(signatures)).toEqual(['', '', '']);
    expect(live.ask('vgs', '--noheadings')).not.toContain('leftover');
  });

  it('takes nothing from a disk of another size under the same name', async () => {
    const target = await resolve();
    truncateSync(disk.path, 6 * 1024 ** 3);
    live.ask('losetup', '--set-capacity', disk.device);
    live.ask('mkfs.ext2', '-q', '-L', 'precious', disk.device);
    const { failure } = await tryStep(cleanDisk, { ...run(), facts: { disk: target } });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(signatures(disk.device)).toContain('precious');
  });

  it('removes the partition tables of a further disk', async () => {
    using extra = createLoopDisk(join(folder.path, 'extra.raw'), 64);
    partition(extra, '16MiB');
    const { notes } = await runStep(formatExtraDisks, {
      ...run(),
      config: { disk: { device: disk.device, format: [extra.device] } },
      facts: { disk: await resolve() },
    });
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
    expect(signatures(extra.device)).toBe('');
  });
});

import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  coreOsDisk,
  keptPartition,
  lsblkOutput,
  partition,
  sfdiskOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { any, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { Config } from '../../config/schema.ts';
import { type BlockDevice, lsblkArgv } from './block-devices.ts';
import { checkDisk } from './check.ts';
import { openAloneArgv } from './in-use.ts';
import { tableArgv } from './kept.ts';

const lvmDisk = blockDevice('sda', {}, [
  partition('sda1', {}, [blockDevice('dm-0', { name: 'vg-a' })]),
]);
const facts = { disk: targetOf(lvmDisk) };
const hostWith = (...disks: readonly BlockDevice[]) =>
  fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(...disks))
    .on(['wipefs', '--all', '--no-act', any])
    .succeeds();

describe('disk/check', () => {
  it('previews what it reads: the table only where partitions may be kept', () => {
    const preview = (writerArgs: string[]) =>
      checkDisk.preview?.(Config.parse({ image: { writerArgs } }), facts);
    expect(preview([])).toEqual([lsblkArgv, openAloneArgv('/dev/sda')]);
    expect(preview(['--save-partlabel', 'data'])).toEqual([
      lsblkArgv,
      tableArgv('/dev/sda'),
      openAloneArgv('/dev/sda'),
    ]);
  });

  it('passes an empty disk without a note', async () => {
    const { notes } = await runStep(checkDisk, { host: hostWith(blockDevice('sda')), facts });
    expect(notes).toEqual([]);
  });

  it('reports what the cleanup will remove', async () => {
    const { notes } = await runStep(checkDisk, { host: hostWith(lvmDisk), facts });
    expect(notes).toEqual(['info: /dev/mapper/vg-a (lvm) uses it; it will be removed']);
  });

  it.each([
    ['the cleanup is disabled', { disk: { cleanup: false } }],
    ['a partition is mounted', {}],
  ])('fails with disk.busy when %s', async (_what, config) => {
    const mounted = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/data'] })]);
    const host = hostWith('disk' in config ? lvmDisk : mounted);
    const { failure } = await tryStep(checkDisk, { host, facts, config });
    expect(failure).toMatchObject({ code: 'disk.busy', kind: 'host' });
  });

  it.each([
    ['/dev/sda', ['/mnt'], 'disk.busy'],
    ['/dev/sda', [], undefined],
    ['/dev/sda1', ['/mnt'], 'disk.busy'],
    ['/dev/sda1', [], 'disk.busy'],
    ['/dev/sdb', ['/mnt'], undefined],
    ['/mnt/file.img', ['/mnt2'], undefined],
  ])('with a loop device over %s that is mounted on %j: %s', async (backing, mountpoints, code) => {
    const disks = [
      blockDevice('sda', {}, [partition('sda1')]),
      blockDevice('sdb'),
      blockDevice('loop1', { type: 'loop', mountpoints }),
    ];
    const host = hostWith(...disks).withFile('/sys/block/loop1/loop/backing_file', `${backing}\n`);
    const { failure } = await tryStep(checkDisk, { host, facts });
    if (code === undefined) expect(failure).toBeUndefined();
    else
      expect(failure).toMatchObject({
        code,
        message: expect.stringContaining('/dev/loop1 (loop) uses it') as string,
      });
  });

  it('fails with disk.busy after 30 s when the kernel refuses exclusive access to a free disk', async () => {
    const clock = fakeClock();
    const disk = blockDevice('sda', {}, [partition('sda1'), partition('sda2')]);
    const host = hostWith(disk)
      .on(openAloneArgv('/dev/sda2'))
      .fails(1, 'wipefs: error: /dev/sda2: probing initialization failed: Device or resource busy');
    const { failure } = await tryStep(checkDisk, { host, facts, clock });
    expect(failure).toMatchObject({
      code: 'disk.busy',
      message: expect.stringContaining(
        '/dev/sda2 is held by something that lsblk does not',
      ) as string,
    });
    expect(clock.now()).toBe(30_000);
  });

  it('passes old partitions on a disk that is a whole member of an array', async () => {
    const parts = [partition('sda1'), partition('sda2')];
    const disk = blockDevice('sda', {}, [
      ...parts,
      blockDevice('md126', {}, [partition('md126p1')]),
    ]);
    const host = hostWith(disk);
    await runStep(checkDisk, { host, facts });
    expect(host.ran.filter(([program]) => program === 'wipefs')).toEqual([
      openAloneArgv('/dev/md126p1'),
    ]);
  });

  it.each([
    ['when the kernel releases the disk in time', 'Device or resource busy', 5_000],
    ['when wipefs cannot read the disk', 'Input/output error', 300_000],
  ])('passes %s', async (_what, reason, until) => {
    const clock = fakeClock();
    const host = hostWith(blockDevice('sda'))
      .on(['wipefs', rest])
      .answers(() => (clock.now() < until ? { exitCode: 1, stderr: reason } : {}));
    expect((await tryStep(checkDisk, { host, facts, clock })).failure).toBeUndefined();
  });

  const kept = (...children: readonly BlockDevice[]) => ({
    host: hostWith(blockDevice('sda', {}, children))
      .on(tableArgv('/dev/sda'))
      .prints(sfdiskOutput([5, 'agentdata', 9000])),
    facts,
    config: { image: { writerArgs: ['--save-partlabel', 'agent*'] } },
  });

  it('keeps the device mapper windows of an appliance with kept partitions', async () => {
    const medium = { name: 'agentboot', type: 'dm', mountpoints: ['/run/media/iso'] };
    const { notes } = await runStep(
      checkDisk,
      kept(partition('sda5'), partition('sda6'), blockDevice('dm-0', medium)),
    );
    expect(notes).toEqual([
      'info: /dev/mapper/agentboot is mounted on /run/media/iso; it stays',
      'info: /dev/mapper/agentboot (dm) uses it; it stays',
    ]);
  });

  it('fails with disk.busy when a kept partition is mounted, in another namespace too', async () => {
    const shown = kept(partition('sda5', { mountpoints: ['/data'] }));
    expect((await tryStep(checkDisk, shown)).failure).toMatchObject({ code: 'disk.busy' });
    const hidden = kept(partition('sda5'));
    hidden.host.on(openAloneArgv('/dev/sda5')).fails(1, 'Device or resource busy');
    expect((await tryStep(checkDisk, hidden)).failure).toMatchObject({ code: 'disk.busy' });
  });

  it.each([
    ['--save-partlabel', 'data', 'agentdata'],
    ['--save-partindex', '7', '1-'],
  ])('refuses %s %s and names it when no partition matches', async (option, missing, there) => {
    const table = sfdiskOutput([1, '', 1], [5, 'agentdata', 9000]);
    const checked = (value: string, allowMissingPartitions = false) =>
      tryStep(checkDisk, {
        host: hostWith(blockDevice('sda')).on(tableArgv('/dev/sda')).prints(table),
        facts,
        config: { image: { writerArgs: [option, value], allowMissingPartitions } },
      });
    expect((await checked(`${there},${missing}`)).failure).toMatchObject({
      code: 'image.partition-missing',
      context: { missing: `${option} ${missing}` },
    });
    expect((await checked(missing, true)).failure).toBeUndefined();
    expect((await checked(there)).failure).toBeUndefined();
  });

  it('reports how much room the kept partitions leave', async () => {
    const table = sfdiskOutput([5, 'data', 8192], [6, 'logs', 20_000]);
    const kept = [keptPartition(5, 'data', 8192), keptPartition(6, 'logs', 20_000)];
    const { notes } = await tryStep(checkDisk, {
      host: hostWith(blockDevice('sda')).on(tableArgv('/dev/sda')).prints(table),
      facts: { disk: { ...facts.disk, kept } },
      config: { image: { writerArgs: ['--save-partindex', '5-'] } },
    });
    expect(notes).toEqual([
      expect.stringMatching(/keeps partition 5 "data", 6 "logs"; .* the 8\.0 GiB before/),
    ]);
  });

  it('refuses a kept partition whose file system has a label of the image', async () => {
    const old = partition('sda5', { label: 'root', partUuid: '9000-uuid' });
    const { failure } = await tryStep(checkDisk, {
      host: hostWith(blockDevice('sda', {}, [old]))
        .on(tableArgv('/dev/sda'))
        .prints(sfdiskOutput([5, '', 9000])),
      facts: { disk: { ...facts.disk, kept: [keptPartition(5, '', 9000)] } },
      config: { image: { writerArgs: ['--save-partindex', '5'] } },
    });
    expect(failure).toMatchObject({ code: 'disk.other-system' });
  });

  it('warns of shared volumes and of extra disks that it will not format', async () => {
    const volume = blockDevice('dm-0', { name: 'vg-a' });
    const host = hostWith(
      blockDevice('sda', {}, [partition('sda1', {}, [volume])]),
      blockDevice('sdb', {}, [volume]),
    );
    const { notes } = await runStep(checkDisk, {
      host,
      facts: { disk: { ...facts.disk, extra: [facts.disk] } },
      config: { disk: { format: ['/dev/sda'] } },
    });
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([
      'warn: /dev/sdb: its part of /dev/mapper/vg-a stays, with the metadata of its volume group',
      'warn: /dev/sda will not be formatted: it is the install disk',
    ]);
  });

  it('refuses another system unless its disk will be formatted', async () => {
    const other = coreOsDisk('sdb');
    const disk = { ...facts.disk, extra: [targetOf(other)] };
    const run = (...[found, format]: [BlockDevice, string[]]) =>
      tryStep(checkDisk, {
        host: hostWith(blockDevice('sda'), found),
        facts: { disk },
        config: { disk: { format } },
      });
    expect((await run(other, [])).failure).toMatchObject({
      code: 'disk.other-system',
      kind: 'input',
      context: { disk: '/dev/sda', devices: '/dev/sdb3 /dev/sdb4' },
    });
    expect((await run(other, ['/dev/sdb'])).failure).toBeUndefined();
    const busy = { ...other, mountpoints: ['/data'] };
    expect((await run(busy, ['/dev/sdb'])).failure).toMatchObject({ code: 'disk.other-system' });
  });
});

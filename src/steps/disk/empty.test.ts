import { describe, expect, it } from 'vitest';
import { minutes } from '../../model/duration.ts';
import { diskFailures } from './failures.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { any, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { cleanDisk, emptyingArgvs, formatExtraDisks } from './empty.ts';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { type BlockDevice } from './block-devices.ts';

/** A disk with volumes on one partition and an array on another; commands take them down. */
function oldDisk() {
  const present = new Set(['dm-0', 'md127']);
  const on = (kname: string, differs: Partial<BlockDevice>) =>
    present.has(kname) ? [blockDevice(kname, differs)] : [];
  const disk = () =>
    blockDevice('sda', {}, [
      partition('sda1', {}, on('dm-0', { name: 'vg-root' })),
      partition('sda2', {}, on('md127', {})),
    ]);
  const gone = (name: string) => () => {
    present.delete(name);
    return {};
  };
  const host = fakeHost()
    .on(['lsblk', rest])
    .answers(() => lsblkOutput(disk(), blockDevice('sdaa')))
    .on(['dmsetup', rest])
    .answers(gone('dm-0'))
    .on(['mdadm', '--stop', any])
    .answers(gone('md127'))
    .on(['mdadm', '--zero-superblock', any])
    .succeeds()
    .on(['wipefs', rest])
    .succeeds()
    .on(['udevadm', rest])
    .succeeds();
  return { host, present, facts: { disk: targetOf(disk()) } };
}

const changing = (ran: readonly (readonly string[])[]) =>
  ran.filter(([program = '']) => !['lsblk', 'udevadm'].includes(program));

describe('disk/clean', () => {
  it('removes volumes, arrays and signatures of this disk only, from the top', async () => {
    const { host, facts } = oldDisk();
    const { progress, notes } = await runStep(cleanDisk, { host, facts });
    expect(changing(host.ran)).toEqual([
      ['dmsetup', 'remove', '--retry', 'vg-root'],
      ['mdadm', '--stop', '/dev/md127'],
      ['mdadm', '--zero-superblock', '/dev/sda2'],
      ['wipefs', '--all', '/dev/sda1'],
      ['wipefs', '--all', '/dev/sda2'],
      ['wipefs', '--all', '/dev/sda'],
    ]);
    expect({ progress, notes }).toEqual({ progress: [], notes: [] });
  });

  it('skips a disk whose partitions a coreos-installer config file keeps', async () => {
    const { host, facts } = oldDisk();
    const config = { image: { writerArgs: ['-c', '/opt/writer.yaml'] } };
    host.withFile('/opt/writer.yaml', 'save-partlabel: [data]\n');
    const { notes } = await runStep(cleanDisk, { host, facts, config });
    expect(host.ran).toEqual([]);
    expect(notes).toEqual([
      'info: coreos-installer keeps partitions of /dev/sda; it is not cleaned',
    ]);
  });

  it('leaves an unformatted DASD to the writer', async () => {
    const target = targetOf(blockDevice('dasda', { sizeBytes: 0 }));
    const { host } = oldDisk();
    const { notes } = await runStep(cleanDisk, { host, facts: { disk: target } });
    expect(host.ran).toEqual([]);
    expect(notes).toEqual(['info: /dev/dasda is not formatted; coreos-installer formats it']);
  });

  it('logs the known phrase and reports the failure to the service when wipefs fails', async () => {
    const { host, facts } = oldDisk();
    host.on(['wipefs', '--all', '/dev/sda1']).fails(1, 'Input/output error');
    const { notes, progress } = await runStep(cleanDisk, { host, facts });
    expect(notes[0]).toMatch(
      /^warn: failed to prepare install device \/dev\/sda, err .*Input\/output/,
    );
    expect(progress).toEqual([
      {
        info: 'Could not clean install device /dev/sda. The installation will continue. If the installation fails, clean the disk and try again',
      },
    ]);
    expect(changing(host.ran).at(-1)).toEqual(['wipefs', '--all', '/dev/sda']);
  });

  it('reports no failed takedown whose device is gone', async () => {
    const { host, facts } = oldDisk();
    host.on(['mdadm', '--zero-superblock', any]).fails(2, 'mdadm: Unrecognised md component');
    const { notes, progress } = await runStep(cleanDisk, { host, facts });
    expect({ notes, progress }).toEqual({ notes: [], progress: [] });
  });

  it('reports the devices that stay, and why, after two minutes', async () => {
    const { host, facts } = oldDisk();
    const clock = fakeClock();
    await clock.advance(minutes(30));
    host.on(['dmsetup', rest]).fails(1, 'device-mapper: remove ioctl failed');
    const { notes, events } = await runStep(cleanDisk, { host, facts, clock });
    const stays =
      '/dev/sda is in use: /dev/mapper/vg-root (lvm) uses it; dmsetup ended with exit code 1: device-mapper: remove ioctl failed';
    expect(notes).toEqual([`warn: failed to prepare install device /dev/sda, err ${stays}`]);
    expect(clock.elapsed()).toBe(minutes(32));
    const wait = events.find(({ type }) => type === 'wait.updated');
    expect(wait).toMatchObject({ sentence: '/dev/sda is empty', status: stays });
  });

  it.each([
    ['for 5 s: waits', 5000, 0],
    ['for ever: leaves it to the writer', Infinity, 1],
  ])('does not force a device that is busy %s', async (...[, ms, reported]) => {
    const { host, facts } = oldDisk();
    const clock = fakeClock();
    const busy = 'wipefs: error: /dev/sda2: probing initialization failed: Device or resource busy';
    host
      .on(['wipefs', '--all', '/dev/sda2'])
      .answers(() => (clock.now() < ms ? { exitCode: 1, stderr: busy } : {}));
    const { progress, notes } = await runStep(cleanDisk, { host, facts, clock });
    expect(progress).toHaveLength(reported);
    if (reported > 0) {
      expect(notes.join()).toContain('Device or resource busy');
      expect(clock.now()).toBe(120_000);
    }
    expect(host.ran.flat()).not.toContain('--force');
  });

  it('gives up before its limit when the tools hang', async () => {
    const parts = Array.from({ length: 12 }, (_, index) => partition(`sda${index + 1}`));
    const clock = fakeClock();
    await clock.advance(minutes(30));
    const host = fakeHost({ clock })
      .on(['lsblk', rest])
      .prints(lsblkOutput(blockDevice('sda', {}, parts)))
      .on(['wipefs', rest])
      .hangs();
    const facts = { disk: targetOf(blockDevice('sda')) };
    const { notes } = await runStep(cleanDisk, { host, facts, clock });
    expect(notes[0]).toContain('could not be emptied in time');
    expect(clock.elapsed()).toBe(minutes(39));
  });

  it('wipes nothing and does not fail when the disk is mounted meanwhile', async () => {
    const { host, facts } = oldDisk();
    const isMounted = () => host.ran.some(([name]) => name === 'dmsetup');
    host.on(['lsblk', rest]).answers(() => {
      const mountpoints = isMounted() ? ['/mnt'] : [];
      return lsblkOutput(
        blockDevice('sda', {}, [
          partition('sda1', {}, [blockDevice('dm-0', { name: 'vg-root' })]),
          partition('sda2', { mountpoints }, []),
        ]),
      );
    });
    const { failure, notes } = await tryStep(cleanDisk, { host, facts });
    const destroying = changing(host.ran).filter(([name]) => /^(wipefs|mdadm)/.test(name ?? ''));
    expect([failure, destroying]).toEqual([undefined, []]);
    expect(JSON.stringify(notes)).toContain('/dev/sda is in use: /dev/sda2 is mounted on /mnt');
  });

  it.each(['dmsetup', 'mdadm', 'wipefs'])(
    'stops before %s when another disk has taken the device name',
    async (program) => {
      const { host, facts } = oldDisk();
      const mine = { ...facts.disk, serial: 'S1' };
      const disks = (serial: string) =>
        lsblkOutput(
          blockDevice('sda', { serial }, [
            partition('sda1', {}, [blockDevice('dm-0', { name: 'vg-root' })]),
            partition('sda2', {}, [blockDevice('md127')]),
          ]),
        );
      let reads = 0;
      host.on(['lsblk', rest]).answers(() => {
        reads += 1;
        return disks('S1');
      });
      await tryStep(cleanDisk, { host, facts: { disk: mine } });
      const before = host.ran.findIndex(([name]) => name === program);
      const readsBefore = host.ran.slice(0, before).filter(([name]) => name === 'lsblk').length;
      const later = oldDisk();
      reads = 0;
      later.host.on(['lsblk', rest]).answers(() => {
        reads += 1;
        return disks(reads < readsBefore ? 'S1' : 'S2');
      });
      const { failure } = await tryStep(cleanDisk, { host: later.host, facts: { disk: mine } });
      expect(failure).toMatchObject({ code: 'disk.changed' });
      expect(later.host.ran.filter(([name]) => name === program)).toEqual([]);
    },
  );

  it('takes down again an array that udev has restarted', async () => {
    const { host, facts, present } = oldDisk();
    let settled = 0;
    host.on(['udevadm', rest]).answers(() => {
      settled += 1;
      if (settled === 1) present.add('md127');
      return {};
    });
    await runStep(cleanDisk, { host, facts });
    expect(changing(host.ran).filter(([, first]) => first === '--stop')).toHaveLength(2);
    expect(present.has('md127')).toBe(false);
  });

  it.each([
    ['the cleanup is off', { disk: { cleanup: false } }],
    ['partitions are kept', { image: { writerArgs: ['--save-partindex', '5'] } }],
    ['it installs into the running root', { image: { existingRoot: 'registry.example/os:1' } }],
  ])('does not run when %s', async (_what, config) => {
    const { host, facts } = oldDisk();
    await runStep(cleanDisk, { host, facts, config });
    expect(host.ran).toEqual([]);
  });
});

it('emptyingArgvs removes a thin pool before its volumes', () => {
  const pool = blockDevice('dm-3', { name: 'vg-pool' });
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [
      blockDevice('dm-1', { name: 'vg-pool_tmeta' }, [pool]),
      blockDevice('dm-2', { name: 'vg-pool_tdata' }, [pool]),
    ]),
  ]);
  expect(emptyingArgvs(disk)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-pool'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tmeta'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tdata'],
    ['wipefs', '--all', '/dev/sda1'],
    ['wipefs', '--all', '/dev/sda'],
  ]);
});

it('emptyingArgvs stops an array after its volumes and clears only the superblocks of this disk', () => {
  const array = blockDevice('md127', {}, [blockDevice('dm-0', { name: 'vg-a' })]);
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [array]),
    partition('sda2'),
    partition('sda3', {}, [array]),
  ]);
  expect(emptyingArgvs(disk).slice(0, 4)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-a'],
    ['mdadm', '--stop', '/dev/md127'],
    ['mdadm', '--zero-superblock', '/dev/sda1'],
    ['mdadm', '--zero-superblock', '/dev/sda3'],
  ]);
});

it('emptyingArgvs removes a whole disk from its array', () => {
  expect(emptyingArgvs(blockDevice('sda', {}, [blockDevice('md0')]))).toEqual([
    ['mdadm', '--stop', '/dev/md0'],
    ['mdadm', '--zero-superblock', '/dev/sda'],
    ['wipefs', '--all', '/dev/sda'],
  ]);
});

const target = blockDevice('sda');
const extra = blockDevice('sdb', {}, [partition('sdb1')]);
const facts = { disk: { ...targetOf(target), extra: [targetOf(extra)] } };
const newHost = () =>
  fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(target, extra))
    .on(['wipefs', rest])
    .succeeds()
    .on(['udevadm', rest])
    .succeeds();
const config = { disk: { format: ['/dev/sdb'] } };
const written = (host: ReturnType<typeof newHost>) =>
  host.ran.filter(([program]) => program !== 'lsblk');

describe('disk/format-extra', () => {
  it('empties an extra disk without --force', async () => {
    const host = newHost();
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(written(host)).toEqual([
      ['wipefs', '--all', '/dev/sdb1'],
      ['wipefs', '--all', '/dev/sdb'],
      ['udevadm', 'settle', '--timeout=30'],
    ]);
    expect(notes).toEqual(['info: /dev/sdb has no partition table any more']);
  });

  it('warns of an extra disk that keeps a signature', async () => {
    const host = newHost().on(['wipefs', '--all', '/dev/sdb1']).fails(1, 'Input/output error');
    const { notes, events } = await runStep(formatExtraDisks, { host, facts, config });
    expect(notes).toEqual([
      'warn: /dev/sdb was not formatted: wipefs ended with exit code 1: Input/output error',
    ]);
    const { hint } = diskFailures['disk.not-formatted'];
    expect(events.find(({ type }) => type === 'note')).toMatchObject({
      fields: { code: 'disk.not-formatted', hint },
    });
  });

  it('reads nothing when no disk is to be formatted', async () => {
    const host = newHost();
    await runStep(formatExtraDisks, { host, facts, config: { disk: { format: [] } } });
    expect(host.ran).toEqual([]);
  });

  it('formats neither the install disk nor an unknown disk', async () => {
    const host = newHost();
    const { notes } = await runStep(formatExtraDisks, {
      host,
      facts: { disk: { ...targetOf(target), extra: [targetOf(target)] } },
      config: { disk: { format: ['/dev/sda', '/dev/sdx'] } },
    });
    expect(written(host)).toEqual([]);
    expect(notes).toEqual([
      'warn: /dev/sda was not formatted: it is the install disk',
      'warn: /dev/sdx was not formatted: /dev/sdx is not a disk of this host',
    ]);
  });

  it.each([0, 1, 2])('stops after %d commands when the disk has been replaced', async (after) => {
    const host = newHost();
    let done = 0;
    const writes = (): object => {
      done += 1;
      return {};
    };
    for (const program of ['wipefs', 'udevadm']) host.on([program, rest]).answers(writes);
    const disks = (serial: string) => lsblkOutput(target, { ...extra, serial });
    host.on(['lsblk', rest]).answers(() => disks(done < after ? 'S1' : 'S2'));
    const disk = { ...targetOf(target), extra: [targetOf({ ...extra, serial: 'S1' })] };
    const { notes } = await runStep(formatExtraDisks, { host, facts: { disk }, config });
    expect(done).toBe(after);
    expect(notes).toEqual([
      'warn: /dev/sdb was not formatted: /dev/sdb is another disk now: its serial number is S2',
    ]);
  });

  it('formats no disk whose name matches another disk too', async () => {
    const asked = '/dev/disk/by-id/wwn-0x50';
    const twins = [
      blockDevice('sdb', { serial: 'S1', wwn: '0x50' }),
      blockDevice('sdc', { serial: 'S2', wwn: '0x50' }),
    ];
    const host = newHost()
      .on(['lsblk', rest])
      .prints(lsblkOutput(target, ...twins));
    const disk = { ...targetOf(target), extra: [{ ...targetOf(twins[0]!), asked }] };
    const { notes } = await runStep(formatExtraDisks, {
      host,
      facts: { disk },
      config: { disk: { format: [asked] } },
    });
    expect(written(host)).toEqual([]);
    expect(notes).toEqual([
      `warn: ${asked} was not formatted: its name fits /dev/sdb (S1) and /dev/sdc (S2)`,
    ]);
  });

  it('fails when a disk that cannot be formatted would break the first boot', async () => {
    const other = { ...extra, children: [partition('sdb1', { label: 'boot' })] };
    const host = newHost().on(['lsblk', rest]).prints(lsblkOutput(target, other));
    const { failure } = await tryStep(formatExtraDisks, { host, facts, config });
    expect(failure).toMatchObject({ code: 'disk.other-system', context: { devices: '/dev/sdb1' } });
  });
});

import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { any, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { cleanDisk } from './clean.ts';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { type BlockDevice } from './block-devices.ts';

/** A disk with volumes on a partition and an array on another, which commands take down. */
function oldDisk() {
  const present = new Set(['dm-0', 'md127', 'vg', 'pv']);
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
    .on(['vgs', rest])
    .answers(() => (present.has('vg') ? '  vg /dev/sda1\n  far /dev/sdaa\n' : '  far /dev/sdaa'))
    .on(['pvs', rest])
    .answers(() => (present.has('pv') ? '  /dev/sda1\n  /dev/sdaa\n' : '  /dev/sdaa\n'))
    .on(['vgchange', rest])
    .answers(gone('dm-0'))
    .on(['vgremove', rest])
    .answers(gone('vg'))
    .on(['pvremove', rest])
    .answers(gone('pv'))
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
  ran.filter(([program = '']) => !['lsblk', 'vgs', 'pvs', 'udevadm'].includes(program));

describe('disk/clean', () => {
  it('removes volumes, arrays and signatures from the top, and only of this disk', async () => {
    const { host, facts } = oldDisk();
    const { progress, notes } = await runStep(cleanDisk, { host, facts });
    expect(changing(host.ran)).toEqual([
      ['vgchange', '--activate', 'n', 'vg'],
      ['vgremove', 'vg', '-y'],
      ['pvremove', '/dev/sda1', '-y', '-ff'],
      ['mdadm', '--stop', '/dev/md127'],
      ['mdadm', '--zero-superblock', '/dev/sda2'],
      ['wipefs', '--all', '/dev/sda1'],
      ['wipefs', '--all', '/dev/sda2'],
      ['wipefs', '--all', '/dev/sda'],
    ]);
    expect({ progress, notes }).toEqual({ progress: [], notes: [] });
  });

  it('leaves a disk alone whose partitions a file for coreos-installer keeps', async () => {
    const { host, facts } = oldDisk();
    const config = { image: { writerArgs: ['-c', '/opt/writer.yaml'] } };
    host.withFile('/opt/writer.yaml', 'save-partlabel: [data]\n');
    const { notes } = await runStep(cleanDisk, { host, facts, config });
    expect(host.ran).toEqual([]);
    expect(notes).toEqual([
      'info: coreos-installer keeps partitions of /dev/sda; it is not cleaned',
    ]);
  });

  it('leaves a DASD that is not formatted to the writer', async () => {
    const target = targetOf(blockDevice('dasda', { sizeBytes: 0 }));
    const { host } = oldDisk();
    const { notes } = await runStep(cleanDisk, { host, facts: { disk: target } });
    expect(host.ran).toEqual([]);
    expect(notes).toEqual(['info: /dev/dasda is not formatted; coreos-installer formats it']);
  });

  it('looks once more after the last wipe', async () => {
    const { host, facts } = oldDisk();
    await runStep(cleanDisk, { host, facts });
    expect(host.ran.at(-1)?.[0]).toBe('lsblk');
  });

  it('removes a volume that the host knows by a link', async () => {
    const { host, facts } = oldDisk();
    host
      .withLink('/dev/disk/by-id/x', '/dev/sda1')
      .on(['vgs', rest])
      .prints('vg /dev/disk/by-id/x');
    await runStep(cleanDisk, { host, facts });
    expect(host.ran).toContainEqual(['vgremove', 'vg', '-y']);
  });

  it('removes a group of which another disk is gone', async () => {
    const { host, facts } = oldDisk();
    host.on(['vgs', rest]).prints('vg [unknown]\nvg /dev/sda1');
    const { progress } = await runStep(cleanDisk, { host, facts });
    expect(host.ran).toContainEqual(['vgremove', 'vg', '-y']);
    expect(progress).toEqual([]);
  });

  it('takes down with dmsetup what LVM left', async () => {
    const { host, facts } = oldDisk();
    host.on(['vgchange', rest]).fails(5, 'in use').on(['vgremove', rest]).fails(5, 'in use');
    const { progress } = await runStep(cleanDisk, { host, facts });
    expect(host.ran).toContainEqual(['dmsetup', 'remove', '--retry', 'vg-root']);
    expect(progress).toEqual([
      {
        info: 'Could not clean install device /dev/sda. The installation will continue. If the installation fails, clean the disk and try again',
      },
    ]);
  });

  it('logs the phrase that triage looks for when something failed', async () => {
    const { host, facts } = oldDisk();
    host.on(['pvremove', rest]).fails(5, 'in use');
    const { notes } = await runStep(cleanDisk, { host, facts });
    expect(notes[0]).toMatch(/^warn: failed to prepare install device \/dev\/sda, err /);
  });

  it('continues when one thing fails', async () => {
    const { host, facts } = oldDisk();
    host.on(['vgs', rest]).fails(5).on(['pvs', rest]).fails(5).on(['vgremove', rest]).fails(5);
    await runStep(cleanDisk, { host, facts });
    expect(changing(host.ran).at(-1)).toEqual(['wipefs', '--all', '/dev/sda']);
  });

  it('does not mind a host without LVM', async () => {
    const { host, facts } = oldDisk();
    host.on(['vgs', rest]).isMissing().on(['pvs', rest]).isMissing();
    expect((await runStep(cleanDisk, { host, facts })).progress).toEqual([]);
  });

  it('tells when wipefs does not work', async () => {
    const { host, facts } = oldDisk();
    host.on(['wipefs', rest]).fails(1);
    expect((await runStep(cleanDisk, { host, facts })).progress).toHaveLength(1);
  });

  it.each([
    ['for a moment, which is waited for', 5000, 0],
    ['for long, which is left to the writer', Infinity, 1],
  ])('is refused by the kernel a device that something has %s', async (...[, ms, reported]) => {
    const { host, facts } = oldDisk();
    const clock = fakeClock();
    const busy = 'wipefs: error: /dev/sda2: probing initialization failed: Device or resource busy';
    host
      .on(['wipefs', '--all', '/dev/sda2'])
      .answers(() => (clock.now() < ms ? { exitCode: 1, stderr: busy } : {}));
    const { progress, notes } = await runStep(cleanDisk, { host, facts, clock });
    expect(progress).toHaveLength(reported);
    if (reported > 0) expect(notes.join()).toContain('Device or resource busy');
    expect(host.ran.flat()).not.toContain('--force');
  });

  it('removes the maps of partitions over a multipath device before its own signatures', async () => {
    const parts = [partition('dm-1', { name: 'mpatha1', path: '/dev/mapper/mpatha1' })];
    const mpath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }, parts);
    const host = fakeHost()
      .on(['lsblk', rest])
      .prints(lsblkOutput(blockDevice('sda', {}, [mpath])));
    host.on(['vgs', rest]).isMissing().on(['pvs', rest]).isMissing();
    for (const program of ['wipefs', 'dmsetup', 'udevadm']) host.on([program, rest]).succeeds();
    await runStep(cleanDisk, { host, facts: { disk: targetOf(mpath) } });
    expect(changing(host.ran)).toEqual([
      ['wipefs', '--all', '/dev/mapper/mpatha1'],
      ['dmsetup', 'remove', '--retry', 'mpatha1'],
      ['wipefs', '--all', '/dev/dm-0'],
    ]);
  });

  it('leaves a disk that stays busy to the writer after two minutes, and says what holds it', async () => {
    const { host, facts } = oldDisk();
    const clock = fakeClock();
    host.on(['mdadm', '--stop', any]).fails(1, 'busy');
    const { progress, notes } = await runStep(cleanDisk, { host, facts, clock });
    expect(progress).toHaveLength(1);
    expect(notes[0]).toContain('/dev/sda is in use: /dev/md127 (raid1) uses it');
    expect(clock.now()).toBe(120_000);
  });

  it('waits for a process that has an array open for a while', async () => {
    const { host, facts, present } = oldDisk();
    const clock = fakeClock();
    host.on(['mdadm', '--stop', any]).answers(() => {
      if (clock.now() < 90_000) return { exitCode: 1, stderr: 'md127 is open in smartctl' };
      present.delete('md127');
      return {};
    });
    const { progress } = await runStep(cleanDisk, { host, facts, clock });
    expect(progress).toEqual([]);
  });

  it('gives up before its own limit when the tools hang', async () => {
    const { host, facts } = oldDisk();
    const clock = fakeClock();
    const hanging = fakeHost({ clock });
    for (const program of ['vgs', 'pvs', 'wipefs', 'udevadm', 'mdadm', 'dmsetup']) {
      hanging.on([program, rest]).hangs();
    }
    hanging
      .on(['lsblk', rest])
      .answers((argv, _host, { signal }) =>
        host.exec(argv, { signal, limit: 1 }).then(({ stdout }) => stdout),
      );
    const { notes } = await runStep(cleanDisk, { host: hanging, facts, clock });
    expect(notes[0]).toContain('could not be cleaned in time');
  });

  it('removes nothing from a disk that is mounted in the meantime, and leaves it to the writer', async () => {
    const { host, facts } = oldDisk();
    const isMounted = () => host.ran.some(([name]) => name === 'vgchange');
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
    const destroying = changing(host.ran).filter(([name]) =>
      /^(vg|pv)remove|wipefs|mdadm/.test(name ?? ''),
    );
    expect([failure, destroying]).toEqual([undefined, []]);
    expect(JSON.stringify(notes)).toContain('/dev/sda is in use: /dev/sda2 is mounted on /mnt');
  });

  it.each(['vgchange', 'vgremove', 'pvremove', 'mdadm', 'wipefs'])(
    'stops before %s when another disk has taken the name',
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

  it('takes down what udev started again in between', async () => {
    const { host, facts, present } = oldDisk();
    host.on(['udevadm', rest]).answers(() => {
      present.add('md127');
      return {};
    });
    await runStep(cleanDisk, { host, facts });
    expect(present.has('md127')).toBe(false);
  });

  it.each([
    ['the cleanup is off', { disk: { cleanup: false } }],
    ['partitions are kept', { image: { writerArgs: ['--save-partindex', '5'] } }],
    ['nothing is written to a disk', { image: { existingRoot: 'registry.example/os:1' } }],
  ])('does not run when %s', async (_what, config) => {
    const { host, facts } = oldDisk();
    await runStep(cleanDisk, { host, facts, config });
    expect(host.ran).toEqual([]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(cleanDisk, () => {
      const { host, facts, present } = oldDisk();
      return { host, facts, world: () => [...present] };
    });
  });
});

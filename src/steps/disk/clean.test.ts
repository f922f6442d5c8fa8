import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { any, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
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
  it('removes volumes, arrays and signatures from the top, and only of this disk', async () => {
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

  it('logs the phrase that triage looks for, and what the service shows, when something failed', async () => {
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

  it('leaves a disk that stays busy to the writer after two minutes, and says what holds it', async () => {
    const { host, facts } = oldDisk();
    const clock = fakeClock();
    host.on(['mdadm', '--stop', any]).fails(1, 'busy');
    const { progress, notes } = await runStep(cleanDisk, { host, facts, clock });
    expect(progress).toHaveLength(1);
    expect(notes[0]).toContain('/dev/sda is in use: /dev/md127 (raid1) uses it');
    expect(clock.now()).toBe(120_000);
  });

  it('gives up before its own limit when the tools hang', async () => {
    const parts = Array.from({ length: 12 }, (_, index) => partition(`sda${index + 1}`));
    const clock = fakeClock();
    const host = fakeHost({ clock })
      .on(['lsblk', rest])
      .prints(lsblkOutput(blockDevice('sda', {}, parts)))
      .on(['wipefs', rest])
      .hangs();
    const facts = { disk: targetOf(blockDevice('sda')) };
    const { notes } = await runStep(cleanDisk, { host, facts, clock });
    expect(notes[0]).toContain('could not be emptied in time');
  });

  it('removes nothing from a disk that is mounted in the meantime, and leaves it to the writer', async () => {
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
    let settled = 0;
    host.on(['udevadm', rest]).answers(() => {
      settled += 1;
      if (settled === 1) present.add('md127');
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
});

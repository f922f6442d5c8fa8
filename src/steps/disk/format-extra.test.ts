import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { any, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { formatExtraDisks } from './format-extra.ts';
import { forgetTablesArgvs, tablesOf, wipefsListArgv } from './wipe.ts';

const target = blockDevice('sda');
const extra = blockDevice('sdb', {}, [partition('sdb1')]);
const facts = { disk: { ...targetOf(target), extra: [targetOf(extra)] } };
const lister = ['wipefs', '--noheadings', rest] as const;
const newHost = () =>
  fakeHost()
    .on(['lsblk', rest])
    .prints(lsblkOutput(target, extra))
    .on(['dd', rest])
    .succeeds()
    .on(['wipefs', rest])
    .succeeds()
    .on(['blockdev', rest])
    .succeeds()
    .on(['udevadm', rest])
    .succeeds();
const config = { disk: { format: ['/dev/sdb'] } };
const written = (host: ReturnType<typeof newHost>) =>
  host.ran.filter(([program, , option]) => program !== 'lsblk' && option !== '--no-act');

describe('disk/format-extra', () => {
  it('takes the tables of a further disk and looks whether they are gone', async () => {
    const host = newHost();
    await runStep(formatExtraDisks, { host, facts, config });
    expect(written(host)).toEqual([
      ...forgetTablesArgvs('/dev/sdb', tablesOf(extra)),
      wipefsListArgv('/dev/sdb'),
    ]);
  });

  it('writes to no other disk', async () => {
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

  it('takes down what uses the disk before its signatures go', async () => {
    const array = blockDevice('md127');
    const member = blockDevice('sdb', {}, [partition('sdb1', {}, [array])]);
    const host = newHost()
      .on(['mdadm', rest])
      .succeeds()
      .on(['lsblk', rest])
      .prints(lsblkOutput(target, member));
    await runStep(formatExtraDisks, { host, facts, config });
    expect(written(host).slice(0, 2)).toEqual([
      ['mdadm', '--stop', '/dev/md127'],
      ['mdadm', '--zero-superblock', '/dev/sdb1'],
    ]);
  });

  it.each([0, 1, 3, 6])(
    'leaves a disk alone that is another one after %d commands',
    async (after) => {
      const host = newHost();
      let done = 0;
      const writes = (): object => {
        done += 1;
        return {};
      };
      for (const program of ['dd', 'wipefs', 'blockdev', 'udevadm'])
        host.on([program, rest]).answers(writes);
      host.on(['wipefs', '--all', '--no-act', any]).succeeds();
      const disks = (serial: string) => lsblkOutput(target, { ...extra, serial });
      host.on(['lsblk', rest]).answers(() => disks(done < after ? 'S1' : 'S2'));
      const disk = { ...targetOf(target), extra: [targetOf({ ...extra, serial: 'S1' })] };
      const { notes } = await runStep(formatExtraDisks, { host, facts: { disk }, config });
      expect(done).toBe(after);
      expect(notes).toEqual([
        'warn: /dev/sdb was not formatted: /dev/sdb is another disk now: its serial number is S2',
      ]);
    },
  );

  it('takes nothing from a disk that the kernel gives to nobody else', async () => {
    const host = newHost()
      .on(['wipefs', '--all', '--no-act', '/dev/sdb1'])
      .fails(1, 'Device or resource busy');
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(written(host)).toEqual([]);
    expect(notes).toEqual([
      expect.stringContaining('/dev/sdb was not formatted: /dev/sdb is in use: /dev/sdb1 is held'),
    ]);
  });

  it('formats no disk whose name fits another too', async () => {
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

  it('continues when a disk keeps its signatures', async () => {
    const host = newHost().on(['dd', rest]).fails(1, 'I/O error').on(lister).prints('gpt 0x200');
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(notes).toEqual([
      'warn: /dev/sdb was not formatted: wipefs still finds signatures: gpt 0x200',
    ]);
  });

  it('ends the installation when a disk that keeps them would stop the first boot', async () => {
    const other = { ...extra, children: [partition('sdb1', { label: 'boot' })] };
    const host = newHost().on(['lsblk', rest]).prints(lsblkOutput(target, other));
    const { failure } = await tryStep(formatExtraDisks, { host, facts, config });
    expect(failure).toMatchObject({ code: 'disk.other-system', context: { devices: '/dev/sdb1' } });
  });

  it('is content when the disk is clean in the end', async () => {
    const host = newHost().on(['blockdev', rest]).fails(1, 'busy');
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(notes.at(-1)).toBe('info: /dev/sdb has no partition table any more');
  });

  it('does not run without further disks', async () => {
    const { events } = await runStep(formatExtraDisks, { host: newHost(), facts });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(formatExtraDisks, () => ({ host: newHost(), facts, config }));
  });
});

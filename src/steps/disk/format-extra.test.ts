import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { formatExtraDisks } from './format-extra.ts';

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
  it('empties a further disk without force', async () => {
    const host = newHost();
    const { notes } = await runStep(formatExtraDisks, { host, facts, config });
    expect(written(host)).toEqual([
      ['wipefs', '--all', '/dev/sdb1'],
      ['wipefs', '--all', '/dev/sdb'],
      ['udevadm', 'settle', '--timeout=30'],
    ]);
    expect(notes).toEqual(['info: /dev/sdb has no partition table any more']);
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

  it.each([0, 1, 2])('leaves a disk alone that is another one after %d commands', async (after) => {
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

  it('warns of a disk that the kernel gives to nobody else for two minutes', async () => {
    const clock = fakeClock();
    const host = newHost().on(['wipefs', '--all', '/dev/sdb']).fails(1, 'Device or resource busy');
    const { notes } = await runStep(formatExtraDisks, { host, facts, config, clock });
    expect(notes).toEqual([
      expect.stringMatching(/^warn: \/dev\/sdb was not formatted: .*Device or resource busy/),
    ]);
    expect(clock.now()).toBe(120_000);
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

  it('ends the installation when a disk that keeps them would stop the first boot', async () => {
    const other = { ...extra, children: [partition('sdb1', { label: 'boot' })] };
    const host = newHost().on(['lsblk', rest]).prints(lsblkOutput(target, other));
    const { failure } = await tryStep(formatExtraDisks, { host, facts, config });
    expect(failure).toMatchObject({ code: 'disk.other-system', context: { devices: '/dev/sdb1' } });
  });
});

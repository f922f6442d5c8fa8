import { describe, expect, it } from 'vitest';
import type { Machine } from '../../mocks/host/machine.ts';
import type { Device } from '../../mocks/host/devices.ts';
import { remainsOn } from '../../mocks/host/disk-layout.ts';
import type { AgentError } from '../../src/model/failure.ts';
import { memoryJournal } from '../support/memory-journal.ts';
import { cornerOf } from './corners.ts';
import { hasBegun, install, live } from './processes.ts';
import { newWorld } from './world.ts';

/**
 * Renames the disks as a kernel in another order would: sda becomes sdz, and the new sda is a disk
 * with foreign data.
 */
function swapDisks({ devices }: Machine): Device {
  const disk = devices.byKname('sda');
  if (disk?.identity === undefined) throw new Error('there is no sda');
  const renamed = (kname: string): string => kname.replace(/^sda/, 'sdz');
  const all = [disk, ...devices.above(disk)];
  devices.remove(disk);
  const stranger: Device = {
    ...disk,
    identity: { ...disk.identity, serial: 'LAB99', wwn: '0x5000c500a1b2c399' },
    content: { fstype: 'xfs', label: 'precious', uuid: 'precious' },
    table: undefined,
  };
  devices.add(
    stranger,
    ...all.map((device) => ({
      ...device,
      kname: renamed(device.kname),
      name: renamed(device.name),
      majorMinor: device.majorMinor.replace(/^8:/, '65:'),
      parents: device.parents.map(renamed),
    })),
  );
  return stranger;
}

describe.each(['master', 'single node'] as const)('a %s whose agent is killed', (kind) => {
  const host = { config: cornerOf(kind, {}), plan: { disks: [{ name: 'sda' }, { name: 'sdb' }] } };

  it('does not touch another disk that has the name of its disk in the next run', async () => {
    const { marks } = await install(host);
    const ends = { installed: 0, refused: 0 };
    for (let crashAfter = 1; crashAfter < marks.length; crashAfter += 1) {
      const world = newWorld(host);
      const { machine } = world;
      const journal = memoryJournal([], { crashAfter });
      await live(world, { config: host.config, journal, commands: 1e6 });
      journal.restart();
      const isDestroying = hasBegun(journal, 'disk/clean');
      const stranger = swapDisks(machine);
      const { error, outcome } = await live(world, {
        config: host.config,
        journal,
        commands: 1e6,
      });
      expect(machine.devices.byKname('sda')).toBe(stranger);
      expect(stranger.content?.label).toBe('precious');
      expect(machine.devices.childrenOf(stranger)).toEqual([]);
      if (!isDestroying) {
        expect(error).toBeUndefined();
        expect(machine.installed?.disk).toBe('sdz');
        ends.installed += 1;
      } else if (outcome === undefined) {
        expect(error).toMatchObject({ code: 'disk.changed' });
        ends.refused += 1;
      }
    }
    expect(ends.installed).toBeGreaterThan(3);
    expect(ends.refused).toBeGreaterThan(2);
  });
});

/** Replaces the install disk by another one, smaller and with foreign data. */
function replaceDisk({ devices }: Machine): Device {
  const disk = devices.byKname('sda');
  if (disk?.identity === undefined) throw new Error('there is no sda');
  devices.remove(disk);
  const { serial, wwn } = disk.identity;
  const stranger: Device = {
    ...disk,
    sizeBytes: disk.sizeBytes / 2,
    // A virtual disk has neither.
    identity: { ...disk.identity, serial: serial && 'LAB99', wwn: wwn && '0x5000c500a1b2c399' },
    content: { fstype: 'xfs', label: 'precious', uuid: 'precious' },
    table: undefined,
  };
  devices.add(stranger);
  return stranger;
}

const own = { serial: 'LAB01', wwn: '0x5000c500a1b2c301' };

describe.each([
  ['/dev/sda', own],
  ['/dev/sda', { serial: '', wwn: '' }],
  ['/dev/disk/by-path/pci-0000:00:1f.2-ata-8.0', own],
  ['/dev/disk/by-id/wwn-0x5000c500a1b2c301', own],
  ['/dev/disk/by-id/ata-Lab_Disk_LAB01', own],
])('a disk given as %s', (device, identity) => {
  const config = cornerOf('master', { disk: { device, format: ['/dev/sdb'] } });
  const leftovers = 'lvm' as const;
  const plan = { disks: [{ name: 'sda', leftovers, ...identity }, { name: 'sdb' }] };

  it('is not mistaken for another disk after the first loss', async () => {
    const straight = await install({ config, plan });
    const isChange = ({ argv: [program = '', , option] }: { argv: readonly string[] }) =>
      /^(dd|dmsetup|wipefs|coreos-installer)$/.test(program) && option !== '--no-act';
    const first = straight.machine.ran.findIndex(isChange);
    const last = straight.machine.ran.findLastIndex(isChange);
    for (let commands = first + 1; commands <= last; commands += 2) {
      const world = newWorld({ config, plan });
      const journal = memoryJournal();
      await live(world, { config, journal, commands });
      const stranger = replaceDisk(world.machine);
      const { error } = await live(world, { config, journal, commands: 1e6 });
      if (!hasBegun(journal, 'disk/format-extra')) throw new Error('it had not begun to destroy');
      expect(['disk.changed', 'disk.missing']).toContain((error as AgentError).code);
      expect(world.machine.devices.byKname('sda')).toBe(stranger);
      expect(stranger.content?.label).toBe('precious');
    }
  });
});

describe('a partition that is kept by its number', () => {
  const config = cornerOf('worker', { image: { writerArgs: ['--save-partindex', '3'] } });
  const plan = { disks: [{ name: 'sda', leftovers: 'low-data' as const }] };
  const data = ({ devices }: Machine) => devices.byPath('/dev/sda5')?.entry?.uuid;

  async function killedInWriter(change: (machine: Machine) => void = () => undefined) {
    const world = newWorld({ config, plan });
    const journal = memoryJournal();
    const uuid = world.machine.devices.byKname('sda3')?.entry?.uuid;
    await live(world, { config, journal, commands: 1e6 });
    expect([data(world.machine), uuid]).toEqual([uuid, expect.any(String)]);
    const begun = journal.entries().findIndex((one) => one.step === 'image/write');
    change(world.machine);
    const cut = memoryJournal(journal.lines.slice(0, begun + 2));
    const { error } = await live(world, { config, journal: cut, commands: 1e6 });
    return { ...world, uuid, error };
  }

  it('is kept by a resumed run when its number now belongs to the image', async () => {
    const { machine, uuid, error } = await killedInWriter();
    expect(error).toBeUndefined();
    expect(data(machine)).toBe(uuid);
    expect(machine.devices.byPath('/dev/sda3')?.content?.label).toBe('boot');
  });

  it('is not confused with another partition with its number', async () => {
    const { machine, error } = await killedInWriter(({ devices }) => {
      const disk = devices.byKname('sda');
      if (disk === undefined) return;
      devices.remove(...devices.childrenOf(disk));
      devices.add(...remainsOn(disk, 'low-data', 0).devices);
    });
    expect(error).toMatchObject({ code: 'disk.keep-changed' });
    expect(machine.devices.byPath('/dev/sda3')?.content?.label).toBe('data');
  });
});

describe('another disk that the first boot could take for the install disk', () => {
  const mirror = { disks: ['sda', 'sdb'].map((name) => ({ name, leftovers: 'mirror' as const })) };
  it.each([
    ['an old system', { disks: [{ name: 'sda' }, { name: 'sdb', leftovers: 'coreos' as const }] }],
    ['the other half of a boot mirror', mirror],
  ])('is refused before the first loss, or emptied if allowed: %s', async (...[, plan]) => {
    const refused = await install({ config: cornerOf('master', {}), plan });
    expect(refused.life.error).toMatchObject({ code: 'disk.other-system' });
    const programs = refused.machine.ran
      .filter(({ argv }) => !argv.includes('--no-act'))
      .map(({ argv: [program] }) => program);
    for (const program of ['dd', 'wipefs', 'mdadm']) expect(programs).not.toContain(program);
    const config = cornerOf('master', { disk: { format: ['/dev/sdb'] } });
    const { machine, life } = await install({ config, plan });
    expect(life.error).toBeUndefined();
    const systems = machine.devices.all().filter(({ content }) => content?.label === 'boot');
    expect(systems.map(({ kname }) => kname)).toEqual(['sda3']);
    const contents = machine.devices.all().map(({ content }) => content?.fstype);
    expect(contents).not.toContain('linux_raid_member');
  });
});

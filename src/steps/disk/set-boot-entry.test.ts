import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { any, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import {
  blockDevice,
  coreOsDisk,
  espUuid,
  lsblkOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { type BlockDevice } from './block-devices.ts';
import { Config } from '../../config/schema.ts';
import { parseMenu, setBootEntry } from './set-boot-entry.ts';

const disk = coreOsDisk('nvme0n1');
const facts = { disk: targetOf(disk), ignition: undefined };
const file = '\\EFI\\redhat\\shimx64.efi';
const create = [
  ...['efibootmgr', '-v', '-d', '/dev/nvme0n1', '-p', '2', '-c'],
  ...['-L', 'Red Hat Enterprise Linux', '-l', file],
];
const gone = 'bbbbbbbb-0000-4000-8000-000000000002';
const bootlist = ['test', '-f', '/usr/sbin/bootlist'];
const bootlistSays = (text: string) => (host: ReturnType<typeof fakeHost>) =>
  host.on(bootlist).succeeds().on(['bootlist', rest]).prints(text);
const efi = ['test', '-d', '/sys/firmware/efi'];
const entry = (number: string, uuid = espUuid) =>
  `Boot${number}* Red Hat Enterprise Linux\tHD(2,GPT,${uuid},0x1000,0x3f800)/${file}\n`;

/** A host with UEFI whose firmware stores its settings. */
function uefiHost() {
  const menu = { order: ['0000'], entries: [] as string[] };
  const host = fakeHost()
    .on(bootlist)
    .fails(1)
    .on(efi)
    .succeeds()
    .on(['lsblk', rest])
    .prints(lsblkOutput(disk))
    .on(['mount', '/dev/nvme0n1p2', '/mnt'])
    .succeeds()
    .on(['ls', '-1', '/mnt/EFI'])
    .prints('BOOT\nredhat\n')
    .on(['umount', '/mnt'])
    .succeeds()
    .on(['uname', '-m'])
    .prints('x86_64\n')
    .on(['efibootmgr', '-l', any])
    .prints('BootOrder: 0005')
    .on(['efibootmgr', '-v'])
    .answers(() => `BootOrder: ${menu.order.join(',')}\n${menu.entries.join('')}`)
    .on(['efibootmgr', '--bootorder', any])
    .answers(([, , order = '']) => {
      menu.order = order.split(',');
    })
    .on(['efibootmgr', '-v', '--delete-bootnum', rest])
    .succeeds()
    .on(create)
    .answers(() => {
      menu.order = ['0005', '0000'];
      menu.entries = [entry('0005')];
      return '';
    });
  return { host, menu };
}

const deletedFrom = (host: ReturnType<typeof fakeHost>): readonly (string | undefined)[] =>
  host.ran.filter((argv) => argv.includes('--delete-bootnum')).map((argv) => argv[4]);

describe('disk/set-boot-entry', () => {
  it('previews its programs', () => {
    const preview = setBootEntry.preview?.(Config.parse({}), facts) ?? [];
    expect(preview.map(([program]) => program)).toEqual(
      expect.arrayContaining(['bootlist', 'efibootmgr', 'mount', 'umount']),
    );
  });

  it('does not warn when the second attempt reads the EFI system partition', async () => {
    const { host } = uefiHost();
    let [isMounted, reads] = [false, 0];
    const places = (): readonly string[] => (isMounted ? ['/mnt'] : []);
    host
      .on(['lsblk', rest])
      .answers(() => {
        const esp = { ...disk.children[1], mountpoints: places() } as BlockDevice;
        return lsblkOutput({ ...disk, children: disk.children.with(1, esp) });
      })
      .on(['mount', '/dev/nvme0n1p2', '/mnt'])
      .answers(() => {
        if (isMounted) return { exitCode: 32, stderr: 'mount: /mnt: already mounted.' };
        isMounted = true;
        return undefined;
      })
      .on(['fsfreeze', rest])
      .succeeds()
      .on(['umount', '/mnt'])
      .answers(() => {
        if (!isMounted) return { exitCode: 32, stderr: 'umount: /mnt: not mounted.' };
        isMounted = false;
        return undefined;
      })
      .on(['ls', '-1', '/mnt/EFI'])
      .answers(() => ((reads += 1) === 1 ? { exitCode: 2, stderr: 'ls: busy' } : 'redhat\n'));
    const { notes } = await runStep(setBootEntry, { host, facts });
    expect(reads).toBe(2);
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
  });

  it('passes every disk of an Ignition mirror to bootlist', async () => {
    const typeGuid = '9E1A2D38-C612-4316-AA26-8B49521E5A8B';
    const disks = ['/dev/nvme0n1', '/dev/disk/by-id/wwn-0x2', '/dev/disk/by-id/gone'].map(
      (device) => ({
        device,
        wipeTable: true,
        partitions: [{ label: 'prep-1', typeGuid, sizeMiB: 4 }],
      }),
    );
    const host = fakeHost().on(bootlist).succeeds().on(['bootlist', rest]).succeeds();
    host
      .on(['lsblk', rest])
      .prints(lsblkOutput(disk, blockDevice('sdb')))
      .withLink('/dev/disk/by-id/wwn-0x2', '/dev/sdb')
      .withFile(
        '/opt/host.ign',
        JSON.stringify({ ignition: { version: '3.4.0' }, storage: { disks } }),
      );
    const ignition = { path: '/opt/host.ign', bytes: 1, sha256: '', origin: '', version: '3.4.0' };
    await runStep(setBootEntry, { host, facts: { ...facts, ignition } });
    expect(host.ran.at(-1)).toEqual(['bootlist', '-m', 'normal', '-o', '/dev/nvme0n1', '/dev/sdb']);
  });

  it('passes at most five paths of a multipath device to bootlist', async () => {
    const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' });
    const paths = ['sda', 'sdb', 'sdc', 'sdd', 'sde', 'sdf'].map((kname) =>
      blockDevice(kname, {}, [multipath]),
    );
    const host = fakeHost().on(bootlist).succeeds().on(['bootlist', rest]).succeeds();
    host.on(['lsblk', rest]).prints(lsblkOutput(...paths));
    const mine = { ...facts, disk: { ...targetOf(multipath), path: '/dev/dm-0' } };
    await runStep(setBootEntry, { host, facts: mine });
    expect(host.ran.at(-1)).toEqual([
      ...['bootlist', '-m', 'normal', '-o'],
      ...['/dev/sda', '/dev/sdb', '/dev/sdc', '/dev/sdd', '/dev/sde'],
    ]);
  });

  it.each([
    ['bootlist', () => fakeHost().on(bootlist).succeeds(), 'test'],
    ['the firmware', () => uefiHost().host, 'uname'],
  ])('does not pass a replaced disk to %s', async (...[, hostOf, last]) => {
    const host = hostOf();
    host.on(['lsblk', rest]).answers(() => {
      const isSwapped = host.ran.some(([program]) => program === last);
      return lsblkOutput({ ...disk, serial: isSwapped ? 'S2' : 'S1' });
    });
    const mine = { ...facts, disk: { ...facts.disk, serial: 'S1' } };
    const { failure } = await tryStep(setBootEntry, { host, facts: mine });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(host.ran.filter((argv) => argv.includes('-c') || argv[0] === 'bootlist')).toEqual([]);
  });

  it.each([
    ['x86_64', 'the BIOS boots the first disk in its own order'],
    ['s390x', 'coreos-installer has set the disk as the next to be booted (chreipl)'],
  ])('does nothing without UEFI on %s', async (architecture, who) => {
    const host = fakeHost().on(bootlist).fails(1).on(efi).fails(1);
    host.on(['uname', '-m']).prints(`${architecture}\n`);
    const { notes } = await runStep(setBootEntry, { host, facts });
    expect(host.ran).toEqual([bootlist, efi, ['uname', '-m']]);
    expect(notes).toEqual([`info: no UEFI: ${who}`]);
  });

  it('creates an entry for the EFI system partition and reads it back', async () => {
    const { host } = uefiHost();
    const { notes, events } = await runStep(setBootEntry, { host, facts });
    expect(host.ran.filter(([program]) => program !== 'lsblk')).toEqual([
      bootlist,
      efi,
      ['mount', '/dev/nvme0n1p2', '/mnt'],
      ['ls', '-1', '/mnt/EFI'],
      ['umount', '/mnt'],
      ['uname', '-m'],
      ['efibootmgr', '-v'],
      create,
      ['efibootmgr', '-v'],
      ['efibootmgr', '-l', file],
    ]);
    expect(notes).toEqual(['info: the firmware boots entry 0005 first']);
    expect(events).toContainEqual(
      expect.objectContaining({
        fields: { path: expect.stringMatching(/^HD\(2,GPT,/) as string },
      }),
    );
  });

  it('takes an entry for its own by the label where the host does not know the GUID', async () => {
    const { host, menu } = uefiHost();
    const esp = { ...disk.children[1], partUuid: '' } as BlockDevice;
    const unknown = { ...disk, children: disk.children.with(1, esp) };
    host.on(['lsblk', rest]).prints(lsblkOutput(unknown));
    menu.entries = [entry('0003', gone)];
    const { notes } = await runStep(setBootEntry, { host, facts });
    expect(deletedFrom(host)).toEqual([]);
    expect(notes).toEqual(['info: the firmware boots entry 0005 first']);
  });

  it('ends the run, without a warning, when it is stopped', async () => {
    const { host } = uefiHost();
    const stop = new AbortController();
    host.on(['mount', rest]).answers(() => {
      stop.abort(new Error('stopped'));
      return { exitCode: 32, stderr: 'mount: interrupted' };
    });
    const { failure } = await tryStep(setBootEntry, { host, facts, signal: stop.signal });
    expect(failure).toMatchObject({ message: 'stopped' });
  });

  const full = 'Could not prepare Boot variable: No space left on device';

  it('removes stale entries of earlier installations when the NVRAM is full', async () => {
    const { host, menu } = uefiHost();
    menu.entries = [entry('0003', gone), `Boot0004* Fedora\tHD(1,GPT,${gone},0x800)/x\n`];
    host.on(['efibootmgr', '-v', '--delete-bootnum', '--bootnum', '0003', rest]).answers(() => {
      menu.entries = menu.entries.slice(1);
    });
    host.on(create).answers(() => {
      if (menu.entries.length > 1) return { exitCode: 5, stderr: full };
      menu.order = ['0005', '0000'];
      menu.entries = [...menu.entries, entry('0005')];
      return '';
    });
    const { notes } = await runStep(setBootEntry, { host, facts });
    expect(notes.at(-1)).toBe('info: the firmware boots entry 0005 first');
    expect(menu.entries).toHaveLength(2);
    expect(deletedFrom(host)).toEqual(['0003']);
  });

  it('keeps the entry of an earlier run when the NVRAM has no room', async () => {
    const { host, menu } = uefiHost();
    const other = `Boot0001* Fedora\tHD(2,GPT,${espUuid},0x1000,0x3f800)/x\n`;
    menu.entries = [other, entry('0003')];
    host.on(create).fails(5, full);
    const { notes } = await runStep(setBootEntry, { host, facts });
    expect(notes).toEqual([
      expect.stringMatching(/^warn: the boot entry of an earlier run is kept: .*No space left/),
      'info: the firmware boots entry 0003 first',
    ]);
    expect(deletedFrom(host)).toEqual([]);
  });

  it.each([
    ['BOOT\ncentos\nredhat', 'x86_64', '\\EFI\\redhat\\shimx64.efi'],
    ['BOOT\ncentos', 'aarch64', '\\EFI\\centos\\shimaa64.efi'],
    ['fedora', 'x86_64', '\\EFI\\fedora\\shimx64.efi'],
  ])('boots the shim found in %j on %s', async (directories, architecture, shim) => {
    const { host } = uefiHost();
    host.on(['ls', rest]).prints(directories).on(['uname', '-m']).prints(architecture);
    host.on(['efibootmgr', '-v', '-d', rest]).succeeds();
    await runStep(setBootEntry, { host, facts });
    expect(host.ran.find(([, , option]) => option === '-d')?.at(-1)).toBe(shim);
  });

  it('removes entries with the same label that efibootmgr names on stderr', async () => {
    const { host, menu } = uefiHost();
    host.on(create).answers(() => {
      menu.order = ['0005', '0003'];
      menu.entries = [entry('0005')];
      return {
        stderr: 'efibootmgr: ** Warning ** : Boot0003 has same label Red Hat Enterprise Linux',
      };
    });
    await runStep(setBootEntry, { host, facts });
    expect(host.ran).toContainEqual([
      ...['efibootmgr', '-v', '--delete-bootnum', '--bootnum', '0003', '-l', file],
    ]);
  });

  it('puts the entry first when the firmware does not', async () => {
    const { host, menu } = uefiHost();
    host.on(create).answers(() => {
      menu.order = ['0000', '0005'];
      menu.entries = [entry('0005')];
    });
    await runStep(setBootEntry, { host, facts });
    expect(menu.order).toEqual(['0005', '0000']);
  });

  it.each([
    ['boot.order-ignored', 'BootOrder: 0000,0005\n' + entry('0005')],
    ['boot.not-set', 'BootOrder: 0000\n'],
    ['boot.not-set', 'BootOrder: 0005\n' + entry('0005', 'cccccccc-0000-4000-8000-000000000002')],
  ])('warns with %s when efibootmgr prints %j', async (code, menu) => {
    const { host } = uefiHost();
    host.on(['efibootmgr', '-v']).prints(menu).on(['efibootmgr', '--bootorder', any]).succeeds();
    const { events } = await runStep(setBootEntry, { host, facts });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        level: 'warn',
        fields: { code, hint: expect.any(String) as string },
      }),
    );
  });

  it.each<[what: string, prepare: (host: ReturnType<typeof fakeHost>) => unknown, why?: string]>([
    [
      'the EFI system partition is missing',
      (host) => host.on(['lsblk', rest]).prints(lsblkOutput({ ...disk, children: [] })),
    ],
    [
      'the EFI system partition cannot be mounted',
      (host) => host.on(['mount', rest]).fails(32, 'unknown filesystem'),
      'unknown filesystem',
    ],
    [
      'the EFI system partition has no boot loader',
      (host) => host.on(['ls', rest]).prints('BOOT\nDell\n'),
      'has BOOT, Dell, and no boot loader of redhat',
    ],
    ['the NVRAM is full', (host) => host.on(create).fails(8, 'No space left on device')],
    ['efibootmgr is missing', (host) => host.on(['efibootmgr', rest]).isMissing()],
    ['bootlist fails', (host) => host.on(bootlist).succeeds().on(['bootlist', rest]).fails(1)],
    ['bootlist cannot write the NVRAM', bootlistSays('Could not update bootlist!\nsdz')],
    ['bootlist skips the disk', bootlistSays('Device sda does not appear to be valid.')],
  ])('warns and continues when %s', async (_what, prepare, why = '') => {
    const { host } = uefiHost();
    prepare(host);
    const { notes } = await runStep(setBootEntry, { host, facts });
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(/^warn: the boot order could not be confirmed/);
    expect(notes[0]).toContain(why);
  });
});

describe('Ignition of a boot mirror (Butane, boot_device.mirror)', () => {
  const espType = 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B';
  const byId = '/dev/disk/by-id/ata-SSD_S2';
  const ignitionOf = () => {
    const diskOf = (device: string, number: number) => ({
      device,
      wipeTable: true,
      partitions: [
        { label: `bios-${number}`, sizeMiB: 1, typeGuid: '21686148-6449-6E6F-744E-656564454649' },
        { label: `esp-${number}`, sizeMiB: 127, typeGuid: espType },
        { label: `boot-${number}`, sizeMiB: 384 },
        { label: `root-${number}` },
      ],
    });
    const disks = [diskOf('/dev/nvme0n1', 1), diskOf(byId, 2)];
    return JSON.stringify({ ignition: { version: '3.4.0' }, storage: { disks } });
  };

  it('warns of EFI system partitions without an entry', async () => {
    const { host, menu } = uefiHost();
    host.withFile('/opt/host.ign', ignitionOf());
    const ignition = { path: '/opt/host.ign', bytes: 1, sha256: '', origin: '', version: '3.4.0' };
    const { notes, events } = await runStep(setBootEntry, { host, facts: { ...facts, ignition } });
    expect(menu.order).toEqual(['0005', '0000']);
    const hint = expect.stringContaining('(efibootmgr)') as string;
    expect(events).toContainEqual(expect.objectContaining({ level: 'warn', fields: { hint } }));
    expect(notes.at(-1)).toBe(
      `warn: Ignition makes EFI system partitions at the first boot: esp-1 on /dev/nvme0n1, esp-2 on ${byId}`,
    );
  });
});

const guid = 'aaaaaaaa-0000-4000-8000-000000000002';
const menuOf17 = `BootCurrent: 0001
Timeout: 3 seconds
BootOrder: 0003,0001,0000,0002
Boot0000* UiApp\tFvVol(7cb8bdc9)/FvFile(462caa21)
Boot0001* UEFI QEMU DVD-ROM\tPciRoot(0x0)/Pci(0x1f,0x2)/Sata(2,65535,0)N.....YM....R,Y.
Boot0002  Fedora\tHD(1,GPT,${gone.toUpperCase()},0x800,0x32000)/File(\\EFI\\fedora\\shimx64.efi)
Boot0003* Red Hat Enterprise Linux \tHD(12,GPT,${guid},0x1000,0x3f800)/File(\\EFI\\redhat\\shimx64.efi) 
`;

describe('parseMenu', () => {
  it('reads the boot order, labels and partitions', () => {
    const menu = parseMenu(menuOf17);
    expect(menu.order).toEqual(['0003', '0001', '0000', '0002']);
    expect(menu.entries.map(({ number, label, partUuid }) => [number, label, partUuid])).toEqual([
      ['0000', 'UiApp', ''],
      ['0001', 'UEFI QEMU DVD-ROM', ''],
      ['0002', 'Fedora', gone],
      ['0003', 'Red Hat Enterprise Linux', guid],
    ]);
    expect(menu.entries[3]?.path).toMatch(/^HD.*efi\)$/);
  });

  it.each(['', '\n', 'BootCurrent: 0001\nNo BootOrder is set; firmware will attempt recovery'])(
    'returns an empty menu without entries: %j',
    (printed) => {
      expect(parseMenu(printed)).toEqual({ order: [], entries: [] });
    },
  );

  it('refuses other output', () => {
    expect(() => parseMenu('<p>Boot')).toThrow('efibootmgr printed no boot menu: <p>Boot');
  });
});

describe('the boot menu of real firmware', () => {
  const printed = (name: string): ReturnType<typeof parseMenu> =>
    parseMenu(
      readFileSync(new URL(`../../../mocks/logs/efibootmgr/${name}.txt`, import.meta.url), 'utf8'),
    );

  it.each([
    [
      'dell-perc-18',
      ['0005', '0000', '0006', '0007'],
      [
        ['0000', 'Integrated NIC 1 Port 3 Partition 1', ''],
        ['0001', 'Hard drive C:', ''],
      ],
    ],
    [
      'lenovo-18',
      ['0003', '0002', '0001', '0004', '0005'],
      [
        ['0001', 'UEFI: PXE IPv4 Intel(R) Ethernet Connection (17) I219-LM', ''],
        ['0002', 'UEFI: PXE IPv6 Intel(R) Ethernet Connection (17) I219-LM', ''],
        ['0003', 'UEFI OS', '0b1f3a52-7c4d-4e6f-8a90-1b2c3d4e5f60'],
        ['0004', 'UEFI: SanDisk, Partition 1', ''],
        ['0005', 'UEFI: SanDisk, Partition 2', ''],
      ],
    ],
  ])('is parsed: %s', (name, order, entries) => {
    const menu = printed(name);
    expect(menu.order).toEqual(order);
    expect(menu.entries.map(({ number, label, partUuid }) => [number, label, partUuid])).toEqual(
      entries,
    );
  });
});

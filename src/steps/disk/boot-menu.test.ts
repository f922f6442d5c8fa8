import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as mgr from './check-boot.ts';
import { orderWithFirst, ownEntry, phantomEntries } from './check-boot.ts';

const esp = 'aaaaaaaa-0000-4000-8000-000000000002';
const gone = 'bbbbbbbb-0000-4000-8000-000000000002';
const menuOf17 = `BootCurrent: 0001
Timeout: 3 seconds
BootOrder: 0003,0001,0000,0002
Boot0000* UiApp\tFvVol(7cb8bdc9)/FvFile(462caa21)
Boot0001* UEFI QEMU DVD-ROM\tPciRoot(0x0)/Pci(0x1f,0x2)/Sata(2,65535,0)N.....YM....R,Y.
Boot0002  Fedora\tHD(1,GPT,${gone.toUpperCase()},0x800,0x32000)/File(\\EFI\\fedora\\shimx64.efi)
Boot0003* Red Hat Enterprise Linux\tHD(2,GPT,${esp},0x1000,0x3f800)/File(\\EFI\\redhat\\shimx64.efi)
`;
const menuOf18 = `BootOrder: 0004
Boot0004* Red Hat Enterprise Linux\tHD(2,GPT,${esp},0x1000,0x3f800)/\\EFI\\redhat\\shimx64.efi
      dp: 04 01 2a 00 / 7f ff 04 00
`;

describe('parseMenu', () => {
  it('reads order, labels and partitions', () => {
    const menu = mgr.parseMenu(menuOf17);
    expect(menu.order).toEqual(['0003', '0001', '0000', '0002']);
    expect(menu.entries.map(({ number, label, partUuid }) => [number, label, partUuid])).toEqual([
      ['0000', 'UiApp', ''],
      ['0001', 'UEFI QEMU DVD-ROM', ''],
      ['0002', 'Fedora', gone],
      ['0003', 'Red Hat Enterprise Linux', esp],
    ]);
  });

  it('leaves out the raw lines of efibootmgr 18', () => {
    expect(mgr.parseMenu(menuOf18).entries).toMatchObject([{ number: '0004', partUuid: esp }]);
  });

  it.each(['', 'BootCurrent: 0001\nNo BootOrder is set; firmware will attempt recovery'])(
    'is empty when there is no entry: %j',
    (printed) => {
      expect(mgr.parseMenu(printed)).toEqual({ order: [], entries: [] });
    },
  );

  it('is not read out of something else', () => {
    expect(() => mgr.parseMenu('<html>')).toThrow('efibootmgr printed no boot menu: <html>');
  });
});

describe('the menu as real firmware has it', () => {
  const printed = (name: string): mgr.BootMenu =>
    mgr.parseMenu(
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
    [
      'inspur-18',
      ['0000', '0004', '0003'],
      [
        ['0000', 'Red Hat Enterprise Linux', ''],
        ['0003', 'UEFI: PXE IPv4 Mellanox Network Adapter - 00:00:5E:00:53:0C NIC1', ''],
        ['0004', 'UEFI: PXE IPv4 Mellanox Network Adapter - 00:00:5E:00:53:0D NIC2', ''],
      ],
    ],
  ])('is read: %s', (name, order, entries) => {
    const menu = printed(name);
    expect(menu.order).toEqual(order);
    expect(menu.entries.map(({ number, label, partUuid }) => [number, label, partUuid])).toEqual(
      entries,
    );
  });

  it('leads nowhere where its partition is on no disk, with data of the firmware behind it', () => {
    const world = { espUuid: esp, partUuids: new Set([esp]), directories: ['redhat'] };
    const phantoms = phantomEntries(printed('lenovo-18'), world);
    expect(phantoms.map(({ label }) => label)).toEqual(['UEFI OS']);
  });
});

describe('sameLabelNumbers', () => {
  it('finds the numbers in the warnings of our label', () => {
    const output = `efibootmgr: ** Warning ** : Boot0003 has same label Red Hat Enterprise Linux
efibootmgr: ** Warning ** : Boot000A has same label Red Hat Enterprise Linux
efibootmgr: ** Warning ** : Boot0005 has same label Fedora`;
    expect(mgr.sameLabelNumbers(output)).toEqual(['0003', '000A']);
  });
});

describe('the boot menu', () => {
  const menu = mgr.parseMenu(menuOf17);

  it.each([
    [esp, '0003'],
    ['', '0003'],
    [gone, undefined],
  ])('knows our entry by its label and the partition %j', (espUuid, number) => {
    expect(ownEntry(menu, { espUuid })?.number).toBe(number);
  });

  it('knows old entries of ours: of the label, but for another partition', () => {
    const old = { number: '0007', label: mgr.bootLabel, path: '', partUuid: gone };
    const both = { ...menu, entries: [...menu.entries, old] };
    expect(mgr.oldEntries(both, { espUuid: esp })).toEqual([old]);
    expect(mgr.oldEntries(both, { espUuid: '' })).toEqual([]);
  });

  it('puts our entry first and keeps the others', () => {
    expect(orderWithFirst(menu.order, '0000')).toEqual(['0000', '0003', '0001', '0002']);
    expect(orderWithFirst([], '0009')).toEqual(['0009']);
  });

  it.each([
    ['a partition that is on no disk', [esp], ['redhat'], ['0002']],
    ['a loader that was overwritten', [esp, gone], ['centos'], ['0003']],
    ['nothing', [esp, gone], ['RedHat'], []],
    ['nothing on a host that knows no GUIDs', [], [], []],
  ])('finds entries that lead nowhere: %s', (...[, partUuids, directories, numbers]) => {
    const world = { espUuid: esp, partUuids: new Set(partUuids), directories };
    expect(phantomEntries(menu, world).map(({ number }) => number)).toEqual(numbers);
  });
});

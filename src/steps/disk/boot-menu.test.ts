import { describe, expect, it } from 'vitest';
import * as mgr from './boot-menu.ts';
import { orderWithFirst, ownEntry, phantomEntries } from './boot-menu.ts';

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

  it('is empty when nothing is said', () => {
    expect(mgr.parseMenu('EFI variables are not supported')).toEqual({ order: [], entries: [] });
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

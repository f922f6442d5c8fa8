import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { checkBoot, menuDoubt, parseMenu } from './check-boot.ts';
import { coreOsDisk, espUuid, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { missingPartitions } from './block-devices.ts';

const disk = coreOsDisk('sda');
const facts = { disk: targetOf(disk) };

const efi = ['test', '-d', '/sys/firmware/efi'];
const menuOf = (order: string, uuid = espUuid) =>
  `BootOrder: ${order}\nBoot0005* Red Hat Enterprise Linux\tHD(2,GPT,${uuid},0x1,0x2)/File(x)\n`;

/** A host whose disk is as it should be. */
const goodHost = (clock = fakeClock()) =>
  fakeHost({ clock })
    .on(['lsblk', rest])
    .prints(lsblkOutput(disk))
    .on(efi)
    .succeeds()
    .on(['efibootmgr', '-v'])
    .prints(menuOf('0005,0000'));

const programs = (host: FakeHost) => host.ran.map(([program]) => program);

describe('disk/check-boot', () => {
  it('looks at the partitions and the firmware', async () => {
    const host = goodHost();
    const { notes } = await runStep(checkBoot, { host, facts });
    expect(host.ran.slice(1)).toEqual([efi, ['efibootmgr', '-v']]);
    expect(notes).toEqual(['info: the install disk has the partitions that it boots from']);
  });

  it('asks no firmware where there is no UEFI', async () => {
    const host = goodHost().on(efi).fails(1);
    await runStep(checkBoot, { host, facts });
    expect(programs(host)).not.toContain('efibootmgr');
  });

  it.each<[string, (host: FakeHost) => unknown, string]>([
    [
      'there is no boot partition',
      (host) =>
        host.on(['lsblk', rest]).prints(
          lsblkOutput({
            ...disk,
            children: disk.children.filter(({ label }) => label !== 'boot'),
          }),
        ),
      '/dev/sda: there is no boot partition',
    ],
    [
      'the disk is empty',
      (host) => host.on(['lsblk', rest]).prints(lsblkOutput({ ...disk, children: [] })),
      '/dev/sda: there is no esp partition; there is no boot partition; there is no root partition',
    ],
  ])('fails when %s', async (_, break_, message) => {
    const host = goodHost();
    break_(host);
    const { failure } = await tryStep(checkBoot, { host, facts });
    expect(failure).toMatchObject({
      code: 'disk.will-not-boot',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each<[string, (host: FakeHost) => unknown, string]>([
    [
      'another entry is first',
      (host) => host.on(['efibootmgr', '-v']).prints(menuOf('0000,0005')),
      'warn: the firmware boots 0000 before entry 0005 of this disk',
    ],
    [
      'the entry is of another disk',
      (host) => host.on(['efibootmgr', '-v']).prints(menuOf('0005', 'b'.repeat(36))),
      'warn: the firmware has no entry "Red Hat Enterprise Linux" for this disk',
    ],
    [
      'there is no efibootmgr',
      (host) => host.on(['efibootmgr', rest]).isMissing(),
      'warn: could not check whether the install disk will boot',
    ],
  ])('looks on and warns when %s', async (_, change, note) => {
    const host = goodHost();
    change(host);
    const { notes } = await runStep(checkBoot, { host, facts });
    expect(notes[0]).toBe(note);
  });

  it('warns and continues when the disks cannot be listed', async () => {
    const host = goodHost().on(['lsblk', rest]).fails(1);
    const { notes } = await runStep(checkBoot, { host, facts });
    expect(notes).toEqual(['warn: could not check whether the install disk will boot']);
  });

  it('is left out where no disk is written', async () => {
    const config = { image: { existingRoot: 'registry.example/os:1' } };
    const { events } = await runStep(checkBoot, { config, facts });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(checkBoot, () => ({ host: goodHost(), facts }));
  });
});

describe('what the last look reads', () => {
  it('wants an EFI system partition only for UEFI', () => {
    const bios = { ...disk, children: disk.children.filter(({ partType }) => partType === '') };
    expect(missingPartitions(bios, { isUefi: false })).toEqual([]);
    expect(missingPartitions(bios, { isUefi: true })).toEqual(['there is no esp partition']);
  });

  it('doubts a firmware without an order', () => {
    const menu = parseMenu(menuOf('0005').replace(/^BootOrder.*\n/, ''));
    expect(menuDoubt(menu, espUuid)).toBe(
      'the firmware boots no entry before entry 0005 of this disk',
    );
  });
});

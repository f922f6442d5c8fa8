import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { seconds } from '../../model/duration.ts';
import { checkBoot, parseDigests, menuDoubt, parseMenu } from './check-boot.ts';
import { coreOsDisk, espUuid, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { missingPartitions } from './block-devices.ts';

const disk = coreOsDisk('sda');
const digest = 'a'.repeat(64);
const other = 'b'.repeat(64);
const hostPath = '/opt/install-dir/master-h.ign';
const onDisk = '/mnt/ignition/config.ign';
const facts = {
  disk: targetOf(disk),
  ignition: { path: hostPath, bytes: 10, sha256: digest, origin: 'fake', version: '3.2.0' },
};

const efi = ['test', '-d', '/sys/firmware/efi'];
const mount = ['mount', '-o', 'ro,nosuid,nodev,noexec', '/dev/sda3', '/mnt'];
const mountFrozen = ['mount', '-o', 'nosuid,nodev,noexec,noatime', '/dev/sda3', '/mnt'];
const stamp = ['test', '-f', '/mnt/ignition.firstboot'];
const digests = ['sha256sum', onDisk, hostPath];
const sums = (first: string, second = digest) => `${first}  ${onDisk}\n${second}  ${hostPath}\n`;
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
    .prints(menuOf('0005,0000'))
    .on(mount)
    .succeeds()
    .on(stamp)
    .succeeds()
    .on(digests)
    .prints(sums(digest))
    .on(['umount', '/mnt'])
    .succeeds();

const programs = (host: FakeHost) => host.ran.map(([program]) => program);

describe('disk/check-boot', () => {
  it('looks at the partitions, the firmware and the Ignition', async () => {
    const host = goodHost();
    const { notes } = await runStep(checkBoot, { host, facts });
    expect(host.ran.slice(1)).toEqual([
      efi,
      ['efibootmgr', '-v'],
      mount,
      stamp,
      digests,
      ['umount', '/mnt'],
    ]);
    expect(notes).toEqual(['info: the install disk has what the first boot needs']);
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
    [
      'the first boot would not run Ignition',
      (host) => host.on(stamp).fails(1),
      '/dev/sda: the first boot would not run Ignition',
    ],
    [
      'there is no Ignition',
      (host) => host.on(digests).fails(1, 'No such file', `${digest}  ${hostPath}\n`),
      '/dev/sda: there is no Ignition config on the boot partition',
    ],
    [
      'it is the Ignition of another',
      (host) => host.on(digests).prints(sums(other)),
      '/dev/sda: the Ignition config on the boot partition is not that of this host',
    ],
    [
      'the boot partition cannot be mounted',
      (host) => host.on(mount).fails(32, 'wrong fs type').on(mountFrozen).fails(32),
      '/dev/sda: its boot partition cannot be mounted',
    ],
  ])('fails when %s', async (_, break_, message) => {
    const host = goodHost();
    break_(host);
    const { failure } = await tryStep(checkBoot, { host, facts });
    expect(failure).toMatchObject({
      code: 'disk.will-not-boot',
      message: expect.stringContaining(message) as string,
    });
    expect(programs(host).includes('umount')).toBe(programs(host).includes('sha256sum'));
  });

  it('goes by the digest that was received when the file of the host is gone', async () => {
    const host = goodHost().on(digests).fails(1, 'No such file', `${digest}  ${onDisk}\n`);
    expect(await tryStep(checkBoot, { host, facts })).not.toHaveProperty('failure');
  });

  it('tries the mount three times', async () => {
    const clock = fakeClock();
    const host = goodHost(clock)
      .on(mount)
      .inTurn({ exitCode: 32 }, { exitCode: 32 }, '')
      .on(mountFrozen)
      .fails(32);
    await runStep(checkBoot, { host, clock, facts });
    expect(clock.now()).toBe(seconds(10));
  });

  it('reads a boot partition that is still frozen, which is not mounted read-only', async () => {
    const busy = 'mount: /mnt: /dev/sda3 already mounted or mount point busy.';
    const host = goodHost().on(mount).fails(32, busy).on(mountFrozen).succeeds();
    const { notes } = await runStep(checkBoot, { host, facts });
    expect(host.ran.slice(-5)).toEqual([mount, mountFrozen, stamp, digests, ['umount', '/mnt']]);
    expect(notes).toEqual(['info: the install disk has what the first boot needs']);
  });

  it.each<[string, (host: FakeHost) => unknown, string]>([
    [
      'another entry is first',
      (host) => host.on(['efibootmgr', '-v']).prints(menuOf('0000,0005')),
      'warn: the firmware boots 0000 before entry 0005 of this disk',
    ],
    [
      'the entry is of another disk',
      (host) => host.on(['efibootmgr', '-v']).prints(menuOf('0005', other.slice(0, 36))),
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
    expect(programs(host)).toContain('sha256sum');
  });

  it.each<[string, (host: FakeHost) => unknown]>([
    ['lsblk fails', (host) => host.on(['lsblk', rest]).fails(1)],
    ['the mount hangs', (host) => host.on(mount).hangs()],
    ['there is no sha256sum', (host) => host.on(digests).isMissing()],
  ])('warns and continues when %s', async (_, change) => {
    const clock = fakeClock();
    const host = goodHost(clock);
    change(host);
    const { notes } = await runStep(checkBoot, { host, clock, facts });
    expect(notes).toEqual(['warn: could not check whether the install disk will boot']);
  });

  it('leaves nothing mounted when it cannot read', async () => {
    const host = goodHost().on(digests).isMissing();
    await runStep(checkBoot, { host, facts });
    expect(host.ran.at(-1)).toEqual(['umount', '/mnt']);
  });

  it('takes away what an earlier run left mounted', async () => {
    const [bios, esp, boot, root] = disk.children;
    const left = lsblkOutput({
      ...disk,
      children: [bios!, esp!, { ...boot!, mountpoints: ['/mnt'] }, root!],
    });
    const host = goodHost().on(['lsblk', rest]).prints(left).on(['fsfreeze', rest]).fails(1);
    await runStep(checkBoot, { host, facts });
    expect(programs(host).filter((program) => program === 'umount')).toHaveLength(2);
  });

  it('is left out where no disk is written', async () => {
    const config = { image: { existingRoot: 'registry.example/os:1' } };
    const { events } = await runStep(checkBoot, { config, facts });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(checkBoot, () => {
      const mounts: string[] = [];
      const host = goodHost()
        .on(mount)
        .answers(() => {
          mounts.push('/mnt');
        })
        .on(['umount', '/mnt'])
        .answers(() => {
          mounts.pop();
        })
        .on(['fsfreeze', rest])
        .fails(1)
        .on(['lsblk', rest])
        .answers(() => {
          const children = disk.children.map((one) =>
            one.label === 'boot' ? { ...one, mountpoints: mounts } : one,
          );
          return lsblkOutput({ ...disk, children });
        });
      return { host, facts, world: () => [...mounts] };
    });
  });
});

describe('what the last look reads', () => {
  it('knows digests by their path', () => {
    expect(parseDigests(`${digest}  /a b\n${other} */c\nsha256sum: /d: No such file\n`)).toEqual(
      new Map([
        ['/a b', digest],
        ['/c', other],
      ]),
    );
  });

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

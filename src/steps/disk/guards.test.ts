import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  coreOsDisk,
  keptPartition,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { type BlockDevice, deviceAt } from './block-devices.ts';
import {
  holdersOf,
  decideExtraDisk,
  keptSystems,
  otherSystems,
  sharedWith,
  diskReadiness,
  hasOtherSystem,
  smallestDiskBytes,
  twinsOf,
} from './guards.ts';

const volume = blockDevice('dm-0', { name: 'vg-a' });
const withLvm = blockDevice('sda', {}, [partition('sda1', {}, [volume])]);
const mounted = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/data'] })]);
const medium = { name: 'agentboot', type: 'dm', mountpoints: ['/run/media/iso'] };
const windowed = blockDevice('sda', {}, [partition('sda1'), blockDevice('dm-0', medium)]);
const live = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/run/media/iso'] })]);

const readiness = (disk: BlockDevice, state: Parameters<typeof diskReadiness>[1]) =>
  diskReadiness({ roots: [disk], disk }, state);

describe('diskReadiness', () => {
  it.each([
    ['an empty disk', blockDevice('sda'), {}, undefined],
    ['the smallest disk', blockDevice('sda', { sizeBytes: smallestDiskBytes }), {}, undefined],
    [
      'a disk that is too small',
      blockDevice('sda', { sizeBytes: smallestDiskBytes - 1 }),
      {},
      'disk.too-small',
    ],
    ['an unformatted DASD', blockDevice('dasda', { sizeBytes: 0 }), {}, undefined],
    ['a disk without a medium', blockDevice('sda', { sizeBytes: 0 }), {}, 'disk.too-small'],
    ['a read-only disk', blockDevice('sda', { isReadOnly: true }), {}, 'disk.read-only'],
    ['the live medium', live, {}, 'disk.is-live-medium'],
    [
      'the live medium with kept partitions',
      live,
      { keepsPartitions: true },
      'disk.is-live-medium',
    ],
    ['LVM with kept partitions', withLvm, { keepsPartitions: true }, 'disk.busy'],
    ['a device mapper window with kept partitions', windowed, { keepsPartitions: true }, undefined],
    ['a mounted disk', mounted, {}, 'disk.busy'],
    ['a mounted disk with kept partitions', mounted, { keepsPartitions: true }, 'disk.busy'],
    ['LVM with cleanup', withLvm, {}, undefined],
    ['LVM without cleanup', withLvm, { willBeCleaned: false }, 'disk.busy'],
    ['bcache', blockDevice('sda', {}, [blockDevice('bcache0')]), {}, 'disk.busy'],
  ])('checks %s', (...[, disk, state, code]) => {
    expect(readiness(disk, { willBeCleaned: true, ...state }).problem?.code).toBe(code);
  });

  it.each<[BlockDevice, Readonly<Record<string, unknown>>]>([
    [blockDevice('sda', { isReadOnly: true }), { disk: '/dev/sda' }],
    [live, { disk: '/dev/sda', holder: '/dev/sda1' }],
    [
      blockDevice('sda', { sizeBytes: 7 }),
      { disk: '/dev/sda', sizeBytes: 7, neededBytes: 4_294_967_296 },
    ],
  ])('gives the facts of its problem: %#', (disk, context) => {
    expect(readiness(disk, { willBeCleaned: true }).problem?.context).toEqual(context);
  });

  it('remarks what will be removed and what stays', () => {
    const disk = blockDevice('sda', {}, [
      partition('sda1', {}, [volume]),
      partition('sda2', { mountpoints: ['/data'] }),
      blockDevice('dm-1', medium),
    ]);
    expect(readiness(disk, { willBeCleaned: true }).remarks).toEqual([
      '/dev/mapper/vg-a (lvm) uses it; it will be removed',
      '/dev/mapper/agentboot (dm) uses it; it will be removed',
    ]);
    expect(readiness(disk, { willBeCleaned: true, keepsPartitions: true }).remarks).toEqual([
      '/dev/mapper/agentboot is mounted on /run/media/iso; it stays',
      '/dev/mapper/agentboot (dm) uses it; it stays',
    ]);
  });

  it.each([
    ['/run/media/iso', {}, 'disk.is-live-medium'],
    ['/data', {}, 'disk.busy'],
    ['/data', { keepsPartitions: true }, 'disk.busy'],
    ['', {}, undefined],
  ])('sees a user of its second path: %j %j', (mountpoint, state, code) => {
    const same = { serial: 'S1', wwn: '0x5000c500a0b1c2d3' };
    const mountpoints = mountpoint === '' ? [] : [mountpoint];
    const roots = [
      blockDevice('sda', same, [partition('sda1', { mountpoints }, [volume])]),
      blockDevice('sdb', same, [partition('sdb1')]),
    ];
    const { problem } = diskReadiness(
      { roots, disk: roots[1]! },
      { willBeCleaned: true, ...state },
    );
    expect(problem?.code).toBe(code);
    if (code !== undefined)
      expect(problem?.message).toMatch(/sdb.*: \/dev\/sda1 .*, and \/dev\/sda has the same serial/);
  });

  it('names all holders of the disk', () => {
    const disk = blockDevice('sda', {}, [
      partition('sda1', { mountpoints: ['/data'] }),
      partition('sda2', { mountpoints: ['[SWAP]'] }),
    ]);
    const { problem } = readiness(disk, { willBeCleaned: true });
    expect(problem?.context).toEqual({
      disk: '/dev/sda',
      holders: '/dev/sda1 is mounted on /data; /dev/sda2 is in use as swap',
    });
  });
});

const mirrorOf = (array: BlockDevice, ...disks: readonly string[]): readonly BlockDevice[] =>
  disks.map((disk) => {
    const fsType = 'linux_raid_member';
    const member = partition(`${disk}3`, { fsType, label: 'any:md-boot' }, [array]);
    return blockDevice(disk, {}, [member]);
  });
const bootArray = blockDevice('md126', { label: 'boot' });

it('keptSystems finds kept partitions that the first boot could use by label', () => {
  const disk = blockDevice('sda', {}, [
    partition('sda3', { label: 'boot', partUuid: 'image' }),
    partition('sda5', { label: 'data', partUuid: 'data' }),
    partition('sda6', { label: 'root', partUuid: 'old' }),
  ]);
  const kept = ['data', 'old'].map((partUuid) => ({ ...keptPartition(5, '', 9000), partUuid }));
  expect(keptSystems(disk, kept)).toMatchObject([{ device: { path: '/dev/sda6' }, label: 'root' }]);
  expect(keptSystems(disk)).toEqual([]);
});

describe('otherSystems', () => {
  const found = (...[roots, disk, emptied]: Parameters<typeof otherSystems>): readonly string[] =>
    otherSystems(roots, disk, emptied).map(({ device, label }) => `${device.path} ${label}`);
  const install = coreOsDisk('sda');

  it('finds file systems that the first boot could use by label', () => {
    const other = coreOsDisk('sdb');
    expect(found([install, other, blockDevice('sdc')], install)).toEqual([
      '/dev/sdb3 boot',
      '/dev/sdb4 root',
    ]);
    expect(found([install, other], install, [other])).toEqual([]);
  });

  it('finds them on a whole disk and in an array of another disk', () => {
    const whole = blockDevice('sdb', { label: 'boot' });
    expect(found([install, whole], install)).toEqual(['/dev/sdb boot']);
    const mirror = mirrorOf(bootArray, 'sdb', 'sdc');
    expect(found([install, ...mirror], install)).toContain('/dev/md126 boot');
  });

  it('finds them on the other half of a mirror, active or not', () => {
    const [own, other] = mirrorOf(bootArray, 'sda', 'sdb') as [BlockDevice, BlockDevice];
    expect(found([own, other], own)).toEqual(['/dev/md126 boot', '/dev/sdb3 boot']);
    expect(found([own, other], own, [other])).toEqual([]);
    const stopped = { ...other, children: other.children.map((one) => ({ ...one, children: [] })) };
    expect(found([blockDevice('sda'), stopped], blockDevice('sda'))).toEqual(['/dev/sdb3 boot']);
  });

  it.each([
    ['of another file system', { fsType: 'ext4', label: 'any:md-boot' }],
    ['with a longer name', { fsType: 'linux_raid_member', label: 'any:md-boot2' }],
    ['of a named host', { fsType: 'linux_raid_member', label: 'h:any:md-boot' }],
  ])('ignores a label %s that only resembles half of a mirror', (_, member) => {
    const other = blockDevice('sdb', {}, [partition('sdb1', member)]);
    expect(found([install, other], install)).toEqual([]);
  });

  it('finds them on a twin when no partition has a GUID', () => {
    const path = (kname: string) =>
      blockDevice(kname, { serial: 'S1', wwn: '0x60' }, [
        partition(`${kname}1`, { label: 'boot', partUuid: '' }),
      ]);
    expect(found([path('sda'), path('sdb')], path('sda'))).toEqual(['/dev/sdb1 boot']);
  });

  it('finds them behind a multipath device', () => {
    const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath', label: 'boot' });
    const paths = ['sdb', 'sdc'].map((name) => blockDevice(name, {}, [multipath]));
    expect(found([install, ...paths], install)).toContain('/dev/mapper/mpatha boot');
  });

  it('are named by label or as half of a mirror', () => {
    const [other] = mirrorOf(bootArray, 'sdb');
    const systems = otherSystems([install, other!], install);
    const { message, context } = hasOtherSystem(install, systems);
    expect(message).toBe('/dev/md126 is labelled boot; /dev/sdb3 is half of a boot mirror');
    expect(context).toEqual({ disk: '/dev/sda', devices: '/dev/md126 /dev/sdb3' });
  });

  it('ignores loop devices', () => {
    const loop = blockDevice('loop0', { type: 'loop' }, [partition('loop0p1', { label: 'boot' })]);
    expect(found([install, loop], install)).toEqual([]);
  });

  it('ignores LVM, which the initramfs does not activate', () => {
    const volume = blockDevice('dm-0', { name: 'vg-root', label: 'root' });
    const other = blockDevice('sdb', {}, [partition('sdb1', {}, [volume])]);
    expect(found([install, other], install)).toEqual([]);
  });

  it('ignores the paths of the multipath device that is installed to', () => {
    const part = (kname: string) => partition(kname, { label: 'boot' });
    const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }, [part('dm-1')]);
    const paths = ['sda', 'sdb'].map((path) =>
      blockDevice(path, {}, [multipath, part(`${path}1`)]),
    );
    expect(found(paths, multipath)).toEqual([]);
    expect(found([...paths, coreOsDisk('sdc')], multipath)).toHaveLength(2);
  });

  it('ignores a second path of the install disk, but not another disk with the same identifiers', () => {
    const lun = { serial: 'S1', wwn: '0x60' };
    const path = (kname: string, partUuid: string) =>
      blockDevice(kname, lun, [partition(`${kname}1`, { label: 'boot', partUuid })]);
    const own = path('sda', 'a');
    expect(found([own, path('sdb', 'a')], own)).toEqual([]);
    expect(found([own, path('sdb', 'b')], own)).toEqual(['/dev/sdb1 boot']);
    const silent = { ...own, wwn: '0x0' };
    expect(found([silent, { ...path('sdb', 'a'), wwn: '0x0' }], silent)).toEqual([
      '/dev/sdb1 boot',
    ]);
  });
});

describe('holdersOf', () => {
  it('names mounts and swap at any depth', () => {
    const disk = blockDevice('sda', { mountpoints: ['/data'] }, [
      partition('sda1', { mountpoints: ['[SWAP]'] }),
      partition('sda2', {}, [
        blockDevice('dm-0', { name: 'vg-home', mountpoints: ['/home', '/srv'] }),
      ]),
      partition('sda3'),
    ]);
    expect(holdersOf(disk).map(({ text }) => text)).toEqual([
      '/dev/sda1 is in use as swap',
      '/dev/mapper/vg-home is mounted on /home',
      '/dev/mapper/vg-home is mounted on /srv',
      '/dev/sda is mounted on /data',
      '/dev/mapper/vg-home (lvm) uses it',
    ]);
  });

  it.each([
    ...['/', '/sysroot', '/boot', '/run/media/iso', '/var'].map(
      (place) => [partition('sda1', { mountpoints: [place] }), 'live'] as const,
    ),
    [blockDevice('dm-0', { name: 'vg-root' }), 'leftover'] as const,
    [blockDevice('dm-0', { name: 'luks-1', type: 'crypt' }), 'leftover'] as const,
    [blockDevice('md127', { sizeBytes: 0, type: 'md' }), 'leftover'] as const,
    [blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }), 'foreign'] as const,
    [blockDevice('bcache0'), 'foreign'] as const,
  ])('classifies a holder: %#', (device, kind) => {
    expect(holdersOf(blockDevice('sda', {}, [device]))).toMatchObject([
      { kind, device: device.path },
    ]);
  });
});

describe('twinsOf', () => {
  const own = blockDevice('sda', { serial: 'S1', wwn: '0x5000C500A0B1C2D3' });
  it.each([
    ['a disk with the same identifiers', {}, ['sdb']],
    ['no disk with another serial number', { serial: 'S2' }, []],
    ['no disk with another WWN', { wwn: '0x5000C500A0B1C2D4' }, []],
    ['no device of another type', { type: 'loop' }, []],
  ])('returns %s', (_, differs, names) => {
    const other = { ...own, kname: 'sdb', path: '/dev/sdb', ...differs };
    expect(twinsOf([own, other], own).map(({ kname }) => kname)).toEqual(names);
  });

  it.each([
    ['0xABCDEFABCDEFABCD', 1],
    ['0x0000000000000000', 0],
    ['', 0],
  ])('matches only by a valid WWN: %j', (wwn, count) => {
    const disks = ['sda', 'sdb'].map((name) => blockDevice(name, { serial: 'S1', wwn }));
    expect(twinsOf(disks, disks[0]!)).toHaveLength(count);
  });
});

describe('sharedWith', () => {
  it('reports the remaining half of an array unless it will be formatted', () => {
    const [sda, sdb] = mirrorOf(bootArray, 'sda', 'sdb') as [BlockDevice, BlockDevice];
    expect(sharedWith([sda, sdb], sda)).toEqual([
      '/dev/sdb: its half of /dev/md126 stays, with its RAID superblock',
    ]);
    expect(sharedWith([sda, sdb], sda, [sdb])).toEqual([]);
  });

  it('ignores the members of the array that is installed to', () => {
    const array = blockDevice('md126', {}, [partition('md126p1')]);
    const roots = [blockDevice('sda', {}, [array]), blockDevice('sdb', {}, [array])];
    expect(sharedWith(roots, array)).toEqual([]);
  });
});

describe('decideExtraDisk', () => {
  const inUse = (kname: string, mountpoint: string): BlockDevice =>
    blockDevice(kname, {}, [partition(`${kname}1`, { mountpoints: [mountpoint] })]);
  const target = blockDevice('sda', {}, [partition('sda1')]);
  const spare = blockDevice('sdb', {}, [partition('sdb1', {}, [blockDevice('dm-0')])]);
  const roots = [
    ...[target, spare, inUse('sdc', '/run/media/iso'), blockDevice('sdd', { isReadOnly: true })],
    ...[inUse('sde', '/srv'), inUse('sdf', '[SWAP]')],
  ];
  const decide = (on: readonly BlockDevice[], path: string, disk: BlockDevice) =>
    decideExtraDisk({ roots: on, disk }, targetOf(deviceAt(on, path)!), new Map());

  it('accepts a disk with leftovers only', () => {
    expect(decide(roots, '/dev/sdb', target)).toBe(spare);
  });

  it.each([
    ['/dev/sda', 'it is the install disk'],
    ['/dev/sda1', 'it is the install disk'],
    ['/dev/sdc', '/dev/sdc1 is mounted on /run/media/iso'],
    ['/dev/sdd', 'it is read-only'],
    ['/dev/sde', '/dev/sde1 is mounted on /srv'],
    ['/dev/sdf', '/dev/sdf1 is in use as swap'],
  ])('refuses %s: %s', (path, message) => {
    expect(decide(roots, path, target)).toMatchObject({ code: 'disk.extra-refused', message });
  });

  it('refuses a second path of the install disk, and one of a disk in use', () => {
    const [own, other] = [{ wwn: '0x5000c500a0b1c2d3' }, { wwn: '0x5000c500a0b1c2d4' }];
    const paths = [
      ...['sda', 'sdb'].map((name) => blockDevice(name, { serial: 'S1', ...own })),
      blockDevice('sdc', { serial: 'S2', ...other }, [
        partition('sdc1', { mountpoints: ['/srv'] }),
      ]),
      blockDevice('sdd', { serial: 'S2', ...other }),
    ];
    expect(decide(paths, '/dev/sdb', paths[0]!)).toMatchObject({
      message: 'it has the serial number and WWN of the install disk',
    });
    expect(decide(paths, '/dev/sdd', paths[0]!)).toMatchObject({
      message: '/dev/sdc1 is mounted on /srv, and /dev/sdc has the same serial number and WWN',
    });
  });

  it('refuses another disk under the name of one, and passes other errors on', () => {
    const disks = { roots: [target, blockDevice('sdb', { serial: 'S1' })], disk: target };
    const wanted = targetOf(deviceAt(disks.roots, '/dev/sdb')!);
    expect(decideExtraDisk(disks, { ...wanted, serial: 'S2' }, new Map())).toMatchObject({
      code: 'disk.extra-refused',
      message: expect.stringContaining('/dev/sdb') as string,
    });
    const broken = {
      ...wanted,
      get serial(): string {
        throw new TypeError('a bug');
      },
    };
    expect(() => decideExtraDisk(disks, broken, new Map())).toThrow(TypeError);
  });

  it('refuses the array that is installed to by a member of it', () => {
    const array = blockDevice('md127', { type: 'raid1' });
    const members = ['sda', 'sdb'].map((name) => blockDevice(name, {}, [array]));
    expect(decide(members, '/dev/sda', array)).toMatchObject({ message: 'it is the install disk' });
    expect(decide(members, '/dev/md127', members[0]!)).toMatchObject({
      message: 'it is the install disk',
    });
  });

  it('refuses a path of the multipath device that is installed to', () => {
    const multipath = blockDevice('dm-7', { name: 'mpatha', type: 'mpath' });
    const paths = ['sda', 'sdb'].map((path) => blockDevice(path, {}, [multipath]));
    expect(decide(paths, '/dev/sdb', multipath)).toMatchObject({ code: 'disk.extra-refused' });
  });
});

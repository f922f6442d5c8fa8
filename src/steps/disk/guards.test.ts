import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  coreOsDisk,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { deviceAt } from './block-devices.ts';
import type { BlockDevice } from './lsblk.ts';
import {
  disksSharedWith,
  holdersOf,
  decideExtraDisk,
  otherSystemDisks,
  diskReadiness,
  renderHolder,
  smallestDiskBytes,
} from './guards.ts';

const calm = { willBeCleaned: true, keepsPartitions: false };
const volume = blockDevice('dm-0', { name: 'vg-a' });
const withLvm = blockDevice('sda', {}, [partition('sda1', {}, [volume])]);
const mounted = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/data'] })]);
const live = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/run/media/iso'] })]);

describe('readinessOf', () => {
  it.each([
    ['an empty disk', blockDevice('sda'), {}, undefined],
    ['the smallest disk', blockDevice('sda', { sizeBytes: smallestDiskBytes }), {}, undefined],
    ['too small', blockDevice('sda', { sizeBytes: smallestDiskBytes - 1 }), {}, 'disk.too-small'],
    ['a DASD that is not formatted', blockDevice('dasda', { sizeBytes: 0 }), {}, undefined],
    ['a disk without a medium', blockDevice('sda', { sizeBytes: 0 }), {}, 'disk.too-small'],
    ['read-only', blockDevice('sda', { isReadOnly: true }), {}, 'disk.read-only'],
    ['the live medium', live, {}, 'disk.is-live-medium'],
    ['the live medium, partitions kept', live, { keepsPartitions: true }, undefined],
    ['mounted', mounted, {}, 'disk.busy'],
    ['mounted, partitions kept', mounted, { keepsPartitions: true }, undefined],
    ['LVM, to be cleaned', withLvm, {}, undefined],
    ['LVM, not to be cleaned', withLvm, { willBeCleaned: false }, 'disk.busy'],
    ['bcache', blockDevice('sda', {}, [blockDevice('bcache0')]), {}, 'disk.busy'],
  ])('judges a disk: %s', (...[, disk, state, code]) => {
    expect(diskReadiness({ disk, ...calm, ...state }).problem?.code).toBe(code);
  });

  it('names everything that holds the disk', () => {
    const disk = blockDevice('sda', {}, [
      partition('sda1', { mountpoints: ['/data'] }),
      partition('sda2', { mountpoints: ['[SWAP]'] }),
    ]);
    const { problem } = diskReadiness({ disk, ...calm });
    expect(problem?.context).toEqual({
      disk: '/dev/sda',
      holders: '/dev/sda1 is mounted on /data; /dev/sda2 is in use as swap',
    });
  });

  it('remarks what will be removed', () => {
    expect(diskReadiness({ disk: withLvm, ...calm }).remarks).toEqual([
      '/dev/mapper/vg-a (lvm) uses it; it will be removed',
    ]);
  });
});

describe('otherSystemDisks', () => {
  it('names other file systems that the node could start from', () => {
    const target = coreOsDisk('sda');
    expect(otherSystemDisks([target, coreOsDisk('sdb'), blockDevice('sdc')], target)).toEqual([
      '/dev/sdb3 is labelled boot',
      '/dev/sdb4 is labelled root',
    ]);
  });
});

describe('holdersOf', () => {
  it('is empty for a disk with nothing but partitions', () => {
    expect(holdersOf(blockDevice('sda', {}, [partition('sda1')]))).toEqual([]);
  });

  it.each(['/', '/sysroot', '/boot', '/run/media/iso', '/var'])(
    'takes a mount on %s for the running system',
    (mountpoint) => {
      const disk = blockDevice('sda', {}, [partition('sda1', { mountpoints: [mountpoint] })]);
      expect(holdersOf(disk)).toEqual([{ kind: 'live', device: '/dev/sda1', mountpoint }]);
    },
  );

  it('names mounts and swap wherever they stand', () => {
    const disk = blockDevice('sda', { mountpoints: ['/data'] }, [
      partition('sda1', { mountpoints: ['[SWAP]'] }),
      partition('sda2', {}, [
        blockDevice('dm-0', { name: 'vg-home', mountpoints: ['/home', '/srv'] }),
      ]),
    ]);
    expect(holdersOf(disk).map(renderHolder)).toEqual([
      '/dev/sda1 is in use as swap',
      '/dev/mapper/vg-home is mounted on /home',
      '/dev/mapper/vg-home is mounted on /srv',
      '/dev/sda is mounted on /data',
      '/dev/mapper/vg-home (lvm) uses it',
    ]);
  });

  it.each([
    [blockDevice('dm-0', { name: 'vg-root' }), 'leftover'],
    [blockDevice('dm-0', { name: 'luks-1', type: 'crypt' }), 'leftover'],
    [blockDevice('md127', { sizeBytes: 0, type: 'md' }), 'leftover'],
    [blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }), 'foreign'],
    [blockDevice('bcache0'), 'foreign'],
  ])('tells what the cleanup can take down from what it cannot: %#', (device, kind) => {
    expect(holdersOf(blockDevice('sda', {}, [device]))).toMatchObject([
      { kind, device: device.path },
    ]);
  });
});

describe('disksSharedWith', () => {
  it('names other disks under a volume that stands on this one', () => {
    const volume = blockDevice('dm-0', { name: 'vg-data' });
    const sda = blockDevice('sda', {}, [partition('sda1', {}, [volume])]);
    const sdb = blockDevice('sdb', {}, [volume]);
    const sdc = blockDevice('sdc', {}, [partition('sdc1')]);
    expect(disksSharedWith([sda, sdb, sdc], sda)).toEqual(['/dev/sdb']);
  });

  it('does not name the members of the array that is installed to', () => {
    const array = blockDevice('md126', {}, [partition('md126p1')]);
    const roots = [blockDevice('sda', {}, [array]), blockDevice('sdb', {}, [array])];
    expect(disksSharedWith(roots, array)).toEqual([]);
  });
});

const target = blockDevice('sda', {}, [partition('sda1')]);
const spare = blockDevice('sdb', {}, [partition('sdb1', {}, [blockDevice('dm-0')])]);
const stick = blockDevice('sdc', {}, [partition('sdc1', { mountpoints: ['/run/media/iso'] })]);
const roots = [target, spare, stick, blockDevice('sdd', { isReadOnly: true })];

describe('decideExtraDisk', () => {
  const decide = (
    on: readonly BlockDevice[],
    { asked, real, target: install }: { asked: string; real: string; target: BlockDevice },
  ) => {
    const found = deviceAt(on, real);
    const identity = found && { ...targetOf(found), asked };
    return decideExtraDisk(on, { asked, identity, links: new Map(), target: install });
  };

  it('lets a disk be formatted that only has leftovers', () => {
    expect(decide(roots, { asked: '/dev/x', real: '/dev/sdb', target })).toEqual({
      kind: 'format',
      asked: '/dev/x',
      device: spare,
      identity: { ...targetOf(spare), asked: '/dev/x' },
    });
  });

  it.each([
    ['/dev/sda', 'it is the install disk'],
    ['/dev/sda1', 'it is the install disk'],
    ['/dev/sdc', '/dev/sdc1 is mounted on /run/media/iso'],
    ['/dev/sdd', 'it is read-only'],
  ])('refuses %s: %s', (real, because) => {
    const asked = `/dev/disk/by-id${real}`;
    expect(decide(roots, { asked, real, target })).toEqual({
      kind: 'refused',
      asked,
      because,
    });
  });

  it.each([
    ['/srv', 'is mounted on /srv'],
    ['[SWAP]', 'is in use as swap'],
  ])('refuses a disk with a partition in use: %s', (mountpoint, because) => {
    const data = blockDevice('sde', {}, [partition('sde1', { mountpoints: [mountpoint] })]);
    const question = { asked: '/dev/sde', real: '/dev/sde', target };
    expect(decide([...roots, data], question)).toMatchObject({
      kind: 'refused',
      because: `/dev/sde1 ${because}`,
    });
  });

  it('refuses a path of the multipath device that is installed to', () => {
    const multipath = blockDevice('dm-7', { name: 'mpatha', type: 'mpath' });
    const host = [blockDevice('sda', {}, [multipath]), blockDevice('sdb', {}, [multipath])];
    const question = { asked: '/dev/sdb', real: '/dev/sdb', target: multipath };
    expect(decide(host, question)).toMatchObject({ kind: 'refused' });
  });

  it('says that a disk is missing', () => {
    expect(decide(roots, { asked: '/dev/q', real: '/dev/q', target })).toEqual({
      kind: 'missing',
      asked: '/dev/q',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import { disksSharedWith, holdingsOf, renderHolding } from './holders.ts';

describe('holdingsOf', () => {
  it('is empty for a disk with nothing but partitions', () => {
    expect(holdingsOf(blockDevice('sda', {}, [partition('sda1')]))).toEqual([]);
  });

  it.each(['/', '/sysroot', '/boot', '/run/media/iso', '/var'])(
    'takes a mount on %s for the running system',
    (mountpoint) => {
      const disk = blockDevice('sda', {}, [partition('sda1', { mountpoints: [mountpoint] })]);
      expect(holdingsOf(disk)).toEqual([{ kind: 'live', device: '/dev/sda1', mountpoint }]);
    },
  );

  it('names mounts and swap wherever they stand', () => {
    const disk = blockDevice('sda', { mountpoints: ['/data'] }, [
      partition('sda1', { mountpoints: ['[SWAP]'] }),
      partition('sda2', {}, [
        blockDevice('dm-0', { name: 'vg-home', mountpoints: ['/home', '/srv'] }),
      ]),
    ]);
    expect(holdingsOf(disk).map(renderHolding)).toEqual([
      '/dev/sda1 is in use as swap',
      '/dev/mapper/vg-home is mounted on /home',
      '/dev/mapper/vg-home is mounted on /srv',
      '/dev/sda is mounted on /data',
      '/dev/mapper/vg-home (lvm) stands on it',
    ]);
  });

  it.each([
    [blockDevice('dm-0', { name: 'vg-root' }), 'leftover'],
    [blockDevice('dm-0', { name: 'luks-1', type: 'crypt' }), 'leftover'],
    [blockDevice('md127', { sizeBytes: 0, type: 'md' }), 'leftover'],
    [blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }), 'foreign'],
    [blockDevice('bcache0'), 'foreign'],
  ])('tells what the cleanup can take down from what it cannot: %#', (device, kind) => {
    expect(holdingsOf(blockDevice('sda', {}, [device]))).toMatchObject([
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

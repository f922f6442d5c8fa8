import { describe, expect, it } from 'vitest';
import { blockDevice, coreOsDisk, partition } from './disk-samples.ts';
import { otherSystemDisks, readinessOf, smallestDiskBytes } from './readiness.ts';

const calm = { openers: [], willBeCleaned: true, keepsPartitions: false };
const volume = blockDevice('dm-0', { name: 'vg-a' });
const withLvm = blockDevice('sda', {}, [partition('sda1', {}, [volume])]);
const mounted = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/data'] })]);
const live = blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/run/media/iso'] })]);

describe('readinessOf', () => {
  it.each([
    ['an empty disk', blockDevice('sda'), {}, undefined],
    ['the smallest disk', blockDevice('sda', { sizeBytes: smallestDiskBytes }), {}, undefined],
    ['too small', blockDevice('sda', { sizeBytes: smallestDiskBytes - 1 }), {}, 'disk.too-small'],
    ['read-only', blockDevice('sda', { isReadOnly: true }), {}, 'disk.read-only'],
    ['the live medium', live, {}, 'disk.is-live-medium'],
    ['the live medium, partitions kept', live, { keepsPartitions: true }, undefined],
    ['mounted', mounted, {}, 'disk.busy'],
    ['mounted, partitions kept', mounted, { keepsPartitions: true }, undefined],
    ['LVM, to be cleaned', withLvm, {}, undefined],
    ['LVM, not to be cleaned', withLvm, { willBeCleaned: false }, 'disk.busy'],
    ['bcache', blockDevice('sda', {}, [blockDevice('bcache0')]), {}, 'disk.busy'],
    ['open in a process', blockDevice('sda'), { openers: ['/dev/sda is open in dd'] }, 'disk.busy'],
  ])('judges a disk: %s', (...[, disk, state, code]) => {
    expect(readinessOf({ disk, ...calm, ...state }).problem?.code).toBe(code);
  });

  it('names everything that holds the disk', () => {
    const disk = blockDevice('sda', {}, [
      partition('sda1', { mountpoints: ['/data'] }),
      partition('sda2', { mountpoints: ['[SWAP]'] }),
    ]);
    const { problem } = readinessOf({
      disk,
      ...calm,
      openers: ['/dev/sda is open in dd (process 7)'],
    });
    expect(problem?.context).toEqual({
      disk: '/dev/sda',
      holders:
        '/dev/sda1 is mounted on /data; /dev/sda2 is in use as swap; /dev/sda is open in dd (process 7)',
    });
  });

  it('remarks what will be removed', () => {
    expect(readinessOf({ disk: withLvm, ...calm }).remarks).toEqual([
      '/dev/mapper/vg-a (lvm) stands on it; it will be removed',
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

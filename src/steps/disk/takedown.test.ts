import { expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import { leftoversOn, takedownArgvs } from './takedown.ts';

it('removes a thin pool from the top', () => {
  const pool = blockDevice('dm-3', { name: 'vg-pool' });
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [
      blockDevice('dm-1', { name: 'vg-pool_tmeta' }, [pool]),
      blockDevice('dm-2', { name: 'vg-pool_tdata' }, [pool]),
    ]),
  ]);
  expect(takedownArgvs(disk)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-pool'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tmeta'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tdata'],
  ]);
});

it('stops an array after what stands on it, and only this disk forgets it', () => {
  const array = blockDevice('md127', {}, [blockDevice('dm-0', { name: 'vg-a' })]);
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [array]),
    partition('sda2'),
    partition('sda3', {}, [array]),
  ]);
  expect(takedownArgvs(disk)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-a'],
    ['mdadm', '--stop', '/dev/md127'],
    ['mdadm', '--zero-superblock', '/dev/sda1'],
    ['mdadm', '--zero-superblock', '/dev/sda3'],
  ]);
});

it('takes a whole disk out of its array', () => {
  expect(takedownArgvs(blockDevice('sda', {}, [blockDevice('md0')]))).toEqual([
    ['mdadm', '--stop', '/dev/md0'],
    ['mdadm', '--zero-superblock', '/dev/sda'],
  ]);
});

it('leaves partitions of a multipath device, and the multipath device', () => {
  const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }, [
    partition('dm-1', { name: 'mpatha1' }),
  ]);
  expect(leftoversOn(multipath)).toEqual([]);
  expect(leftoversOn(blockDevice('sda', {}, [multipath]))).toEqual([]);
});

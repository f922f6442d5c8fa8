import { expect, it } from 'vitest';
import { blockDevice, partition } from '../../../test/support/disk-samples.ts';
import { emptyingArgvs } from './empty.ts';

it('removes a thin pool from the top', () => {
  const pool = blockDevice('dm-3', { name: 'vg-pool' });
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [
      blockDevice('dm-1', { name: 'vg-pool_tmeta' }, [pool]),
      blockDevice('dm-2', { name: 'vg-pool_tdata' }, [pool]),
    ]),
  ]);
  expect(emptyingArgvs(disk)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-pool'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tmeta'],
    ['dmsetup', 'remove', '--retry', 'vg-pool_tdata'],
    ['wipefs', '--all', '/dev/sda1'],
    ['wipefs', '--all', '/dev/sda'],
  ]);
});

it('stops an array after what stands on it, and only this disk forgets it', () => {
  const array = blockDevice('md127', {}, [blockDevice('dm-0', { name: 'vg-a' })]);
  const disk = blockDevice('sda', {}, [
    partition('sda1', {}, [array]),
    partition('sda2'),
    partition('sda3', {}, [array]),
  ]);
  expect(emptyingArgvs(disk).slice(0, 4)).toEqual([
    ['dmsetup', 'remove', '--retry', 'vg-a'],
    ['mdadm', '--stop', '/dev/md127'],
    ['mdadm', '--zero-superblock', '/dev/sda1'],
    ['mdadm', '--zero-superblock', '/dev/sda3'],
  ]);
});

it('takes a whole disk out of its array', () => {
  expect(emptyingArgvs(blockDevice('sda', {}, [blockDevice('md0')]))).toEqual([
    ['mdadm', '--stop', '/dev/md0'],
    ['mdadm', '--zero-superblock', '/dev/sda'],
    ['wipefs', '--all', '/dev/sda'],
  ]);
});

it('leaves a multipath device, and empties it', () => {
  const multipath = blockDevice('dm-0', { name: 'mpatha', type: 'mpath' }, [
    partition('dm-1', { name: 'mpatha1' }),
  ]);
  expect(emptyingArgvs(multipath)).toEqual([
    ['wipefs', '--all', '/dev/mapper/mpatha1'],
    ['dmsetup', 'remove', '--retry', 'mpatha1'],
    ['wipefs', '--all', '/dev/mapper/mpatha'],
  ]);
});

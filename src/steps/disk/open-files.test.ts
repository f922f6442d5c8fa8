import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { nodesOf, openersArgv, parseOpeners, readOpeners } from './open-files.ts';

const disk = blockDevice('sda', {}, [
  partition('sda1', {}, [blockDevice('dm-0', { name: 'vg-root' })]),
]);

it('asks for every node of the disk', () => {
  expect(nodesOf(disk)).toEqual(['/dev/mapper/vg-root', '/dev/dm-0', '/dev/sda1', '/dev/sda']);
});

it('builds one look through /proc', () => {
  expect(openersArgv(['/dev/sda', '/dev/sda1'])).toEqual([
    ...['find', '/proc', '-mindepth', '3', '-maxdepth', '3', '-path', '/proc/[0-9]*/fd/*'],
    ...['(', '-lname', '/dev/sda', '-o', '-lname', '/dev/sda1', ')', '-printf', '%p %l\\n'],
  ]);
});

it('reads each process once for each device', () => {
  const stdout = '/proc/7/fd/3 /dev/sda\n/proc/7/fd/4 /dev/sda\n/proc/8/fd/0 /dev/sda1\nnoise\n';
  expect(parseOpeners(stdout)).toEqual([
    { pid: 7, device: '/dev/sda' },
    { pid: 8, device: '/dev/sda1' },
  ]);
});

describe('readOpeners', () => {
  it('names processes, leaves out watchers and those that have ended', async () => {
    const host = fakeHost()
      .withFile('/proc/7/comm', 'dd\n')
      .withFile('/proc/8/comm', 'systemd-udevd\n')
      .on(['find', rest])
      .fails(
        1,
        'find: gone',
        '/proc/7/fd/3 /dev/sda\n/proc/8/fd/3 /dev/sda\n/proc/9/fd/3 /dev/sda',
      );
    expect(await readOpeners(host, disk, new AbortController().signal)).toEqual([
      '/dev/sda is open in dd (process 7)',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { blockDevice, partition, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { removeStaleMounts, lockDisk, mountedOn, openersArgv, readOpeners } from './in-use.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';

const disk = blockDevice('sda', {}, [
  partition('sda1', {}, [blockDevice('dm-0', { name: 'vg-root' })]),
]);

it('builds one look through /proc', () => {
  expect(openersArgv(['/dev/sda', '/dev/sda1'])).toEqual([
    ...['find', '/proc', '-mindepth', '3', '-maxdepth', '3', '-path', '/proc/[0-9]*/fd/*'],
    ...['(', '-lname', '/dev/sda', '-o', '-lname', '/dev/sda1', ')', '-printf', '%p %l\\n'],
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

  it('asks for every node of the disk', async () => {
    const nodes = ['/dev/mapper/vg-root', '/dev/dm-0', '/dev/sda1', '/dev/sda'];
    const host = fakeHost().on(openersArgv(nodes)).prints('');
    expect(await readOpeners(host, disk, new AbortController().signal)).toEqual([]);
  });

  it('names each process once for each device', async () => {
    const host = fakeHost()
      .withFile('/proc/7/comm', 'dd\n')
      .withFile('/proc/8/comm', 'cat\n')
      .on(['find', rest])
      .prints('/proc/7/fd/3 /dev/sda\n/proc/7/fd/4 /dev/sda\n/proc/8/fd/0 /dev/sda1\n');
    expect(await readOpeners(host, disk, new AbortController().signal)).toEqual([
      '/dev/sda is open in dd (process 7)',
      '/dev/sda1 is open in cat (process 8)',
    ]);
  });

  it('reads nothing out of what find does not print', async () => {
    const host = fakeHost().on(['find', rest]).prints('/proc/7/fd/3 /dev/sda\nnoise\n');
    await expect(readOpeners(host, disk, new AbortController().signal)).rejects.toMatchObject({
      code: 'command.unreadable',
    });
  });
});

const mountedDisk = blockDevice('sda', {}, [
  partition('sda3', { mountpoints: ['/mnt/boot'] }),
  partition('sda4', { mountpoints: ['/mnt', '/var'] }),
]);

describe('what a killed run had left mounted', () => {
  it('is found at the places that are asked for, in their order', () => {
    expect(mountedOn(mountedDisk, ['/mnt/boot', '/mnt', '/mnt/root'])).toEqual([
      '/mnt/boot',
      '/mnt',
    ]);
  });

  it('is thawed and unmounted, deepest first, and nothing else is', async () => {
    const host = fakeHost();
    host.on(['fsfreeze', '--unfreeze', rest]).fails(1, 'not frozen');
    host.on(['umount', rest]).succeeds();
    const scope = { host, signal: new AbortController().signal };
    await removeStaleMounts(scope as never, mountedDisk, ['/mnt/boot', '/mnt']);
    expect(host.ran).toEqual([
      ['fsfreeze', '--unfreeze', '/mnt/boot'],
      ['umount', '/mnt/boot'],
      ['fsfreeze', '--unfreeze', '/mnt'],
      ['umount', '/mnt'],
    ]);
  });
});

const facts = { disk: targetOf(blockDevice('sda', { majorMinor: '8:0' })) };

it('takes the disk by its number and keeps it', async () => {
  const host = fakeHost();
  await runStep(lockDisk, { host, facts });
  expect([...host.locks]).toEqual(['bootwright-disk-8-0']);
});

it('refuses a disk that another installation holds', async () => {
  const host = fakeHost().lockedByAnother('bootwright-disk-8-0');
  const { failure } = await tryStep(lockDisk, { host, facts });
  expect(failure).toMatchObject({ code: 'disk.locked', kind: 'host' });
});

it('takes it again in a run that continues', () => {
  expect(lockDisk.rerun).toBe('always');
});

import { describe, expect, it } from 'vitest';
import {
  blockDevice,
  lsblkOutput,
  partition,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { lockDisk, removeStaleMounts, requireAlone, unmountAtEnd } from './in-use.ts';
import { runStep, stepThat, tryStep } from '../../../test/support/run-step.ts';
import type { BlockDevice } from './block-devices.ts';

const mountedDisk = blockDevice('sda', {}, [
  partition('sda3', { mountpoints: ['/mnt/boot'] }),
  partition('sda4', { mountpoints: ['/mnt', '/var'] }),
]);

describe('removeStaleMounts', () => {
  it('thaws and unmounts only the given mounts, deepest first', async () => {
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

it('locks the disk by its device number and keeps the lock', async () => {
  const host = fakeHost();
  await runStep(lockDisk, { host, facts });
  expect([...host.locks]).toEqual(['bootwright-disk-8-0']);
});

it('refuses a disk that another installation holds', async () => {
  const host = fakeHost().lockedByAnother('bootwright-disk-8-0');
  const { failure } = await tryStep(lockDisk, { host, facts });
  const context = { disk: '/dev/sda', lock: 'bootwright-disk-8-0' };
  expect(failure).toMatchObject({ code: 'disk.locked', kind: 'host', context });
});

it('refuses a disk that a writer of an earlier run still holds', async () => {
  const clock = fakeClock();
  const host = fakeHost({ clock }).lockedByAnother('bootwright-disk-8-0-writer');
  const { failure, events } = await tryStep(lockDisk, { host, clock, facts });
  const status = 'a command of an earlier run still writes to /dev/sda';
  expect(failure).toMatchObject({
    code: 'disk.locked',
    message: status,
    context: { disk: '/dev/sda', lock: 'bootwright-disk-8-0-writer' },
  });
  expect(events.find(({ type }) => type === 'wait.updated')).toMatchObject({ status });
});

describe('requireAlone', () => {
  const asking = (disk: BlockDevice) =>
    stepThat(['host'], (scope) => requireAlone(scope, targetOf(disk)));
  const hostOf = (disk: BlockDevice) =>
    fakeHost().on(['lsblk', rest]).prints(lsblkOutput(disk)).on(['wipefs', rest]).succeeds();
  const array = blockDevice('md0');

  it.each<[string, BlockDevice, readonly string[]]>([
    ['a disk without partitions', blockDevice('sda'), ['/dev/sda']],
    ['the partitions of a disk', blockDevice('sda', {}, [partition('sda1')]), ['/dev/sda1']],
    [
      'nothing of a mounted partition',
      blockDevice('sda', {}, [partition('sda1', { mountpoints: ['/mnt'] }), partition('sda2')]),
      ['/dev/sda2'],
    ],
    [
      'no partition without a size',
      blockDevice('sda', {}, [partition('sda1', { sizeBytes: 0 })]),
      [],
    ],
    [
      'no partition of a disk that an array has',
      blockDevice('sda', {}, [partition('sda1'), array]),
      ['/dev/md0'],
    ],
  ])('opens %s alone', async (_, disk, opened) => {
    const host = hostOf(disk);
    await runStep(asking(disk), { host });
    const asked = host.ran.filter(([program]) => program === 'wipefs');
    expect(asked).toEqual(opened.map((path) => ['wipefs', '--all', '--no-act', path]));
  });

  it('waits 30 s for a holder that lsblk does not show, and names it', async () => {
    const disk = blockDevice('sda');
    const clock = fakeClock();
    const host = hostOf(disk).on(['wipefs', rest]).fails(1, 'wipefs: Device or resource busy');
    const { failure } = await tryStep(asking(disk), { host, clock });
    expect(failure).toMatchObject({
      code: 'disk.busy',
      message: expect.stringContaining('/dev/sda is held by something') as string,
    });
    expect(clock.now()).toBe(30_000);
  });

  it('passes when the kernel says nothing of a use', async () => {
    const disk = blockDevice('sda');
    const host = hostOf(disk).on(['wipefs', rest]).fails(1, 'wipefs: No medium found');
    expect((await tryStep(asking(disk), { host })).failure).toBeUndefined();
  });
});

describe('unmountAtEnd', () => {
  const mounting = (isUnmountedItself: boolean) =>
    stepThat(['host'], async (scope) => {
      const unmount = unmountAtEnd(scope, '/mnt', 3000);
      if (isUnmountedItself) await unmount(scope.signal);
    });
  const umounts = ({ ran }: ReturnType<typeof fakeHost>) =>
    ran.filter(([program]) => program === 'umount');

  it.each([true, false])('unmounts once, by the step itself: %j', async (isUnmountedItself) => {
    const host = fakeHost().on(['umount', '/mnt']).succeeds();
    await runStep(mounting(isUnmountedItself), { host });
    expect(umounts(host)).toEqual([['umount', '/mnt']]);
  });

  it('accepts that it is not mounted any more, and no other failure', async () => {
    const gone = fakeHost().on(['umount', '/mnt']).fails(32, 'umount: /mnt: not mounted.');
    expect((await tryStep(mounting(true), { host: gone })).failure).toBeUndefined();
    expect(umounts(gone)).toHaveLength(1);
    const busy = fakeHost().on(['umount', '/mnt']).fails(32, 'umount: /mnt: target is busy.');
    const { failure } = await tryStep(mounting(true), { host: busy });
    expect(failure).toMatchObject({ code: 'command.failed' });
    expect(umounts(busy)).toHaveLength(2);
  });
});

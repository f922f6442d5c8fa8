import { describe, expect, it } from 'vitest';
import { blockDevice, partition, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { removeStaleMounts, lockDisk } from './in-use.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';

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
  expect(failure).toMatchObject({ code: 'disk.locked', kind: 'host' });
});

it('refuses a disk that a writer of an earlier run still holds', async () => {
  const clock = fakeClock();
  const host = fakeHost({ clock }).lockedByAnother('bootwright-disk-8-0-writer');
  const { failure } = await tryStep(lockDisk, { host, clock, facts });
  expect(failure).toMatchObject({
    code: 'disk.locked',
    message: 'a command of an earlier run still writes to /dev/sda',
  });
});

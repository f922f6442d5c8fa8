import { describe, expect, it } from 'vitest';
import { blockDevice, lsblkOutput } from './disk-samples.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import type { BlockDevice } from './lsblk.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { resolve } from './resolve.ts';

const byId = '/dev/disk/by-id/ata-SSD_S1';
const sda = blockDevice('sda', { serial: 'S1', sectorBytes: 4096, majorMinor: '8:0' });
const hostWith = (...disks: readonly BlockDevice[]) =>
  fakeHost()
    .withLink(byId, '../../sda')
    .withLink('/dev/disk/by-id/../../sda', '/dev/sda')
    .on(['lsblk', rest])
    .prints(lsblkOutput(...disks), 'lsblk: a warning');

describe('disk/resolve', () => {
  it('follows the link and gives the disk', async () => {
    const { value } = await runStep(resolve, {
      host: hostWith(sda),
      config: { disk: { device: byId } },
    });
    expect(value).toEqual({
      path: '/dev/sda',
      asked: byId,
      name: 'sda',
      majorMinor: '8:0',
      sizeBytes: sda.sizeBytes,
      sectorBytes: 4096,
      type: 'disk',
    });
  });

  it.each([
    ['no disk is named', {}, hostWith(sda), 'disk.missing'],
    [
      'the disk is another one',
      { device: byId },
      hostWith({ ...sda, serial: 'S2' }),
      'disk.not-the-one',
    ],
    ['the disk is not there', { device: '/dev/sdq' }, hostWith(sda), 'disk.missing'],
    [
      'there is no disk',
      { device: byId },
      hostWith().on(['lsblk', rest]).fails(32),
      'disk.missing',
    ],
    [
      'lsblk prints no list',
      { device: byId },
      fakeHost().on(['lsblk', rest]).prints('?'),
      'disk.unreadable',
    ],
  ])('fails when %s', async (...[, disk, host, code]) => {
    const { failure } = await tryStep(resolve, { host, config: { disk } });
    expect(failure).toMatchObject({ code });
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(resolve, () => ({
      host: hostWith(sda),
      config: { disk: { device: byId } },
    }));
  });
});

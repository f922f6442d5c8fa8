import { describe, expect, it } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { leaveEarlierMounts, mountedOn } from './earlier-mounts.ts';
import { parseLsblk } from './lsblk.ts';

const part = (name: string, mountpoints: readonly string[]): object => ({
  ...{ name, kname: name, path: `/dev/${name}`, 'maj:min': '8:1', type: 'part', size: 1 },
  ...{ 'log-sec': 512, ro: false, mountpoints },
});
const [disk] = parseLsblk(
  JSON.stringify({
    blockdevices: [
      {
        ...part('sda', []),
        type: 'disk',
        children: [part('sda3', ['/mnt/boot']), part('sda4', ['/mnt', '/var'])],
      },
    ],
  }),
);

describe('what a killed run had left mounted', () => {
  it('is found at the places that are asked for, in their order', () => {
    expect(mountedOn(disk!, ['/mnt/boot', '/mnt', '/mnt/root'])).toEqual(['/mnt/boot', '/mnt']);
  });

  it('is thawed and unmounted, deepest first, and nothing else is', async () => {
    const host = fakeHost();
    host.on(['fsfreeze', '--unfreeze', rest]).fails(1, 'not frozen');
    host.on(['umount', rest]).succeeds();
    const scope = { host, signal: new AbortController().signal };
    await leaveEarlierMounts(scope as never, disk!, ['/mnt/boot', '/mnt']);
    expect(host.ran).toEqual([
      ['fsfreeze', '--unfreeze', '/mnt/boot'],
      ['umount', '/mnt/boot'],
      ['fsfreeze', '--unfreeze', '/mnt'],
      ['umount', '/mnt'],
    ]);
  });
});

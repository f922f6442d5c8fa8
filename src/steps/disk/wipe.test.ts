import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import { forgetTablesArgvs, tablesOf, zeroMebibyteArgv } from './wipe.ts';

const mebibyte = 1024 ** 2;

describe('forgetTablesArgvs', () => {
  it('zeroes the first sector as asked, then wipes partitions, disk and both ends', () => {
    const disk = blockDevice('sdb', { sizeBytes: 10 * mebibyte }, [partition('sdb1')]);
    expect(forgetTablesArgvs('/dev/disk/by-id/x', tablesOf(disk))).toEqual([
      ['dd', 'if=/dev/zero', 'of=/dev/disk/by-id/x', 'bs=512', 'count=1'],
      ['wipefs', '--all', '--force', '/dev/sdb1'],
      ['wipefs', '--all', '--force', '/dev/sdb'],
      [
        ...['dd', 'if=/dev/zero', 'of=/dev/sdb', 'bs=1M', 'count=1'],
        ...['oflag=seek_bytes', 'seek=0', 'conv=fsync'],
      ],
      [
        ...['dd', 'if=/dev/zero', 'of=/dev/sdb', 'bs=1M', 'count=1'],
        ...['oflag=seek_bytes', `seek=${9 * mebibyte}`, 'conv=fsync'],
      ],
      ['blockdev', '--rereadpt', '/dev/sdb'],
      ['udevadm', 'settle', '--timeout=30'],
    ]);
  });

  it.each([512, 4096])('covers the table at the end on sectors of %d bytes', (sectorBytes) => {
    const sizeBytes = 4_000_000 * sectorBytes;
    const disk = blockDevice('sdb', { sizeBytes, sectorBytes });
    const zeroed = forgetTablesArgvs('/dev/sdb', tablesOf(disk));
    // 128 entries of 128 bytes, and one sector for the header (UEFI specification, 5.3).
    const tableBytes = 128 * 128 + sectorBytes;
    expect(zeroed).toContainEqual(zeroMebibyteArgv('/dev/sdb', sizeBytes - mebibyte));
    expect(tableBytes).toBeLessThan(mebibyte);
  });

  it('writes nothing beyond a tiny device', () => {
    const disk = blockDevice('sdb', { sizeBytes: mebibyte });
    expect(forgetTablesArgvs('/dev/sdb', tablesOf(disk)).flat()).not.toContain('bs=1M');
  });
});

import { crc32 } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { coreosShape } from './coreos-shape.ts';
import { mebibyte, renderGpt } from './gpt.ts';

const diskMiB = 64;

function shapeWith(sectorBytes: 512 | 4096) {
  return coreosShape({ diskMiB, espMiB: 8, bootMiB: 32, sectorBytes });
}

function render(sectorBytes: 512 | 4096): Buffer {
  const disk = Buffer.alloc(diskMiB * mebibyte);
  for (const { offset, bytes } of renderGpt(shapeWith(sectorBytes))) bytes.copy(disk, offset);
  return disk;
}

describe.each([512, 4096] as const)('a partition table with sectors of %i bytes', (sector) => {
  const disk = render(sector);
  const lastSector = (diskMiB * mebibyte) / sector - 1;

  it.each([
    ['primary', 1, lastSector],
    ['backup', lastSector, 1],
  ])(
    '%s header names itself, the other one and entries with the right sum',
    (_name, own, other) => {
      const header = Buffer.from(disk.subarray(own * sector, own * sector + 92));
      expect(header.toString('latin1', 0, 8)).toBe('EFI PART');
      expect([header.readBigUInt64LE(24), header.readBigUInt64LE(32)]).toEqual([
        BigInt(own),
        BigInt(other),
      ]);
      const entries = Number(header.readBigUInt64LE(72)) * sector;
      expect(header.readUInt32LE(88)).toBe(crc32(disk.subarray(entries, entries + 128 * 128)));
      const sum = header.readUInt32LE(16);
      header.writeUInt32LE(0, 16);
      expect(sum).toBe(crc32(header));
    },
  );

  it('places the boot partition where its shape says', () => {
    const entry = disk.subarray(2 * sector + 2 * 128);
    const { boot } = shapeWith(sector);
    expect(Number(entry.readBigUInt64LE(32)) * sector).toBe(boot.startMiB * mebibyte);
    expect((Number(entry.readBigUInt64LE(40)) + 1) * sector).toBe((boot.startMiB + 32) * mebibyte);
    expect(entry.toString('utf16le', 56, 64)).toBe('boot');
  });

  it('is protected by an MBR that covers the whole disk', () => {
    expect(disk[450]).toBe(0xee);
    expect(disk.readUInt32LE(458)).toBe(lastSector);
    expect(disk.readUInt16LE(510)).toBe(0xaa55);
  });
});

describe('coreosShape', () => {
  it('lets no two partitions overlap and leaves the last MiB free', () => {
    const { partitions } = shapeWith(512);
    const ends = partitions.map(({ startMiB, sizeMiB }) => startMiB + sizeMiB);
    const starts = partitions.slice(1).map(({ startMiB }) => startMiB);
    expect(starts).toEqual(ends.slice(0, -1));
    expect(ends.at(-1)).toBe(diskMiB - 1);
  });
});

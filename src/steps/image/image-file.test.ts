import { randomBytes } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { refuseUnfit } from './image-file.ts';

/** The first bytes of a raw image whose partition table shows this size. */
function image(sectorBytes: number, sectors: number): Buffer {
  const bytes = Buffer.alloc(40 * 1024);
  bytes.write('EFI PART', sectorBytes, 'latin1');
  bytes.writeBigUInt64LE(BigInt(sectors - 1), sectorBytes + 32);
  return bytes;
}

function iso(): Buffer {
  const bytes = Buffer.alloc(40 * 1024);
  bytes.write('CD001', 0x8001, 'latin1');
  return bytes;
}

const disk = { sectorBytes: 512, sizeBytes: 0 };

describe('refuseUnfit', () => {
  it.each<[string, Buffer]>([
    ['an ISO image', iso()],
    ['a qcow2 image', Buffer.from('QFI\xfb\0\0\0\x03', 'latin1')],
    ['a web page', Buffer.from('\n<!DOCTYPE html><html>')],
    ['a JSON document', Buffer.from('{"error": "not found"}')],
  ])('refuses %s, compressed or not', (found, bytes) => {
    for (const stored of [bytes, gzipSync(bytes), zstdCompressSync(bytes)])
      expect(() => refuseUnfit(stored, '/i.raw', disk)).toThrow(
        expect.objectContaining({ code: 'image.not-an-image', message: `/i.raw is ${found}` }),
      );
  });

  it.each([gzipSync, zstdCompressSync])(
    'refuses an image that is too large by its compressed partition table: %o',
    (pack) => {
      const target = { sectorBytes: 512, sizeBytes: 512 * 1000 };
      // Random bytes behind the first block make the packed file longer than the head that is read.
      const rest = [Buffer.alloc(128 * 1024), randomBytes(128 * 1024)];
      const stored = pack(Buffer.concat([image(512, 1001), ...rest]));
      expect(() => refuseUnfit(stored.subarray(0, 40 * 1024), 'i', target)).toThrow(
        expect.objectContaining({ code: 'image.too-large' }),
      );
    },
  );

  it.each([
    ['/opt/fedora-coreos-qemu.x86_64.qcow2.xz', 'a qcow2 image'],
    ['https://mirror.example/live.ISO.xz?sig=1', 'an ISO image'],
  ])('refuses an xz file by its name: %s', (origin, found) => {
    const packed = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]);
    expect(() => refuseUnfit(packed, origin, disk)).toThrow(
      expect.objectContaining({ code: 'image.not-an-image', message: `${origin} is ${found}` }),
    );
  });

  it.each<[string, Buffer]>([
    ['damaged gzip', Buffer.from([0x1f, 0x8b, 0xff, 0xff, 0xff])],
    ['damaged zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff])],
    ['an unknown kind', Buffer.from('anything')],
    ['an empty file', Buffer.alloc(0)],
    ['a truncated partition table', image(512, 9).subarray(0, 530)],
  ])('accepts %s', (_, bytes) => {
    expect(() => refuseUnfit(bytes, '/i.raw', disk)).not.toThrow();
  });

  it.each([512, 4096])(
    'refuses a disk that is too small or has other sectors: %i',
    (sectorBytes) => {
      const target = { sectorBytes, sizeBytes: sectorBytes * 1000 };
      expect(() => refuseUnfit(image(sectorBytes, 1000), 'i', target)).not.toThrow();
      expect(() => refuseUnfit(image(sectorBytes, 1001), 'i', target)).toThrow(
        expect.objectContaining({ code: 'image.too-large' }),
      );
      const other = { sectorBytes: sectorBytes === 512 ? 4096 : 512, sizeBytes: 0 };
      expect(() => refuseUnfit(image(sectorBytes, 1000), 'i', other)).toThrow(
        expect.objectContaining({ code: 'image.wrong-sector-size' }),
      );
    },
  );
});

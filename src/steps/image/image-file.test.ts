import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { headBytes, refuseUnfit, sniffImage } from './image-file.ts';

function disk(sectorBytes: number): Buffer {
  const bytes = Buffer.alloc(400_000);
  bytes.write('EFI PART', sectorBytes, 'latin1');
  // What cannot be packed makes the packed file longer than the head that is looked at.
  for (let at = 140_000; at < bytes.length; at += 1) bytes[at] = (at * 7919) >>> (at % 13);
  return bytes;
}

const head = (bytes: Uint8Array): Uint8Array => bytes.subarray(0, headBytes);

function iso(): Buffer {
  const bytes = Buffer.alloc(headBytes);
  bytes.write('CD001', 0x8001, 'latin1');
  return bytes;
}

describe('the beginning of an image', () => {
  it.each([512, 4096])('shows for which sector size it was made: %i', (sectorBytes) => {
    const raw = disk(sectorBytes);
    expect(sniffImage(head(raw))).toEqual({ sectorBytes });
    expect(sniffImage(head(gzipSync(raw)))).toEqual({ sectorBytes });
    expect(sniffImage(head(zstdCompressSync(raw)))).toEqual({ sectorBytes });
  });

  it.each<[string, Uint8Array]>([
    ['an ISO image', iso()],
    ['a qcow2 image', Buffer.from('QFI\xfb\0\0\0\x03', 'latin1')],
    ['a web page', Buffer.from('\n<!DOCTYPE html><html>')],
    ['a JSON document', Buffer.from('{"error": "not found"}')],
  ])('shows that it is %s, packed or not', (isInstead, bytes) => {
    for (const stored of [bytes, gzipSync(bytes), zstdCompressSync(bytes)])
      expect(sniffImage(stored)).toMatchObject({ isInstead });
  });

  it.each([
    ['/opt/fedora-coreos-qemu.x86_64.qcow2.xz', 'a qcow2 image'],
    ['https://mirror.example/live.ISO.xz?sig=1', 'an ISO image'],
  ])('is not unpacked of xz, whose name shows what it is: %s', (origin, found) => {
    const unfit = { origin, disk: { sectorBytes: 512, sizeBytes: 0 } };
    const xz = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]);
    expect(() => refuseUnfit(xz, unfit)).toThrow(
      expect.objectContaining({ code: 'image.not-an-image', message: `${origin} is ${found}` }),
    );
    expect(() => refuseUnfit(xz, { ...unfit, origin: '/opt/metal.raw.xz' })).not.toThrow();
  });

  it.each<[string, Uint8Array]>([
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 1, 2])],
    ['damaged gzip', Buffer.from([0x1f, 0x8b, 0xff, 0xff, 0xff])],
    ['damaged zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff])],
    ['an unknown kind', Buffer.from('anything')],
    ['nothing', Buffer.alloc(0)],
  ])('of %s tells nothing more', (_, bytes) => {
    expect(sniffImage(bytes)).toEqual({});
  });
});

describe('an image that is larger than the disk', () => {
  const image = (sectorBytes: number, sectors: number): Buffer => {
    const bytes = disk(sectorBytes);
    bytes.writeBigUInt64LE(BigInt(sectors - 1), sectorBytes + 32);
    return bytes;
  };
  it.each([
    [512, 1000],
    [4096, 1000],
  ])('is refused by its own table: sectors of %i bytes', (sectorBytes, sectors) => {
    const sizeBytes = sectorBytes * sectors;
    for (const pack of [(bytes: Buffer) => bytes, gzipSync, zstdCompressSync]) {
      const fits = (bytes: Buffer) => {
        refuseUnfit(head(pack(bytes)), { origin: 'i', disk: { sectorBytes, sizeBytes } });
      };
      expect(() => fits(image(sectorBytes, sectors))).not.toThrow();
      expect(() => fits(image(sectorBytes, sectors + 1))).toThrow(
        expect.objectContaining({ code: 'image.too-large' }),
      );
    }
  });
});

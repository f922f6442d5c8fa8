import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { headBytes, refuseUnfit, sniffImage, unpackedXzBytes } from './image-file.ts';

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
    expect(sniffImage(head(raw))).toEqual({ format: 'raw', sectorBytes });
    expect(sniffImage(head(gzipSync(raw)))).toEqual({ format: 'gzip', sectorBytes });
    expect(sniffImage(head(zstdCompressSync(raw)))).toEqual({ format: 'zstd', sectorBytes });
  });

  it.each<[string, Uint8Array]>([
    ['an ISO image', iso()],
    ['a qcow2 image', Buffer.from('QFI\xfb\0\0\0\x03', 'latin1')],
    ['a web page', Buffer.from('\n<!DOCTYPE html><html>')],
    ['a JSON document', Buffer.from('{"error": "not found"}')],
  ])('shows that it is %s', (isInstead, bytes) => {
    expect(sniffImage(bytes)).toMatchObject({ isInstead });
  });

  it.each<[string, Uint8Array, string]>([
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 1, 2]), 'xz'],
    ['damaged gzip', Buffer.from([0x1f, 0x8b, 0xff, 0xff, 0xff]), 'gzip'],
    ['damaged zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff]), 'zstd'],
    ['an unknown kind', Buffer.from('anything'), 'raw'],
    ['nothing', Buffer.alloc(0), 'raw'],
  ])('of %s tells nothing more', (_, bytes, format) => {
    expect(sniffImage(bytes)).toEqual({ format });
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
        refuseUnfit({ head: head(pack(bytes)) }, { origin: 'i', disk: { sectorBytes, sizeBytes } });
      };
      expect(() => fits(image(sectorBytes, sectors))).not.toThrow();
      expect(() => fits(image(sectorBytes, sectors + 1))).toThrow(
        expect.objectContaining({ code: 'image.too-large' }),
      );
    }
  });
});

describe('the header of a zstd file without a table', () => {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(8_000_000_001n);
  const frame = (descriptor: number, ...between: readonly number[]): Buffer =>
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor, ...between, ...size]);
  it.each([
    ['one segment', frame(0xe0)],
    ['a window', frame(0xc0, 0x70)],
    ['a window and a dictionary', frame(0xc2, 0x70, 1, 2)],
    ['one segment and a long dictionary', frame(0xe3, 1, 2, 3, 4)],
  ])('refuses an image that is larger than the disk: %s', (_, bytes) => {
    const fits = (sizeBytes: number) => {
      refuseUnfit({ head: bytes }, { origin: 'i', disk: { sectorBytes: 512, sizeBytes } });
    };
    expect(() => fits(8_000_000_001)).not.toThrow();
    expect(() => fits(8_000_000_000)).toThrow(expect.objectContaining({ code: 'image.too-large' }));
  });

  it.each([
    ['a size of four bytes', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, ...size])],
    ['no size', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x70, ...size])],
    ['a header that is cut', frame(0xe0).subarray(0, 12)],
  ])('says nothing with %s', (_, bytes) => {
    expect(sniffImage(bytes)).toEqual({ format: 'zstd' });
  });
});

/** `head -c 1000000 /dev/zero | xz --block-size=300000` of XZ Utils 5.4. */
const packed = Buffer.from(
  [
    '/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj5JPfAG9dAABv/f//o7f/Rz5IFXI5YVG4kijmo4YH+e7kHoLTL8U6PAFL',
    'sX7JiopNL6MN2X+m44wjEVPgWRjFdYrid/i2lH8MasDedElk4ulcU7IE2PdEDKtfDW1G6eXDdoi3llestk3haR1v',
    '+0uIEGw1jEDBAAAAH58pcZX/q9ACACEBFgAAAHQv5aPkk98Ab10AAG/9//+jt/9HPkgVcjlhUbiSKOajhgf57uQe',
    'gtMvxTo8AUuxfsmKik0vow3Zf6bjjCMRU+BZGMV1iuJ3+LaUfwxqwN50SWTi6VxTsgTY90QMq18NbUbp5cN2iLeW',
    'V6y2TeFpHW/7S4gQbDWMQMEAAAAfnylxlf+r0AIAIQEWAAAAdC/lo+ST3wBvXQAAb/3//6O3/0c+SBVyOWFRuJIo',
    '5qOGB/nu5B6C0y/FOjwBS7F+yYqKTS+jDdl/puOMIxFT4FkYxXWK4nf4tpR/DGrA3nRJZOLpXFOyBNj3RAyrXw1t',
    'Runlw3aIt5ZXrLZN4Wkdb/tLiBBsNYxAwQAAAB+fKXGV/6vQAgAhARYAAAB0L+Wj4YafAFNdAABv/f//o7f/Rz5I',
    'FXI5YVG4kijmo4YH+e7kHoLTL8U6PAFLsX7JiopNL6MN2X+m44wjEVPgWRjFdYrid/i2lH8MasDedElk4ulcU7IE',
    '1rH1lwAAAACPxpSiGONw8QAEiwHgpxKLAeCnEosB4KcSb6CNBgAAAGaTc2mnhvZgBgAAAAAEWVo=',
  ].join(''),
  'base64',
);

describe('the index of an xz file', () => {
  it('says how long the image is, whatever is before it', () => {
    expect(unpackedXzBytes(packed)).toBe(1_000_000);
    expect(unpackedXzBytes(packed.subarray(-60))).toBe(1_000_000);
    expect(unpackedXzBytes(Buffer.concat([Buffer.alloc(99, 7), packed]))).toBe(1_000_000);
  });

  it('says nothing where it is not whole, or is none', () => {
    for (let length = 0; length < 39; length += 1) {
      expect(unpackedXzBytes(packed.subarray(-length - 1))).toBe(0);
      expect(unpackedXzBytes(packed.subarray(0, -length - 1))).toBe(0);
    }
    const forged = Buffer.from(packed);
    forged.fill(0xff, packed.length - 40, packed.length - 12);
    expect(unpackedXzBytes(forged)).toBeGreaterThanOrEqual(0);
  });

  it.each([
    ['by its index', { head: packed, tail: packed }, 999_999, 1_000_000],
    ['by its length', { head: Buffer.alloc(9), bytes: 5000 }, 4999, 5000],
    ['by its packed length', { head: gzipSync('x'), bytes: 5000 }, 4994, 4995],
  ] as const)('refuses an image %s', (...[, sample, tooSmall, enough]) => {
    const fits = (sizeBytes: number) => () => {
      refuseUnfit(sample, { origin: 'i', disk: { sectorBytes: 512, sizeBytes } });
    };
    expect(fits(tooSmall)).toThrow(expect.objectContaining({ code: 'image.too-large' }));
    expect(fits(enough)).not.toThrow();
    // A DASD has no size yet.
    expect(fits(0)).not.toThrow();
  });
});

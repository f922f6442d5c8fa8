import { randomBytes } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { webFailure } from '../../adapters/http/failures.ts';
import { headBytes, headOfUrl, refuseUnfit, verifyFile } from './image-file.ts';

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
const { signal } = new AbortController();

describe('verifyFile', () => {
  const [expected, actual] = ['a'.repeat(64), 'b'.repeat(64)];
  const verify = (printed: string) => {
    const host = fakeHost().on(['sha256sum', '--', '/i.raw']).prints(printed);
    return verifyFile(host, '/i.raw', expected, signal);
  };

  it('refuses a file with another digest', async () => {
    await expect(verify(`${actual}  /i.raw`)).rejects.toMatchObject({
      code: 'image.wrong-digest',
      context: { origin: '/i.raw', expected, actual },
    });
  });

  it.each(['', `sha256sum: ${expected}  /i.raw`])('reads no digest in %j', async (printed) => {
    await expect(verify(printed)).rejects.toMatchObject({ code: 'command.unreadable' });
  });
});

describe('headOfUrl', () => {
  const url = 'http://h.example/i.raw';
  const content = randomBytes(headBytes + 1);
  const start = content.subarray(0, headBytes);
  const answered = (status: number) =>
    webFailure('web.refused', `${url} answered ${status}`, { context: { status } });

  it('reads the whole image up to that length from a server without ranges', async () => {
    const web = fakeWeb().with(url, content).failing(url, answered(200), 1);
    expect(await headOfUrl(web, url, { signal, tlsOnly: true })).toEqual(start);
    expect(web.opened).toEqual([
      { url, signal, tlsOnly: true, range: [0, headBytes - 1] },
      { url, signal, tlsOnly: true },
    ]);
  });

  it.each([answered(503), new Error('a bug')])('fails with another error: %s', async (error) => {
    const web = fakeWeb().with(url, content).failing(url, error, 1);
    await expect(headOfUrl(web, url, { signal })).rejects.toBe(error);
  });

  it('reads no further than it must', async () => {
    let sent = 0;
    async function* body(): AsyncGenerator<Uint8Array> {
      for (; sent < headBytes * 2; sent += headBytes / 2) {
        await Promise.resolve();
        yield Buffer.alloc(headBytes / 2, 1);
      }
    }
    const web = { open: () => Promise.resolve({ body: body(), origin: url }) };
    expect(await headOfUrl(web, url, { signal })).toEqual(Buffer.alloc(headBytes, 1));
    expect(sent).toBe(headBytes / 2);
  });
});

describe('refuseUnfit', () => {
  it.each<[string, Buffer]>([
    ['an ISO image', iso()],
    ['a qcow2 image', Buffer.from('QFI\xfb\0\0\0\x03', 'latin1')],
    ['a web page', Buffer.from('\n<!DOCTYPE html><html>')],
    ['a JSON document', Buffer.from('{"error": "not found"}')],
    ['an initramfs or rootfs of a live system', Buffer.from('07070100000002')],
    ['a squashfs file system', Buffer.from('hsqs')],
    ['a tar archive', Buffer.from(`${'disk.raw'.padEnd(257, '\0')}ustar`)],
    ['a VMDK image', Buffer.from('KDMV')],
    ['a VHD image', Buffer.from('conectix')],
    ['a program or a kernel', Buffer.from('MZ\x90')],
    ['a program or a kernel', Buffer.from('\x7fELF')],
    ['a zip archive', Buffer.from('PK\x03\x04')],
  ])('refuses %s, compressed or not', (found, bytes) => {
    for (const stored of [bytes, gzipSync(bytes), zstdCompressSync(bytes)])
      expect(() => refuseUnfit(stored, '/i.raw', disk)).toThrow(
        expect.objectContaining({ code: 'image.not-an-image', message: `/i.raw is ${found}` }),
      );
  });

  it('refuses an empty file', () => {
    expect(() => refuseUnfit(Buffer.alloc(0), '/i.raw', disk)).toThrow('/i.raw is empty');
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
    ['/opt/fedora-coreos-aws.x86_64.vmdk.xz', 'a VMDK image'],
    ['/opt/fedora-coreos-azure.x86_64.vhd.xz', 'a VHD image'],
  ])('refuses an xz file by its name: %s', (origin, found) => {
    const packed = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]);
    expect(() => refuseUnfit(packed, origin, disk)).toThrow(
      expect.objectContaining({ code: 'image.not-an-image', message: `${origin} is ${found}` }),
    );
  });

  it.each<[string, Buffer]>([
    ['damaged gzip', Buffer.from([0x1f, 0x8b, 0xff, 0xff, 0xff])],
    ['damaged zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff])],
    ['an unknown kind', Buffer.from('anything with <html>')],
    ['a truncated partition table', image(512, 9).subarray(0, 530)],
  ])('accepts %s', (_, bytes) => {
    expect(() => refuseUnfit(bytes, '/i.raw', disk)).not.toThrow();
  });

  it.each([512, 4096])(
    'refuses a disk that is too small or has other sectors: %i',
    (sectorBytes) => {
      const target = { sectorBytes, sizeBytes: sectorBytes * 1000 };
      expect(() => refuseUnfit(image(sectorBytes, 1000), 'i', target)).not.toThrow();
      const tooLarge = image(sectorBytes, 1001).subarray(0, sectorBytes + 40);
      expect(() => refuseUnfit(tooLarge, 'i', target)).toThrow(
        expect.objectContaining({ code: 'image.too-large' }),
      );
      const other = { sectorBytes: sectorBytes === 512 ? 4096 : 512, sizeBytes: 0 };
      expect(() => refuseUnfit(image(sectorBytes, 1000), 'i', other)).toThrow(
        expect.objectContaining({ code: 'image.wrong-sector-size' }),
      );
    },
  );
});

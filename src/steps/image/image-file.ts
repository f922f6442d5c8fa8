import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Host } from '../../ports/host.ts';
import { imageRelayFailure } from '../../ports/image-relay.ts';
import type { Web, WebRequest } from '../../ports/web.ts';
import type { TargetDisk } from '../disk/facts.ts';
import { unreadableOutput } from '../host-commands.ts';
import { imageFailure } from './failures.ts';

/** A slow medium reads 5 MB per second; a compressed image has about 1 GB. */
const digestLimit = seconds(900);

/**
 * Compares an image file on the host with its digest.
 * @throws AgentError `image.wrong-digest`, `command.*`
 */
export async function verifyFile(
  host: Host,
  path: string,
  sha256: string,
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = await host.exec(['sha256sum', '--', path], { signal, limit: digestLimit });
  // sha256sum prints a backslash before the digest of a name with a backslash or a line feed.
  const actual = /^\\?([0-9a-f]{64})\s/.exec(stdout)?.[1];
  if (actual === undefined) throw unreadableOutput('sha256sum', 'digest', stdout);
  if (actual === sha256) return;
  throw imageRelayFailure('image.wrong-digest', `the sha256 of ${path} does not match`, {
    context: { origin: path, expected: sha256, actual },
  });
}

/**
 * Number of bytes of an image that must be read to judge it: past the volume descriptor of an ISO.
 */
export const headBytes = 40 * 1024;

/** The first bytes of an image at a URL; a server without ranges starts to send the whole image. */
export async function headOfUrl(
  web: Web,
  url: string,
  request: Pick<WebRequest, 'peer' | 'signal' | 'tlsOnly'>,
): Promise<Buffer> {
  const { body } = await web
    .open(url, { ...request, range: [0, headBytes - 1] })
    .catch((error: unknown) => {
      const isWholeOnly = error instanceof AgentError && error.context['status'] === 200;
      if (!isWholeOnly) throw error;
      return web.open(url, request);
    });
  let head = Buffer.alloc(0);
  for await (const chunk of body) {
    head = Buffer.concat([head, chunk]);
    if (head.length >= headBytes) break;
  }
  return head.subarray(0, headBytes);
}

/**
 * Refuses an image that cannot become a system on the disk, before any data is lost: the writer
 * replaces the partition table before it detects that. Of xz files only the name is checked.
 * @throws AgentError `image.not-an-image`, `image.wrong-sector-size`, `image.too-large`
 */
export function refuseUnfit(
  head: Buffer,
  origin: string,
  disk: Pick<TargetDisk, 'sectorBytes' | 'sizeBytes'>,
): void {
  const bytes = unpacked(head);
  const found = head.length === 0 ? 'empty' : (otherKind(bytes) ?? namedKind(origin));
  if (found !== undefined) {
    throw imageFailure('image.not-an-image', `${origin} is ${found}`, {
      context: { origin, found },
    });
  }
  // The header of a GPT is in the second sector (UEFI specification, 5.3.2).
  const sectorBytes = [512, 4096].find((at) => hasTextAt(bytes, at, 'EFI PART'));
  if (sectorBytes === undefined) return;
  const [from, to] = [sectorBytes + 32, sectorBytes + 40];
  // The backup header is in the last sector of the image.
  const last = bytes.length < to ? 0n : bytes.subarray(from, to).readBigUInt64LE();
  const imageBytes = (Number(last) + 1) * sectorBytes;
  // A DASD has no size until it is formatted.
  if (disk.sizeBytes > 0 && last > 0n && imageBytes > disk.sizeBytes) {
    const what = `${origin} has ${imageBytes} bytes, the disk has ${disk.sizeBytes}`;
    throw imageFailure('image.too-large', what, {
      context: { origin, imageBytes, diskBytes: disk.sizeBytes },
    });
  }
  if (sectorBytes === disk.sectorBytes) return;
  const what = `${origin} is made for ${sectorBytes}-byte sectors, the disk has ${disk.sectorBytes}-byte sectors`;
  throw imageFailure('image.wrong-sector-size', what, {
    context: { origin, image: sectorBytes, disk: disk.sectorBytes },
  });
}

/** Empty space is compressed by a factor of thousands. */
const maxOutputLength = 128 * 1024 ** 2;

/**
 * The beginning of the content of a gzip or zstd file, recognised by the magic numbers in
 * coreos-installer 0.26 (`src/io/compress.rs`). A file that cannot be unpacked gives nothing:
 * coreos-installer reports the error.
 */
function unpacked(head: Buffer): Buffer {
  try {
    if (hasTextAt(head, 0, '\x1f\x8b'))
      return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength });
    if (hasTextAt(head, 0, '\x28\xb5\x2f\xfd'))
      return zstdDecompressSync(head, { finishFlush: constants.ZSTD_e_continue, maxOutputLength });
    return head;
  } catch {
    return Buffer.alloc(0);
  }
}

const hasTextAt = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString('latin1', at, at + text.length) === text;

/**
 * The other files of a release, by their first bytes: media for other platforms, and the parts of a
 * live system for PXE (magic(5)).
 */
const signatures: readonly (readonly [at: number, text: string, kind: string])[] = [
  [0x8001, 'CD001', 'an ISO image'],
  [0, 'QFI\xfb', 'a qcow2 image'],
  [0, 'KDMV', 'a VMDK image'],
  [0, 'conectix', 'a VHD image'],
  [0, '0707', 'an initramfs or rootfs of a live system'],
  [0, 'hsqs', 'a squashfs file system'],
  [0, 'MZ', 'a program or a kernel'],
  [0, '\x7fELF', 'a program or a kernel'],
  [0x101, 'ustar', 'a tar archive'],
  [0, 'PK\x03\x04', 'a zip archive'],
];

function otherKind(head: Buffer): string | undefined {
  const [, , kind] = signatures.find(([at, text]) => hasTextAt(head, at, text)) ?? [];
  if (kind !== undefined) return kind;
  const text = head.toString('latin1', 0, 256).trimStart();
  if (/^<(!doctype|html|\?xml)/i.test(text)) return 'a web page';
  return text.startsWith('{') ? 'a JSON document' : undefined;
}

const kindsByName: Readonly<Record<string, string>> = {
  iso: 'an ISO image',
  qcow2: 'a qcow2 image',
  vmdk: 'a VMDK image',
  vhd: 'a VHD image',
};

/** The content of an xz file by its name: `fedora-coreos-…-qemu.x86_64.qcow2.xz`. */
function namedKind(origin: string): string | undefined {
  const [, name = ''] = /\.(iso|qcow2|vmdk|vhd)\.xz(?:[?#]|$)/i.exec(origin) ?? [];
  return kindsByName[name.toLowerCase()];
}

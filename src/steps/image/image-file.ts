import { seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { AgentError } from '../../model/failure.ts';
import { imageRelayFailure } from '../../ports/image-relay.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Web, WebRequest } from '../../ports/web.ts';
import { readBytes, unreadableOutput } from '../host-commands.ts';
import type { TargetDisk } from '../disk/facts.ts';
import { imageFailure } from './failures.ts';

const fileDigestArgv = (path: string): readonly string[] => ['sha256sum', '--', path];

/** A slow medium reads 5 MB in a second; a compressed image has about 1 GB. */
const digestLimit = seconds(900);

/**
 * Holds an image file on the host against its digest.
 * @throws AgentError `image.wrong-digest`, `command.*`
 */
export async function verifyFile(
  host: Host,
  { path, sha256 }: { readonly path: string; readonly sha256: string },
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = await host.exec(fileDigestArgv(path), { signal, limit: digestLimit });
  // The digest of a name with a backslash or a line feed is printed behind a backslash.
  const actual = /^\\?([0-9a-f]{64})\s/.exec(stdout)?.[1];
  if (actual === undefined) throw unreadableOutput('sha256sum', 'digest', stdout);
  if (actual === sha256) return;
  throw imageRelayFailure('image.wrong-digest', `the sha256 of ${path} does not match`, {
    context: { origin: path, expected: sha256, actual },
  });
}

/** The first bytes of an image file on the host. */
export const headOfFile = (host: Host, path: string, signal: AbortSignal): Promise<Uint8Array> =>
  readBytes({ host, signal }, path, headBytes);

/** How much of an image must be read to judge it: past the volume descriptor of an ISO. */
export const headBytes = 40 * 1024;

interface SniffedImage {
  /** Sector size that the image was made for, where the partition table could be seen. */
  readonly sectorBytes?: 512 | 4096;
  /** Size of the image on a disk, by the same table. */
  readonly imageBytes?: number;
  /** What it is, when that is clearly no disk image. */
  readonly isInstead?: string;
}

const startsWith = (bytes: Uint8Array, magic: readonly number[]): boolean =>
  magic.every((byte, index) => bytes[index] === byte);

const hasTextAt = (bytes: Uint8Array, at: number, text: string): boolean =>
  Buffer.from(bytes.subarray(at, at + text.length)).toString('latin1') === text;

/**
 * Judges an image by its first bytes, packed or not, with the same magic numbers as
 * coreos-installer 0.26 (`src/io/compress.rs`). Only what is certain is reported; xz is not
 * unpacked.
 */
export function sniffImage(stored: Uint8Array): SniffedImage {
  const packer = packers.find(({ magic }) => startsWith(stored, magic));
  const head = packer === undefined ? stored : unpacked(stored, packer.unpack);
  const isInstead = otherKind(head);
  return {
    ...tableOf(head),
    ...(isInstead === undefined ? {} : { isInstead }),
  };
}

function otherKind(head: Uint8Array): string | undefined {
  if (hasTextAt(head, 0x8001, 'CD001')) return 'an ISO image';
  if (startsWith(head, [0x51, 0x46, 0x49, 0xfb])) return 'a qcow2 image';
  const text = Buffer.from(head.subarray(0, 256)).toString('latin1').trimStart();
  if (/^<(!doctype|html|\?xml)/i.test(text)) return 'a web page';
  return text.startsWith('{') ? 'a JSON document' : undefined;
}

/** The header of a GPT is in the second sector (UEFI specification, 5.3.2). */
function tableOf(bytes: Uint8Array): Pick<SniffedImage, 'sectorBytes' | 'imageBytes'> {
  const sectorBytes = ([512, 4096] as const).find((at) => hasTextAt(bytes, at, 'EFI PART'));
  if (sectorBytes === undefined) return {};
  // The copy of the header is in the last sector of the image.
  const header = Buffer.from(bytes.subarray(sectorBytes + 32, sectorBytes + 40));
  const last = header.length === 8 ? Number(header.readBigUInt64LE()) : 0;
  return { sectorBytes, ...(last === 0 ? {} : { imageBytes: (last + 1) * sectorBytes }) };
}

/** Empty space packs by a factor of thousands. */
const maxOutputLength = 128 * 1024 ** 2;

const packers: readonly {
  readonly magic: readonly number[];
  readonly unpack: (head: Uint8Array) => Uint8Array;
}[] = [
  {
    magic: [0x1f, 0x8b],
    unpack: (head) => gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength }),
  },
  {
    magic: [0x28, 0xb5, 0x2f, 0xfd],
    unpack: (head) =>
      zstdDecompressSync(head, { finishFlush: constants.ZSTD_e_continue, maxOutputLength }),
  },
  { magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], unpack: () => new Uint8Array() },
];

function unpacked(head: Uint8Array, unpack: (head: Uint8Array) => Uint8Array): Uint8Array {
  try {
    return unpack(head);
  } catch {
    // A beginning that cannot be unpacked shows nothing; coreos-installer will report what is
    // wrong.
    return new Uint8Array();
  }
}

/** The first bytes of an image at a URL, and no more where the server knows ranges. */
export async function headOfUrl(
  web: Web,
  url: string,
  request: Pick<WebRequest, 'signal' | 'tlsOnly'>,
): Promise<Uint8Array> {
  return firstOf((await openHead(web, url, request)).body);
}

async function firstOf(body: Download['body']): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= headBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, headBytes);
}

/** A server that knows no ranges sends the whole file, of which only the beginning is read. */
async function openHead(web: Web, url: string, request: WebRequest): Promise<Download> {
  try {
    return await web.open(url, { ...request, range: [0, headBytes - 1] });
  } catch (error) {
    const isWholeOnly = error instanceof AgentError && error.context['status'] === 200;
    if (!isWholeOnly) throw error;
    return web.open(url, request);
  }
}

/** What an xz file holds, by its name: `fedora-coreos-…-qemu.x86_64.qcow2.xz`. */
const namedInstead = (origin: string): string | undefined => {
  const kind = /\.(iso|qcow2)\.xz(?:[?#]|$)/i.exec(origin)?.[1]?.toLowerCase();
  return kind && (kind === 'iso' ? 'an ISO image' : 'a qcow2 image');
};

/**
 * Refuses what cannot become a system on the disk, while nothing is lost yet: the writer replaces
 * the partition table before it finds out.
 * @throws AgentError `image.not-an-image`, `image.wrong-sector-size`, `image.too-large`
 */
export function refuseUnfit(
  head: Uint8Array,
  {
    origin,
    disk: { sectorBytes, sizeBytes },
  }: { readonly origin: string; readonly disk: Pick<TargetDisk, 'sectorBytes' | 'sizeBytes'> },
): void {
  const sniffed = sniffImage(head);
  const { sectorBytes: made, imageBytes = 0 } = sniffed;
  const isInstead = sniffed.isInstead ?? namedInstead(origin);
  if (isInstead !== undefined) {
    throw imageFailure('image.not-an-image', `${origin} is ${isInstead}`, {
      context: { origin, found: isInstead },
    });
  }
  // A DASD has no size until it is formatted.
  if (sizeBytes > 0 && imageBytes > sizeBytes) {
    const what = `${origin} has ${imageBytes} bytes, the disk has ${sizeBytes}`;
    throw imageFailure('image.too-large', what, {
      context: { origin, imageBytes, diskBytes: sizeBytes },
    });
  }
  if (made === undefined || made === sectorBytes) return;
  throw imageFailure(
    'image.wrong-sector-size',
    `${origin} is made for ${made}-byte sectors, the disk has ${sectorBytes}-byte sectors`,
    { context: { origin, image: made, disk: sectorBytes } },
  );
}

import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib';

/** How much of an image must be read to judge it: past the volume descriptor of an ISO. */
export const headBytes = 40 * 1024;

/** What the beginning of a file tells. */
export interface SniffedImage {
  readonly format: 'gzip' | 'xz' | 'zstd' | 'raw';
  /** Sector size that the image was made for, where the partition table could be seen. */
  readonly sectorBytes?: 512 | 4096;
  /** What it is, when that is clearly no disk image. */
  readonly isInstead?: string;
}

const startsWith = (bytes: Uint8Array, magic: readonly number[]): boolean =>
  magic.every((byte, index) => bytes[index] === byte);

const hasTextAt = (bytes: Uint8Array, at: number, text: string): boolean =>
  Buffer.from(bytes.subarray(at, at + text.length)).toString('latin1') === text;

/**
 * Judges an image by its first bytes, with the same magic numbers as coreos-installer 0.26
 * (`src/io/compress.rs`). Only what is certain is told.
 */
export function sniffImage(head: Uint8Array): SniffedImage {
  if (startsWith(head, [0x1f, 0x8b])) return { format: 'gzip', ...tableOf(unpacked(head, gunzip)) };
  if (startsWith(head, [0x28, 0xb5, 0x2f, 0xfd])) {
    return { format: 'zstd', ...tableOf(unpacked(head, unzstd)) };
  }
  if (startsWith(head, [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])) return { format: 'xz' };
  const isInstead = otherKind(head);
  return { format: 'raw', ...tableOf(head), ...(isInstead === undefined ? {} : { isInstead }) };
}

function otherKind(head: Uint8Array): string | undefined {
  if (hasTextAt(head, 0x8001, 'CD001')) return 'an ISO image';
  if (startsWith(head, [0x51, 0x46, 0x49, 0xfb])) return 'a qcow2 image';
  const text = Buffer.from(head.subarray(0, 256)).toString('latin1').trimStart();
  if (/^<(!doctype|html|\?xml)/i.test(text)) return 'a web page';
  return text.startsWith('{') ? 'a JSON document' : undefined;
}

/** The header of a GPT stands in the second sector (UEFI specification, 5.3.2). */
function tableOf(bytes: Uint8Array): { readonly sectorBytes?: 512 | 4096 } {
  if (hasTextAt(bytes, 512, 'EFI PART')) return { sectorBytes: 512 };
  return hasTextAt(bytes, 4096, 'EFI PART') ? { sectorBytes: 4096 } : {};
}

/** Empty space packs by a factor of thousands. */
const maxOutputLength = 128 * 1024 ** 2;

const gunzip = (head: Uint8Array): Uint8Array =>
  gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength });
const unzstd = (head: Uint8Array): Uint8Array =>
  zstdDecompressSync(head, { finishFlush: constants.ZSTD_e_continue, maxOutputLength });

function unpacked(head: Uint8Array, unpack: (head: Uint8Array) => Uint8Array): Uint8Array {
  try {
    return unpack(head);
  } catch {
    // A beginning that cannot be unpacked tells nothing; the writer will say what is wrong.
    return new Uint8Array();
  }
}

import { AgentError } from '../../model/failure.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Web } from '../../ports/web.ts';
import { imageFailure } from './failures.ts';
import { headBytes, sniffImage } from './sniff.ts';

/** Reads the beginning of an image at a URL, and no more where the server knows ranges. */
export async function readUrlHead(web: Web, url: string, signal: AbortSignal): Promise<Uint8Array> {
  const { body } = await openHead(web, url, signal);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length >= headBytes) break;
  }
  return Buffer.concat(pieces).subarray(0, headBytes);
}

/** A server that knows no ranges sends the whole file, of which only the beginning is read. */
async function openHead(web: Web, url: string, signal: AbortSignal): Promise<Download> {
  try {
    return await web.open(url, { signal, range: [0, headBytes - 1] });
  } catch (error) {
    const isWholeOnly = error instanceof AgentError && error.context['status'] === 200;
    if (!isWholeOnly) throw error;
    return web.open(url, { signal });
  }
}

/**
 * Refuses what cannot become a system on the disk, while nothing is lost yet: the writer replaces
 * the partition table before it finds out.
 * @throws AgentError `image.not-an-image`, `image.wrong-sector-size`
 */
export function refuseUnfit(
  head: Uint8Array,
  { origin, sectorBytes }: { readonly origin: string; readonly sectorBytes: number },
): void {
  const { isInstead, sectorBytes: made } = sniffImage(head);
  if (isInstead !== undefined) {
    throw imageFailure('image.not-an-image', `${origin} is ${isInstead}`, {
      context: { origin, found: isInstead },
    });
  }
  if (made === undefined || made === sectorBytes) return;
  throw imageFailure(
    'image.wrong-sector-size',
    `${origin} is made for sectors of ${made} bytes, the disk has ${sectorBytes}`,
    { context: { origin, image: made, disk: sectorBytes } },
  );
}

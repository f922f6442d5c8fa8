import type { Download } from '../../src/ports/inventory.ts';

/** Metadata of a fake download. */
export interface DownloadShape {
  readonly origin?: string;
  readonly contentType?: string;
  /** Declared length; default: the length of the content; `false` for none. */
  readonly bytes?: number | false;
  /** The body breaks with this error after a number of bytes. */
  readonly cut?: { readonly after: number; readonly error: Error };
}

const chunk = 16 * 1024;

/** A body in memory, delivered in pieces as by a network. */
export function downloadOf(content: string | Uint8Array, shape: DownloadShape = {}): Download {
  const all = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const { cut } = shape;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    const end = cut?.after ?? all.length;
    for (let from = 0; from < end; from += chunk) {
      await Promise.resolve();
      yield all.subarray(from, Math.min(from + chunk, end));
    }
    if (cut !== undefined) throw cut.error;
  }
  return {
    body: chunks(),
    origin: shape.origin ?? 'fake',
    ...(shape.contentType === undefined ? {} : { contentType: shape.contentType }),
    ...(shape.bytes === false ? {} : { bytes: shape.bytes ?? all.length }),
  };
}

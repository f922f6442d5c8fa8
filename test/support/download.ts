import type { Download } from '../../src/ports/inventory.ts';

/** What a fake download says of itself. */
export interface DownloadShape {
  readonly origin?: string;
  readonly contentType?: string;
  /** Sent as the length; that of the content unless given, `false` for none. */
  readonly bytes?: number | false;
  /** The body breaks with this error after so many bytes. */
  readonly cut?: { readonly after: number; readonly error: Error };
}

const chunk = 16 * 1024;

/** A body in memory, given in pieces as a network would. */
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

const encoder = new TextEncoder();

/** Any content as a stream of bytes. */
export async function* piecesOf(
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (typeof content === 'string') yield encoder.encode(content);
  else if (content instanceof Uint8Array) yield content;
  else yield* content;
}

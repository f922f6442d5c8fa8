/** Reads a body to its end; undefined, and no further byte is read, when it is larger than allowed. */
export async function readUpTo(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > mostBytes) return undefined;
    pieces.push(piece);
  }
  const [only] = pieces;
  // What came in one piece, a file of the host, is not copied.
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

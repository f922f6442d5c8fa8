/**
 * Reads a body to its end, and keeps its last bytes: the end of a log shows the cause of a failure.
 */
export async function readLast(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    while (chunks[0] !== undefined && length - chunks[0].length >= mostBytes) {
      length -= chunks[0].length;
      chunks.shift();
    }
  }
  return Buffer.concat(chunks).subarray(Math.max(0, length - mostBytes));
}

/**
 * Reads a body to its end; if it is larger than allowed, stops reading and resolves with undefined.
 */
export async function readUpTo(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > mostBytes) return undefined;
    chunks.push(chunk);
  }
  const [only] = chunks;
  // A body in one piece, such as a file of the host, is not copied.
  return only !== undefined && chunks.length === 1
    ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
    : Buffer.concat(chunks);
}

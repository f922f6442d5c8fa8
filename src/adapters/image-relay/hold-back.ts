/**
 * Passes a body on, but for its last bytes: they wait until the body has come to its end and `check`
 * has accepted it. When `check` throws, they are never given.
 */
export async function* holdBack(
  body: AsyncIterable<Uint8Array>,
  { bytes, check }: { readonly bytes: number; readonly check: () => void },
): AsyncGenerator<Uint8Array> {
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const piece of body) {
    held.push(piece);
    heldBytes += piece.length;
    // A piece goes when those behind it are enough to hold.
    for (
      let first = held[0];
      first !== undefined && heldBytes - first.length >= bytes;
      first = held[0]
    ) {
      held.shift();
      heldBytes -= first.length;
      yield first;
    }
  }
  check();
  yield* held;
}

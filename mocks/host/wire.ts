// The protocol between the stand-in nsenter and a simulated host: one letter, four bytes of length
// (big endian), the payload. From the program: A argv, V environment, I stdin, E end of stdin, S
// signal. From the host: O stdout, R stderr, X exit code, K killed by a signal.

/** A message of either side. */
export interface Frame {
  readonly letter: string;
  readonly payload: Buffer;
}

const HEAD_BYTES = 5;

/** The bytes of a frame. */
export function encodeFrame(letter: string, payload: string | Uint8Array): Buffer {
  const content = Buffer.from(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(letter, 'latin1');
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** Creates a parser that takes bytes as they arrive and returns the complete frames. */
export function frameReader(): (bytes: Uint8Array) => readonly Frame[] {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const frames: Frame[] = [];
    while (rest.length >= HEAD_BYTES && rest.length >= HEAD_BYTES + rest.readUInt32BE(1)) {
      const end = HEAD_BYTES + rest.readUInt32BE(1);
      frames.push({
        letter: rest.toString('latin1', 0, 1),
        payload: rest.subarray(HEAD_BYTES, end),
      });
      rest = rest.subarray(end);
    }
    return frames;
  };
}

/** Words as the program sends them: separated by line feeds, unusual bytes percent-escaped. */
export const decodeWords = (payload: Buffer): readonly string[] =>
  payload.length === 0
    ? []
    : payload
        .toString('latin1')
        .split('\n')
        .map((word) => decodeURIComponent(word));

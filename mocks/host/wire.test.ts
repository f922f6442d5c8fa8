import { describe, expect, it } from 'vitest';
import { decodeWords, encodeFrame, frameReader } from './wire.ts';

describe('the frames of the stand-in nsenter', () => {
  it('come out whole however the bytes are cut', () => {
    const bytes = Buffer.concat([encodeFrame('O', 'hello'), encodeFrame('X', '0')]);
    const read = frameReader();
    const frames = [...bytes].flatMap((byte) => read(Uint8Array.of(byte)));
    expect(frames.map(({ letter, payload }) => [letter, payload.toString()])).toEqual([
      ['O', 'hello'],
      ['X', '0'],
    ]);
  });

  it('carry words with line feeds, quotes and letters beyond ASCII', () => {
    expect(decodeWords(Buffer.from('a b\n%0A\n%25\n%27\n%C3%A4\n\nlast'))).toEqual([
      'a b',
      '\n',
      '%',
      "'",
      'ä',
      '',
      'last',
    ]);
  });
});

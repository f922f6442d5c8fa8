import { describe, expect, it } from 'vitest';
import { linesOf } from './watch.ts';

describe('linesOf', () => {
  it.each([
    ['in one chunk', [[0, 99]]],
    [
      'in chunks that split a character',
      [
        [0, 2],
        [2, 5],
        [5, 6],
        [6, 99],
      ],
    ],
    ['byte by byte', Array.from({ length: 14 }, (_, at) => [at, at + 1])],
  ])('returns complete lines of a body %s', async (_, cuts) => {
    const all = new TextEncoder().encode('aé\n\nbc\r\nd\u2028\nxy');
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const [from, to] of cuts) {
        await Promise.resolve();
        yield all.subarray(from, to);
      }
    }
    const lines: string[] = [];
    for await (const one of linesOf(body())) lines.push(one.trimEnd());
    // A Unicode line separator does not end a line; text without a line end is dropped.
    expect(lines).toEqual(['aé', 'bc', 'd']);
  });

  it('fails when a line exceeds 16 MiB and stops reading', async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        await Promise.resolve();
        sent += 1;
        yield new Uint8Array(2 ** 20).fill(0x61);
      }
    }
    await expect(linesOf(endless()).next()).rejects.toMatchObject({
      failure: { code: 'kube.failed', message: 'a line of the watch is longer than 16 MiB' },
    });
    expect(sent).toBe(17);
  });
});

import { expect, it } from 'vitest';
import { readLast, readUpTo } from './read-up-to.ts';

async function* bodyOf(chunks: readonly string[], read: string[] = []): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    read.push(chunk);
    yield await Promise.resolve(Buffer.from(chunk));
  }
}

it.each([
  [[], ''],
  [['abc'], 'abc'],
  [['ab', 'cd'], 'abcd'],
  [['a', 'b', 'c', 'd', 'e'], 'bcde'],
  [['abc', 'def'], 'cdef'],
  [['abcdefgh'], 'efgh'],
  [['abcdef', 'g'], 'defg'],
])('readLast returns the last four bytes of %j', async (chunks, text) => {
  expect(Buffer.from(await readLast(bodyOf(chunks), 4)).toString()).toBe(text);
});

it('readUpTo stops reading at the limit and returns undefined', async () => {
  const read: string[] = [];
  expect(await readUpTo(bodyOf(['abc', 'de', 'f'], read), 4)).toBeUndefined();
  expect(read).toEqual(['abc', 'de']);
});

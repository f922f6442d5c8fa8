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
])('reads the last of %j', async (chunks, text) => {
  expect(Buffer.from(await readLast(bodyOf(chunks), 4)).toString()).toBe(text);
});

it('stops reading what is larger than allowed', async () => {
  const read: string[] = [];
  expect(await readUpTo(bodyOf(['abc', 'de', 'f'], read), 4)).toBeUndefined();
  expect(read).toEqual(['abc', 'de']);
});

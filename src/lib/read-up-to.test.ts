import { expect, it } from 'vitest';
import { readUpTo } from './read-up-to.ts';

async function* bodyOf(pieces: readonly string[], read: string[] = []): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    read.push(piece);
    yield await Promise.resolve(Buffer.from(piece));
  }
}

it.each([
  [[], ''],
  [['abcd'], 'abcd'],
  [['ab', 'cd'], 'abcd'],
])('reads %j to the end', async (pieces, text) => {
  const bytes = await readUpTo(bodyOf(pieces), 4);
  expect(Buffer.from(bytes ?? 'none').toString()).toBe(text);
});

it('stops reading what is larger than allowed', async () => {
  const read: string[] = [];
  expect(await readUpTo(bodyOf(['abc', 'de', 'f'], read), 4)).toBeUndefined();
  expect(read).toEqual(['abc', 'de']);
});

import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inTurns } from './in-turns.ts';

it('begins work in its order, so much of it at once, also after some that failed', async () => {
  const inTurn = inTurns(2);
  const begun: number[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const all = [0, 1, 2, 3].map((number) =>
    inTurn(() => {
      begun.push(number);
      const end = Promise.withResolvers<number>();
      ends.push(end);
      return end.promise;
    }),
  );
  await turn();
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error('refused'));
  await expect(all[1]).rejects.toThrow('refused');
  await turn();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]?.resolve(0);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3]);
  for (const end of ends) end.resolve(7);
  expect(await Promise.all([all[0], all[2], all[3]])).toEqual([0, 7, 7]);
});

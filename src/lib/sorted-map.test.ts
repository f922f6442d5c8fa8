import { expect, it } from 'vitest';
import { SortedMap } from './sorted-map.ts';

it('lists its values in the order of their keys, after each change anew', () => {
  const map = new SortedMap<number>().set('b', 2).set('a', 1);
  const first = map.list();
  expect(first).toEqual([1, 2]);
  expect(map.list()).toBe(first);
  map.set('a', 3);
  expect(map.list()).toEqual([3, 2]);
  map.set('aa', 4);
  expect(map.list()).toEqual([3, 4, 2]);
  expect([map.delete('a'), map.delete('a')]).toEqual([true, false]);
  expect(map.list()).toEqual([4, 2]);
  expect(first).toEqual([1, 2]);
});

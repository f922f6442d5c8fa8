import { describe, expect, it } from 'vitest';
import { firstBootOf } from './node.ts';

describe('firstBootOf', () => {
  it.each([
    ['the image that its config names', 'built', false],
    ['another image', 'stock', true],
    ['the system as the writer brought it', undefined, true],
  ])('starts a disk with %s', (_, disk, pivots) => {
    expect(firstBootOf(disk, { osImage: 'built' })).toEqual({ image: 'built', pivots });
  });
});

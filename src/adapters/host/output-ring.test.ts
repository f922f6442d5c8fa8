import { expect, it } from 'vitest';
import { outputRing } from './output-ring.ts';

it.each([
  ['all that fits', ['ab', 'cd'], 'abcd'],
  ['the last lines of what does not', ['first line\n', 'second\n', 'third\n'], 'third\n'],
  ['the last lines of much', ['x\n'.repeat(1000), 'the end'], 'x\nthe end'],
])('keeps %s', (_, pieces, kept) => {
  const ring = outputRing(10);
  for (const piece of pieces) ring.push(piece);
  expect(ring.text()).toBe(kept);
});

import { describe, expect, it } from 'vitest';
import { isAtLeast } from './toolchain.ts';

describe('isAtLeast', () => {
  it.each([
    ['the same version', 'cargo 1.85.0 (d73d2caf9 2024-12-31)', true],
    ['a newer minor', 'go version go1.86.8 linux/amd64', true],
    ['an older minor', 'cargo 1.63.0', false],
    ['a newer major with a smaller minor', 'cargo 2.0.0', true],
    ['an older major with a greater minor', 'cargo 0.99.0', false],
    ['no version at all', 'command not found', false],
  ])('%s', (_name, words, answer) => {
    expect(isAtLeast(words, [1, 85])).toBe(answer);
  });
});

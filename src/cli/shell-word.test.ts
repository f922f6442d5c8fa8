import { describe, expect, it } from 'vitest';
import { shellWord } from './shell-word.ts';

describe('shellWord', () => {
  it.each([
    ['ctx/a-b_1.2', 'ctx/a-b_1.2'],
    ['registry.rig.test:5000/a@sha256:0', 'registry.rig.test:5000/a@sha256:0'],
    ['my ctx', "'my ctx'"],
    ['', "''"],
    ["it's", String.raw`'it'\''s'`],
    ['$HOME;`id`', "'$HOME;`id`'"],
    ['~', "'~'"],
    ['a\nb', "'a\nb'"],
  ])('writes %j so that a shell reads it as it is', (word, written) => {
    expect(shellWord(word)).toBe(written);
  });
});

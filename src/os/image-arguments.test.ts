import { describe, expect, it } from 'vitest';
import { readImageArguments } from './image-arguments.ts';

describe('readImageArguments', () => {
  it.each([
    ['for every host', 'kargs = ["nosmt", "console=ttyS0,115200n8"]', 'x86_64', 2],
    ['split at blanks', 'kargs = ["a b"]', 'x86_64', 2],
    ['for this architecture', 'kargs = ["a"]\nmatch-architectures = ["x86_64"]', 'x86_64', 1],
    ['for another', 'kargs = ["a"]\nmatch-architectures = ["aarch64"]', 'x86_64', 0],
    ['as Rust names it', 'kargs = ["a"]\nmatch-architectures = ["powerpc64"]', 'ppc64le', 1],
    ['for none', 'kargs = ["a"]\nmatch-architectures = []', 'x86_64', 0],
  ])('reads arguments %s', (_, text, architecture, count) => {
    expect(readImageArguments(text, architecture)).toHaveLength(count);
  });

  it.each([
    ['what is not TOML', 'kargs = [nosmt]'],
    ['a section', '[kargs]\nkargs = ["a"]'],
    ['another key', 'kargs = []\ndelete = ["a"]'],
    ['one text in place of a list', 'kargs = "a b"'],
    ['an empty file', ''],
  ])('refuses %s, as bootc does', (_, text) => {
    expect(() => readImageArguments(text, 'x86_64')).toThrow();
  });
});

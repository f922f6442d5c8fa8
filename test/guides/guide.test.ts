import { describe, expect, it } from 'vitest';
import { blocksOf, isShown } from './guide.ts';

describe('the blocks of a guide', () => {
  it('are those with a mark, in their order', () => {
    const guide =
      'Text\n\n```sh\nshown only\n```\n\n```yaml file=a/host.yaml\nrole: master\n```\n\n' +
      '```sh run exit=2\nfirst\nsecond\n```\n\n```text output\nerror: no\n```\n';
    expect(blocksOf(guide)).toEqual([
      { kind: 'file', text: 'role: master\n', line: 7, exitCode: 0, path: 'a/host.yaml' },
      { kind: 'run', text: 'first\nsecond\n', line: 11, exitCode: 2, path: '' },
      { kind: 'output', text: 'error: no\n', line: 16, exitCode: 0, path: '' },
    ]);
  });

  it('with a mark that nobody knows are refused', () => {
    expect(() => blocksOf('```sh runs\ntrue\n```\n')).toThrow('line 1: unknown mark: runs');
  });
});

describe('what a guide shows', () => {
  it.each([
    ['other numbers', 'wrote 12 of 40 GB', 'wrote 7 of 999 GB', true],
    ['another time', 'ran 2 s of at most 24 h', 'ran 369 ms of at most 1 h 30 min', true],
    ['other blanks', 'a  b', 'a b', true],
    ['any text', 'id … ok', 'id 4f-2a ok', true],
    ['any lines', 'a\n…\nd', 'a\nb\nc\nd', true],
    ['no line', 'a\n…\nd', 'a\nd', true],
    ['a word that differs', 'step image/write', 'step image/read', false],
    ['a line more', 'a', 'a\nb', false],
    ['a line less', 'a\nb', 'a', false],
    ['what means something in a pattern', 'a (b) [c].', 'a (b) [c].', true],
    ['that as a pattern', 'a.c', 'abc', false],
  ])('%s', (...[, shown, printed, expected]) => {
    expect(isShown(shown, printed)).toBe(expected);
  });
});

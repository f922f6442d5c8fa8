import { describe, expect, it } from 'vitest';
import { blocksOf, isShown, shownIn } from './guide.ts';

describe('the blocks of a guide', () => {
  const none = { language: 'sh', exitCode: 0, path: '', suite: '' };

  it('are what their marks say, in their order', () => {
    const guide =
      'Text\n\n   ```\n   shown only\n   ```\n\n```yaml file=a/host.yaml\nrole: master\n```\n\n' +
      '```sh run exit=2\nfirst\nsecond\n```\n\n```text output\nerror: no\n```\n';
    expect(blocksOf(guide)).toEqual([
      { ...none, kind: 'shown', text: '   shown only\n', language: '', line: 3 },
      {
        ...none,
        kind: 'file',
        text: 'role: master\n',
        language: 'yaml',
        line: 7,
        path: 'a/host.yaml',
      },
      { ...none, kind: 'run', text: 'first\nsecond\n', line: 11, exitCode: 2 },
      { ...none, kind: 'output', text: 'error: no\n', language: 'text', line: 16 },
    ]);
  });

  it('are run by the suite that they name, and so is what these print', () => {
    const [other, itsOutput, own, ownOutput] = blocksOf(
      '```sh run in=image exit=1\na\n```\n```text output\nb\n```\n' +
        '```sh run\nc\n```\n```text output\nd\n```\n',
    );
    expect(other).toEqual({
      ...none,
      kind: 'run',
      text: 'a\n',
      line: 1,
      exitCode: 1,
      suite: 'image',
    });
    expect(itsOutput).toMatchObject({ kind: 'output', suite: 'image' });
    expect([own, ownOutput]).toMatchObject([{ suite: '' }, { suite: '' }]);
  });

  it('that are only shown are commands, each in one line, and others whole', () => {
    const guide =
      '```console\n$ first --flag   # why\n$ second \\\n    --more\n```\n```yaml\na: # b\n  c: d\n```\n' +
      '```sh run\nthird\n```\n';
    expect(shownIn(guide)).toEqual([
      { text: 'first --flag', line: 1 },
      { text: 'second --more', line: 1 },
      { text: 'a: # b\n  c: d\n', line: 6 },
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

import { describe, expect, it } from 'vitest';
import { blocksOf, isShown, shownIn } from './guide.ts';

describe('the blocks of a guide', () => {
  const none = { language: 'sh', exitCode: 0, path: '', suite: '' };

  it('are classified by their marks, in order', () => {
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

  it('belong to the suite that they name, together with their output', () => {
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

  it('that are only shown are split into commands, or kept whole', () => {
    const guide =
      '```console\n$ first --flag   # why\n$ second \\\n    --more\n```\n```yaml\na: # b\n  c: d\n```\n' +
      '```sh run\nthird\n```\n';
    expect(shownIn(guide)).toEqual([
      { text: 'first --flag', line: 1 },
      { text: 'second --more', line: 1 },
      { text: 'a: # b\n  c: d\n', line: 6 },
    ]);
  });

  it('with an unknown mark are refused', () => {
    expect(() => blocksOf('```sh runs\ntrue\n```\n')).toThrow('line 1: unknown mark: runs');
  });
});

describe('isShown', () => {
  it.each([
    ['accepts other numbers', 'wrote 12 of 40 GB', 'wrote 7 of 999 GB', true],
    [
      'accepts another duration',
      'ran 2 s of at most 24 h',
      'ran 369 ms of at most 1 h 30 min',
      true,
    ],
    ['accepts other whitespace', 'a  b', 'a b', true],
    ['accepts any text for an ellipsis', 'id … ok', 'id 4f-2a ok', true],
    ['accepts any lines for a line with an ellipsis', 'a\n…\nd', 'a\nb\nc\nd', true],
    ['accepts no line for a line with an ellipsis', 'a\n…\nd', 'a\nd', true],
    ['rejects another word', 'step image/write', 'step image/read', false],
    ['rejects an additional line', 'a', 'a\nb', false],
    ['rejects a missing line', 'a\nb', 'a', false],
    ['compares pattern characters literally', 'a (b) [c].', 'a (b) [c].', true],
    ['does not use them as a pattern', 'a.c', 'abc', false],
  ])('%s', (...[, shown, printed, expected]) => {
    expect(isShown(shown, printed)).toBe(expected);
  });
});

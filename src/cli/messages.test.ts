import { describe, expect, it, vi } from 'vitest';
import { exitCodes, failuresOf } from '../model/failure.ts';
import { exitCodeOf, failureText, outputWidth, shellWord, wrapped } from './messages.ts';

const failure = failuresOf({
  'disk.busy': { kind: 'host', title: 'The disk is in use', hint: 'stop what uses it' },
});

describe('failureText', () => {
  it('shows the failure, its causes and its hint', () => {
    const cause = new Error('device is busy', { cause: new Error('md127 holds it') });
    expect(failureText(failure('disk.busy', '/dev/sda: in use', { cause }))).toBe(
      'failed: disk.busy: /dev/sda: in use\n' +
        'why: device is busy, because md127 holds it\n' +
        'next: stop what uses it\n',
    );
  });

  it('masks passwords of URLs in the message and in the context', () => {
    const hint = 'write http://USER:PASSWORD@HOST:PORT';
    const context = { word: 'http://u:s3cret@h.example.com/a' };
    const text = failureText(
      failure('disk.busy', 'unexpected argument: http://u:s3cret@h.example.com', { context, hint }),
    );
    expect(text).toBe(
      'failed: disk.busy: unexpected argument: http://***@h.example.com\n' +
        `why: word http://***@h.example.com/a\nnext: ${hint}\n`,
    );
  });

  it.each([
    [
      'the context when there is no cause',
      { disk: '/dev/sda', holders: 2 },
      'disk /dev/sda, holders 2',
    ],
    [
      'durations as words, without context that explains nothing',
      { url: 'http://h', elapsed: 90_000, duration: 12, limit: 5_000, attempts: 1 },
      'url http://h, elapsed 1 min 30 s, limit 5 s',
    ],
  ])('shows %s', (_, context, why) => {
    expect(failureText(failure('disk.busy', 'in use', { context }))).toContain(`\nwhy: ${why}\n`);
  });

  it('omits a cause and a stderr that the message already has', () => {
    const cause = failure('disk.busy', 'buildah failed: no such package');
    const context = { stderr: 'no such package\n' };
    const text = failureText(
      failure('disk.busy', 'the build: buildah failed: no such package', { cause, context }),
    );
    expect(text).not.toContain('why:');
  });

  const copy = 'the copy: skopeo failed: EOF';
  it.each<[string, string, { cause?: string; stderr?: string }, string]>([
    ['a longer chain', copy, { cause: 'mirror is down' }, 'mirror is down'],
    ['a cause of a cause', 'a copy', { cause: 'EOF' }, 'skopeo failed: EOF'],
    ['the stderr of a command', copy, { stderr: 'a\nb: EOF\n' }, 'a b: EOF'],
    [
      'the last lines of a long stderr',
      copy,
      { stderr: `${'x'.repeat(500)}\n${'y'.repeat(580)}\nEOF` },
      `… ${'y'.repeat(580)} EOF`,
    ],
  ])('omits a cause that the message already has and shows %s', (...[, message, more, why]) => {
    const cause = new Error(
      'skopeo failed: EOF',
      more.cause ? { cause: new Error(more.cause) } : {},
    );
    const context = more.stderr ? { argv: 'skopeo copy', stderr: more.stderr } : {};
    const text = failureText(failure('disk.busy', message, { cause, context }));
    expect(text).toContain(`\nwhy: ${why}\n`);
  });

  it('omits the reason when none is known', () => {
    const text = failureText(failure('disk.busy', 'in use', { context: { duration: 7 } }));
    expect(text).toBe('failed: disk.busy: in use\nnext: stop what uses it\n');
  });

  it('prefers the hint of the error over that of its code', () => {
    const error = failure('disk.busy', 'in use', { hint: 'stop md127' });
    expect(failureText(error)).toContain('\nnext: stop md127\n');
  });

  it.each([
    ['an error with a code', failure('disk.busy', 'two\nlines', { cause: new Error('a\r\n  b') })],
    ['an error without a code', new TypeError('two\nlines')],
    ['a value that is not an error', 'thrown\ntext'],
  ])('prints each part on one line for %s', (_, thrown) => {
    expect(failureText(thrown)).toMatch(/^failed: .+\n(?:why: .+\n)?next: .+\n$/);
  });

  it('shows only the first stack frame of an error without a code', () => {
    expect(failureText(new TypeError('boom'))).toMatch(/^why: at .*messages\.test\.ts.*$/m);
  });

  it('ends at a circular cause', () => {
    const error = new Error('a');
    error.cause = error;
    expect(failureText(error)).toMatch(/^failed: .+\n(?:why: .+\n)?next: .+\n$/);
  });
});

it('exitCodeOf returns the exit code of the kind, or that of a bug for other errors', () => {
  expect(exitCodeOf(failure('disk.busy', 'in use'))).toBe(exitCodes.host);
  expect(exitCodeOf(new Error('boom'))).toBe(exitCodes.bug);
});

it.each([
  ['ctx/a-b_1.2', 'ctx/a-b_1.2'],
  ['registry.rig.test:5000/a@sha256:0', 'registry.rig.test:5000/a@sha256:0'],
  ['my ctx', "'my ctx'"],
  ['', "''"],
  ["it's", String.raw`'it'\''s'`],
  ['$HOME;`id`', "'$HOME;`id`'"],
  ['~', "'~'"],
  ['a\nb', "'a\nb'"],
])('shellWord quotes %j for a shell', (word, written) => {
  expect(shellWord(word)).toBe(written);
});

it.each([
  ['a text that fits', 'one two', 7, ['one two']],
  ['a text that does not fit', 'one two three', 7, ['one two', 'three']],
  ['a word that is longer than a line', 'a verylongword b', 6, ['a', 'verylongword', 'b']],
  ['an empty text', '', 5, ['']],
])('wrapped wraps %s', (...[, text, width, lines]) => {
  expect(wrapped(text, width)).toEqual(lines);
});

it.each([
  ['of a terminal', true, 72, 72],
  ['of a serial console, which knows none', true, 0, 100],
  ['of a file', undefined, undefined, 100],
])('outputWidth %s', (...[, isTTY, columns, width]) => {
  vi.stubGlobal('process', { stdout: { isTTY, columns } });
  expect(outputWidth(100)).toBe(width);
  vi.unstubAllGlobals();
});

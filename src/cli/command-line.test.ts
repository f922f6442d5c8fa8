import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.ts';

describe('readCommandLine', () => {
  it.each([
    ['flags alone', ['-r', 'worker'], 'install', ['-r', 'worker']],
    ['nothing', [], 'install', []],
    ['the command', ['install', '-r', 'worker'], 'install', ['-r', 'worker']],
    ['a command', ['plan', '--format', 'dot'], 'plan', ['--format', 'dot']],
    ['flags before a word', ['-r', 'plan'], 'install', ['-r', 'plan']],
  ])('reads %s', (...[, argv, command, words]) => {
    expect(readCommandLine(argv)).toEqual({ command, words });
  });

  it.each([
    ['plna', 'bootwright plan'],
    ['instal', 'bootwright install'],
    ['zzzzzzz', '--help'],
  ])('refuses %s', (word, hint) => {
    expect(() => readCommandLine([word])).toThrow(
      expect.objectContaining({
        code: 'cli.unknown-command',
        hint: expect.stringContaining(hint) as string,
      }),
    );
  });
});

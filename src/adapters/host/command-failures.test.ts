import { describe, expect, it } from 'vitest';
import { commandFailed } from './command-failures.ts';

describe('a failed command', () => {
  it('carries the end of its stderr without secrets', () => {
    const error = commandFailed(
      {
        argv: ['podman', 'run', '--token=abcd-secret'],
        secrets: ['abcd-secret', ''],
        duration: 7,
        stderr: `${'x'.repeat(3000)}\nError: abcd-secret is wrong\n`,
      },
      { exitCode: 125 },
    );
    expect(error.context).toMatchObject({
      argv: 'podman run --token=***',
      exitCode: 125,
      duration: 7,
    });
    expect(String(error.context['stderr']).length).toBeLessThanOrEqual(2048);
    expect(error.context['stderr']).toMatch(/Error: \*\*\* is wrong\n$/);
    expect(error.message).not.toContain('secret');
  });

  it.each([
    ['short', 'short'],
    ['a'.repeat(400), 'a'.repeat(400)],
    [
      `${'Trying to pull '.padEnd(300, 'x')}${': connection refused'.padStart(300, 'y')}`,
      `${'Trying to pull '.padEnd(120, 'x')} … ${': connection refused'.padStart(270, 'y')}`,
    ],
  ])('reports the start and the end of its last line: %j', (line, reported) => {
    const command = { argv: ['skopeo'], duration: 1, stderr: `first\n${line}\n` };
    expect(commandFailed(command, { exitCode: 1 }).message).toBe(
      `skopeo ended with exit code 1: ${reported}`,
    );
  });

  it('does not show part of a secret where its stderr is truncated', () => {
    const [first, second] = ['planted-', 'token'];
    const stderr = `${first}${second}${'x'.repeat(2048 - second.length)}`;
    const command = { argv: ['podman'], secrets: [`${first}${second}`], duration: 1, stderr };
    const error = commandFailed(command, { exitCode: 1 });
    expect(error.context['stderr']).not.toContain(second);
  });

  it('names the signal that ended it', () => {
    const error = commandFailed({ argv: ['dd'], duration: 1 }, { killedBy: 'SIGKILL' });
    expect(error.context).toEqual({ argv: 'dd', duration: 1, signal: 'SIGKILL' });
  });
});

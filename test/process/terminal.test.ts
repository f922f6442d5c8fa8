import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { bundle, openHost } from './faulty-run.ts';

/** The output of an install on a real pseudo terminal. */
async function written(terminal: string): Promise<string> {
  await using host = await openHost();
  const words = [process.execPath, bundle, ...host.words].map((word) => `'${word}'`);
  const child = spawn(
    'script',
    ['--quiet', '--return', '--command', words.join(' '), '/dev/null'],
    {
      env: { ...host.environment, TERM: terminal },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return (await text(child.stdout)).replaceAll('\r\n', '\n');
}

describe('an install in a terminal', () => {
  it('shows readable lines with a progress line below', async () => {
    const output = await written('xterm');
    expect(output).toMatch(/Write the operating system to the install disk {2}█+░* +\d+%/);
    expect(output).toContain('\r\u001b[K');
  });

  it('without cursor control shows the lines only', async () => {
    const output = await written('dumb');
    expect(output).toContain('Write the operating system to the install disk');
    // oxlint-disable-next-line no-control-regex
    expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f]|^\{/m);
  });
});

import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';

/** Where a command writes to: this terminal, or an open file. */
export type Output = 'inherit' | number;

/** Goes before a command that is a short-lived program in Go: collects garbage less often than for a server. */
export const spaciously = ['env', 'GOGC=400'] as const;

/** Runs a command; resolves with its exit code, 128 and up for a signal. */
export function runCommand(
  argv: readonly [string, ...string[]],
  output: Output = 'inherit',
): Promise<number> {
  const [program, ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', output, output] });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve(code ?? (signal === null ? 1 : 128));
    });
  });
}

/** Writes where a command of that output would write. */
export const write = (output: Output, text: string): void => {
  if (output === 'inherit') process.stdout.write(text);
  else writeSync(output, text);
};

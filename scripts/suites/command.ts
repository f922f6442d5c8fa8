import { spawn } from 'node:child_process';

/** Runs a command with this terminal; resolves with its exit code, 128 and up for a signal. */
export function runCommand(
  argv: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const [program, ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environment },
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve(code ?? (signal === null ? 1 : 128));
    });
  });
}

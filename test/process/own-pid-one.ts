import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Runs a probe in a PID namespace whose process 1 is a shell of this test, so that the real
 * `nsenter --target 1` can be used, and with its own /run/lock. Resolves with the JSON that the
 * probe prints.
 */
export async function runProbe<T>(probe: string, ...args: readonly string[]): Promise<T> {
  const script = new URL(`probes/${probe}.ts`, import.meta.url).pathname;
  return JSON.parse(await runThere(script, ...args)) as T;
}

/** Runs a script there, with any exit code, and resolves with its output. */
export async function runThere(script: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--mount-proc', '--', 'sh', '-c'],
      // The shell stays as process 1 and adopts orphans, as the first process of a host does.
      'mkdir -p /run/lock && mount -t tmpfs none /run/lock && "$@" & wait $!',
      ...['sh', process.execPath, script, ...args],
    ],
    { timeout: 600_000, env: { PATH: process.env['PATH'], PULL_SECRET_TOKEN: 'planted-token' } },
  ).catch((error: unknown) => {
    if (error instanceof Error && 'stdout' in error && error.stdout !== '') return error as never;
    throw error;
  });
  return stdout;
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { ContainerStore } from '../../scripts/image/agent-image.ts';

/** How a script ended, and what it printed. */
export interface ScriptEnd {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const machine = new URL('machine.sh', import.meta.url).pathname;

const limitMillis = 120_000;

/**
 * Runs a bash script where process 1, /run, /opt and /var/log are its own, so that `--pid=host` and
 * `nsenter --target 1` end there and never at the machine that the test runs on. podman finds the
 * images of the store.
 */
export async function onOwnMachine(
  store: ContainerStore,
  script: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ScriptEnd> {
  const child = spawn(
    'unshare',
    [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      '--',
      'sh',
      machine,
      store.images,
      script,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: '/root', ...store.environment, ...environment },
    },
  );
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMillis);
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  clearTimeout(limit);
  const [stdout, stderr] = await output;
  return { exitCode, stdout, stderr };
}

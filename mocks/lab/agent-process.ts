import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/** How an agent is started. */
export interface AgentStart {
  /** The bundle that is run. */
  readonly bundle: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Takes stdout and stderr, behind what is there. */
  readonly logFile: string;
}

/** How an agent ended: its exit code, or the signal that ended it. */
export interface AgentEnd {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

/** An agent that runs. */
export interface AgentProcess {
  readonly ended: Promise<AgentEnd>;
  /** As the service's `podman stop -t 5` does it: SIGTERM, after five seconds SIGKILL. */
  readonly stop: () => void;
  readonly kill: () => void;
}

const PATIENCE_MILLIS = 5000;

/** Starts the real agent as a process of its own. */
export function startAgent({ bundle, args, env, logFile }: AgentStart): AgentProcess {
  const child = spawn(process.execPath, [bundle, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let patience: NodeJS.Timeout | undefined;
  const ended = (async (): Promise<AgentEnd> => {
    const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null];
    clearTimeout(patience);
    log.end();
    await finished(log);
    return { exitCode: exitCode ?? undefined, signal: signal ?? undefined };
  })();
  return {
    ended,
    stop: () => {
      child.kill('SIGTERM');
      patience ??= setTimeout(() => child.kill('SIGKILL'), PATIENCE_MILLIS);
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}

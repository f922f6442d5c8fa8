import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A program that was run to its end. */
export interface Finished {
  readonly exitCode: number;
  readonly seconds: number;
  readonly stderr: string;
}

/** A process while it runs, as the kernel sees it. */
export interface Watched {
  readonly pid: number;
  /** Processor time of the process and of its children that ended, in seconds. */
  readonly cpuSeconds: () => number;
  readonly residentMiB: () => number;
  /** The most that was ever resident. */
  readonly peakMiB: () => number;
  readonly ended: Promise<Finished>;
  readonly stop: () => void;
}

/** Starts a program. */
export function start(
  argv: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>> = {},
): Watched {
  const [program, ...args] = argv;
  const since = performance.now();
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let stderr = '';
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString();
  });
  const pid = child.pid ?? 0;
  const ended = new Promise<Finished>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ exitCode: code ?? 1, seconds: (performance.now() - since) / 1000, stderr });
    });
  });
  return {
    pid,
    ended,
    cpuSeconds: () => cpuSecondsOf(pid),
    residentMiB: () => memoryMiBOf(pid, 'VmRSS'),
    peakMiB: () => memoryMiBOf(pid, 'VmHWM'),
    stop: () => child.kill('SIGTERM'),
  };
}

/** Runs a program to its end. */
export const run = (
  argv: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> => start(argv, environment).ended;

/** Clock ticks of the kernel in a second, fixed on Linux as user space sees it. */
const ticksPerSecond = 100;

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return (user + system) / ticksPerSecond;
}

function memoryMiBOf(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024;
}

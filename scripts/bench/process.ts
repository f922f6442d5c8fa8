import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import type { Machine, RanCommand } from '../../mocks/host/machine.ts';
import { nsenterOptions } from '../../mocks/host/programs.ts';
import { openSingleHost } from '../../mocks/lab/single-host.ts';
import { bundlePath } from '../bundle.ts';

/** A program that was run to its end. */
interface Finished {
  readonly seconds: number;
  readonly stderr: string;
}

/** A process while it runs, as the kernel sees it. */
export interface Watched {
  /** Processor time of the process and of its children that ended, in seconds. */
  readonly cpuSeconds: () => number;
  readonly residentMiB: () => number;
  /** The most that was ever resident. */
  readonly peakMiB: () => number;
  readonly ended: Promise<Finished>;
  readonly stop: () => void;
}

type Argv = readonly [string, ...string[]];

/** Starts a program; its standard error is kept. */
export function start([program, ...args]: Argv, environment: NodeJS.ProcessEnv = {}): Watched {
  const since = performance.now();
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  });
  const stderr = text(child.stderr);
  const pid = child.pid ?? 0;
  return {
    ended: once(child, 'close').then(async () => {
      const seconds = (performance.now() - since) / 1000;
      return { seconds, stderr: await stderr };
    }),
    cpuSeconds: () => cpuSecondsOf(pid),
    residentMiB: () => memoryMiBOf(pid, 'VmRSS'),
    peakMiB: () => memoryMiBOf(pid, 'VmHWM'),
    stop: () => child.kill('SIGTERM'),
  };
}

/** Runs a program to its end. */
export const run = (argv: Argv): Promise<Finished> => start(argv).ended;

/** Clock ticks of the kernel in a second, fixed on Linux as user space sees it. */
const ticksPerSecond = 100;

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return (user + system) / ticksPerSecond;
}

/** What the kernel says of the memory of a process: what is resident, or the most that ever was. */
export function memoryMiBOf(pid: number | 'self', name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** How long the stand-in of coreos-installer writes, in seconds. */
export const writeSeconds = 20;

/** Builds the host and starts the service; no master is done, so a worker waits for ever. */
export async function openStage(role: 'master' | 'worker') {
  const host = await openSingleHost({
    role,
    isControlPlaneDone: false,
    // Lines as the real tool prints them: one per second.
    write: { seconds: writeSeconds, flushSeconds: 0, lineMillis: 1000 },
    token: 'bench',
  });
  return {
    host,
    agent: () => start([bundlePath, ...host.words], host.environment),
    /** A command on the host, as the agent runs it, without the agent. */
    bare: (argv: readonly string[]): Watched =>
      start([host.nsenter, ...nsenterOptions, ...argv], host.environment),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

/** Resolves with a command of the host as soon as one is seen; by its program. */
export async function seen(machine: Machine, program: string): Promise<RanCommand> {
  for (;;) {
    const command = machine.ran.find(({ argv }) => argv[0] === program);
    if (command !== undefined) return command;
    await pause(5);
  }
}

/** Resolves when a command of the host has ended. */
export async function over(command: RanCommand): Promise<void> {
  while (command.exitCode === undefined) await pause(5);
}

/** Waits, in milliseconds. */
export const pause = (duration: number): Promise<void> => setTimeout(duration);

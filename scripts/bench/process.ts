import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { type Millis, minutes } from '../../src/model/duration.ts';

/** A program that was run to its end. */
interface Finished {
  readonly seconds: number;
  readonly stderr: string;
}

/** A process while it runs, as the kernel sees it. */
export interface Watched {
  /** The most that was ever resident. */
  readonly peakMiB: () => number;
  readonly ended: Promise<Finished>;
  /** Asks it to end, and waits until it has. */
  readonly stop: () => Promise<void>;
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
  const ended = once(child, 'close').then(async () => {
    return { seconds: secondsSince(since), stderr: await stderr };
  });
  return {
    ended,
    peakMiB: () => peakMiBOf(pid),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Runs a program to its end. */
export const run = (argv: Argv): Promise<Finished> => start(argv).ended;

/** Clock ticks of the kernel in a second, fixed on Linux as user space sees it. */
const ticksPerSecond = 100;

/** Processor time of a process and of its children that ended. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number);
  return (user + system) / ticksPerSecond;
}

/** The peak resident memory of a process, from the kernel. */
export function peakMiBOf(pid: number | 'self'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Resolves with the value as soon as it is defined. */
export async function until<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await pause(5);
  }
}

/** Since a moment of `performance.now()`. */
export const secondsSince = (since: number): number => (performance.now() - since) / 1000;

/** How many requests there are in a minute, of a time in which they are watched. */
export async function perMinute(
  watched: Millis,
  requests: () => Asked | Promise<Asked>,
): Promise<number> {
  const from = Date.now();
  await pause(watched);
  const asked = (await requests()).filter(({ at }) => at >= from && at < from + watched);
  return asked.length / (watched / minutes(1));
}

type Asked = readonly { readonly at: Millis }[];

/** Does work for each of many, twenty at once. */
export const forEach = <T>(items: Iterable<T>, work: (item: T) => Promise<void>) =>
  Readable.from(items).forEach(work, { concurrency: 20 });

/** Waits, in milliseconds. */
export const pause = (duration: number): Promise<void> => setTimeout(duration);

type Unit = 's' | 'MiB' | 'requests per minute' | 'lists';

/** A measured value, perhaps against a baseline of the same run. */
export type Figure = readonly [
  name: string,
  unit: Unit,
  measured: number,
  /** The most that `measured` (or, with a baseline, the ratio) may be. */
  bound: number,
  baseline?: { readonly name: string; readonly measured: number },
];

/** The value that is compared with the bound: the ratio to the baseline, or the figure itself. */
export const valueOf = ([, , measured, , baseline]: Figure): number =>
  baseline === undefined ? measured : measured / baseline.measured;

/** Whether a figure keeps its bound. */
export const isWithin = (figure: Figure): boolean => valueOf(figure) <= figure[3];

/** The smallest value that so many percent of the measurements do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A server of the rig under a test's control. Each operation is done when its promise resolves. */
export interface ServerControl {
  readonly isRunning: () => boolean;
  /** The PID of its running process. */
  readonly pid: () => number;
  /**
   * Starts it on its port with its data, and waits until it answers; has no effect while it runs.
   */
  readonly start: () => Promise<void>;
  /** Sends SIGTERM, and waits for the end. Thaws a frozen server first. */
  readonly stop: () => Promise<void>;
  /** Sends SIGKILL, and waits for the end. */
  readonly kill: () => Promise<void>;
  readonly restart: () => Promise<void>;
  /** Sends SIGSTOP: connections stay open without answers. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
}

/** How to run a program. */
export interface ProgramPlan {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** stdout and stderr are appended here. */
  readonly logFile: string;
  /** Whether it answers; may reject until it does. */
  readonly isReady: () => Promise<boolean>;
  /** The exit code after which it is started again, as a kubelet does; default: none. */
  readonly restartsAfter?: number;
}

const READY_LIMIT_MILLIS = 600_000;
const STOP_LIMIT_MILLIS = 20_000;
const POLL_INTERVAL_MILLIS = 25;
const LOG_TAIL_LINES = 15;

/**
 * The Go programs live for a minute. With a garbage collection at four times the default, they
 * start in four fifths of the processor time, and take 600 MB instead of 400.
 */
const collectsSeldom = { GOGC: '400' };

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A program that can be started repeatedly. It ends with this process, however that ends. */
export function controlProgram(plan: ProgramPlan): ServerControl {
  let child: ChildProcess | undefined;
  const isRunning = () => child !== undefined && isAlive(child);
  const control: ServerControl = {
    isRunning,
    pid: () => child?.pid ?? Number.NaN,
    start: async () => {
      if (isRunning()) return;
      child = await launch(plan);
      child.once('exit', (code) => {
        if (code === plan.restartsAfter) control.start().catch(() => undefined);
      });
      await answers(plan, child);
    },
    stop: async () => {
      if (child === undefined) return;
      const timeout = AbortSignal.timeout(STOP_LIMIT_MILLIS);
      if (!(await endBy(child, ['SIGTERM', 'SIGCONT'], timeout))) await endBy(child, ['SIGKILL']);
    },
    kill: async () => {
      if (child !== undefined) await endBy(child, ['SIGKILL']);
    },
    restart: async () => {
      await control.stop();
      await control.start();
    },
    freeze: async () => {
      if (child !== undefined) await freeze(child);
    },
    thaw: () => {
      child?.kill('SIGCONT');
      return Promise.resolve();
    },
  };
  return control;
}

/**
 * Starts the program in its own process group, so that after Ctrl-C at the terminal the test ends
 * it in order. The kernel ends it when the thread that started it is gone.
 */
async function launch({ program, args, logFile }: ProgramPlan): Promise<ChildProcess> {
  const log = openSync(logFile, 'a');
  try {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args], {
      detached: true,
      env: { ...process.env, ...collectsSeldom },
      stdio: ['ignore', log, log],
    });
    await once(child, 'spawn');
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  } finally {
    closeSync(log);
  }
}

async function answers(plan: ProgramPlan, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MILLIS;
  while (Date.now() < deadline) {
    if (!isAlive(child)) throw new Error(`${plan.name} ended while it started:\n${tailOf(plan)}`);
    if (await plan.isReady().catch(() => false)) return;
    await pause(POLL_INTERVAL_MILLIS);
  }
  const seconds = READY_LIMIT_MILLIS / 1000;
  throw new Error(`${plan.name} did not answer within ${seconds} s:\n${tailOf(plan)}`);
}

/** Whether the process ended before the signal aborted. */
async function endBy(
  child: ChildProcess,
  signals: readonly NodeJS.Signals[],
  timeout?: AbortSignal,
): Promise<boolean> {
  if (!isAlive(child)) return true;
  const ended = once(child, 'exit', timeout === undefined ? {} : { signal: timeout });
  for (const signal of signals) child.kill(signal);
  try {
    await ended;
    return true;
  } catch {
    return false;
  }
}

/**
 * The signal arrives at once, but on a busy machine a running thread may answer a request before it
 * stops.
 */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  while (isAlive(child) && !isStopped(child)) await pause(1);
}

/**
 * Whether the kernel reports all threads as stopped; the name before the state may contain any
 * bracket but the last.
 */
function isStopped({ pid }: ChildProcess): boolean {
  const tasks = `/proc/${String(pid)}/task`;
  try {
    return readdirSync(tasks)
      .map((task) => readFileSync(`${tasks}/${task}/stat`, 'utf8').split(') ').at(-1))
      .every((rest) => rest?.startsWith('T'));
  } catch {
    // A thread ended between the two reads.
    return false;
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function tailOf({ logFile }: ProgramPlan): string {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
}

/**
 * Below the kernel's ports for outgoing connections, so that a restarted server finds its port
 * free. The infrastructure provider in memory takes ports from 19000 on for its clusters (Cluster
 * API, `test/infrastructure/inmemory`). From 10081 on, as 10080 is the last port that fetch refuses
 * by number (fetch.spec.whatwg.org, "bad port").
 */
const lowest = 10_081;
const highest = 18_999;
const ATTEMPTS = 200;

/** A loopback port from 10081 to 18999 without a listener that no living process was given. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(lowest, highest + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${lowest} to ${highest} after ${ATTEMPTS} attempts`);
}

async function isFree(port: number): Promise<boolean> {
  // Held until this process ends, so that no other test gets the port before this one's program
  // listens.
  const mark = await bound({ path: `\0bootwright-port-${port}` });
  mark?.unref();
  await using server = mark && (await bound({ port, host: '127.0.0.1' }));
  return server !== undefined;
}

async function bound(address: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(address);
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  );
}

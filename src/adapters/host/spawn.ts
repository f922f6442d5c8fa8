// Invariants of a command:
// 1. its pipes are read until they close: coreos-installer dies in the middle of a write if its
//    stderr pipe is closed (coreos-installer 0.26);
// 2. no process remains: before the wait for a command ends, its whole process group is ended.
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import { type Millis, seconds } from '../../model/duration.ts';

/** The process to start, and its options. */
export interface SpawnOptions {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly hasInput: boolean;
  readonly onLine?: ((line: string, stream: 'stdout' | 'stderr') => void) | undefined;
}

/** The end of a process. */
export interface ProcessEnd {
  readonly exitCode: number | undefined;
  readonly killedBy: string | undefined;
  /** Set if the process could not be started: `ENOENT`, `EACCES`. */
  readonly spawnError: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration: Millis;
}

/** A started process. */
export interface RunningProcess {
  readonly stdin: Writable | undefined;
  /** Resolves when the process has ended and its pipes are closed; never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /**
   * Ends the process and all its children, first with this signal; resolves when all have ended. A
   * process that the kernel does not end is abandoned.
   */
  readonly stop: (first?: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  /** Lets this process end while the child still runs. */
  readonly unref: () => void;
}

/**
 * Standard output is parsed, so all of it is kept within a limit; of standard error, only the end
 * is ever shown.
 */
const capacity = { stdout: 8 * 1024 * 1024, stderr: 256 * 1024 } as const;

/** Starts a process in its own group. */
export function spawnInGroup({ argv, env, hasInput, onLine }: SpawnOptions): RunningProcess {
  const [file = '', ...args] = argv;
  const since = performance.now();
  const child = execa(file, args, {
    env: { ...env },
    extendEnv: false,
    stdin: hasInput ? 'pipe' : 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    buffer: false,
    reject: false,
    // A separate process group; execa also ends it when this process exits.
    killDescendants: true,
  });
  const node = child.nodeChildProcess;
  const outputs = {
    stdout: followStream(child.stdout, { stream: 'stdout', onLine }),
    stderr: followStream(child.stderr, { stream: 'stderr', onLine }),
  };
  // A command may end before it has read its input; that is not an error of the pipe.
  child.stdin?.on('error', () => undefined);
  const ended = child.then(async (result) => {
    await Promise.all([outputs.stdout.closed, outputs.stderr.closed]);
    return {
      exitCode: result.exitCode,
      killedBy: result.signal,
      spawnError:
        result.exitCode === undefined && result.signal === undefined
          ? (result.code ?? 'unknown')
          : undefined,
      stdout: outputs.stdout.text(),
      stderr: outputs.stderr.text(),
      duration: Math.round(performance.now() - since),
    };
  });
  const unref = (): void => {
    for (const part of [node, node.stdin, node.stdout, node.stderr]) unrefPart(part);
  };
  return {
    stdin: child.stdin ?? undefined,
    ended,
    stop: async (first = 'SIGTERM') => {
      if (child.pid !== undefined && !(await stopGroup(child.pid, first))) unref();
      // A process that left the group may still hold the pipes; do not wait for it.
      outputs.stdout.abandon();
      outputs.stderr.abandon();
      await ended;
    },
    unref,
  };
}

interface FollowedStream {
  readonly text: () => string;
  readonly closed: Promise<void>;
  readonly abandon: () => void;
}

function followStream(
  source: Readable,
  { stream, onLine }: { stream: 'stdout' | 'stderr'; onLine: SpawnOptions['onLine'] },
): FollowedStream {
  const tail = outputRing(capacity[stream]);
  const lines = lineSplitter((line) => onLine?.(line, stream));
  const decoder = new StringDecoder('utf8');
  const take = (text: string): void => {
    tail.push(text);
    lines.push(text);
  };
  source.on('data', (chunk: Buffer) => {
    take(decoder.write(chunk));
  });
  const end = (): void => {
    take(decoder.end());
    lines.end();
  };
  const closed = finished(source, { writable: false }).then(end, end);
  return {
    text: () => tail.text(),
    closed,
    abandon: () => {
      source.destroy();
    },
  };
}

/**
 * The process and its pipes are separate handles of the event loop, which not all of their types
 * show.
 */
function unrefPart(part: unknown): void {
  (part as { unref?: () => void } | null)?.unref?.();
}

/**
 * Pause between SIGTERM and SIGKILL, so that a stopped process is gone within two seconds, also on
 * a busy host.
 */
const timeouts: Millis = seconds(1);

/**
 * Time after which a group is abandoned that does not end even by SIGKILL (a disk that hangs in the
 * kernel).
 */
const givingUp: Millis = seconds(3.5);

const pollInterval: Millis = 20;

/**
 * Ends a process group: SIGTERM, then SIGKILL after 1 s, or SIGKILL at once. Resolves with whether
 * all processes have ended, after at most 3.5 s. The group contains the children of its leader too.
 * That matters: the leader is nsenter, and its child is the program that writes the disk.
 */
async function stopGroup(leader: number, first: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
  if (!signalGroup(leader, first)) return true;
  const since = performance.now();
  let isKilled = first === 'SIGKILL';
  while (performance.now() - since < givingUp) {
    await pause(pollInterval);
    if (!signalGroup(leader, 0)) return true;
    if (!isKilled && performance.now() - since >= timeouts) {
      isKilled = true;
      signalGroup(leader, 'SIGKILL');
    }
  }
  return false;
}

/** Sends a signal to every process of a group; false if none remains. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}

/**
 * Keeps the last characters of a stream, so that much output cannot fill the memory. After a cut,
 * drops the rest of the first line.
 */
export function outputRing(capacity: number): {
  readonly push: (text: string) => void;
  readonly text: () => string;
} {
  let kept: string[] = [];
  let size = 0;
  let isCut = false;
  const compact = (): void => {
    const all = kept.join('');
    isCut ||= all.length > capacity;
    kept = [all.slice(-capacity)];
    size = Math.min(size, capacity);
  };
  return {
    push: (text) => {
      kept.push(text);
      size += text.length;
      if (size > capacity * 2) compact();
    },
    text: () => {
      if (size > capacity) compact();
      const all = kept.join('');
      return isCut ? all.slice(all.indexOf('\n') + 1) : all;
    },
  };
}

/**
 * Splits a stream of text into lines. Carriage return and line feed both end a line, as programs
 * that draw progress use the first. Skips empty lines.
 */
export function lineSplitter(take: (line: string) => void): {
  readonly push: (text: string) => void;
  readonly end: () => void;
} {
  let pending = '';
  const flush = (line: string): void => {
    if (line.trim() !== '') take(line);
  };
  return {
    push: (text) => {
      const lines = (pending + text).split(/[\r\n]+/);
      pending = (lines.pop() ?? '').slice(-longestLine);
      for (const line of lines) flush(line);
    },
    end: () => {
      flush(pending);
      pending = '';
    },
  };
}

/** Maximum length, so that a line without an end cannot fill the memory. */
const longestLine = 64 * 1024;

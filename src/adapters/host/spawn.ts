// Invariants of a command:
// 1. its pipes are read until they close: coreos-installer dies in the middle of a write when its
//    stderr pipe is closed (coreos-installer 0.26);
// 2. it is never left behind: whatever ends our wait ends its whole process group first.
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import { type Millis, seconds } from '../../model/duration.ts';

/** What is started, and how. */
export interface SpawnOptions {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly hasInput: boolean;
  readonly onLine?: ((line: string, stream: 'stdout' | 'stderr') => void) | undefined;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode: number | undefined;
  readonly killedBy: string | undefined;
  /** Set when it could not be started at all: `ENOENT`, `EACCES`. */
  readonly spawnError: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration: Millis;
}

/** A process that was started. */
export interface RunningProcess {
  readonly stdin: Writable | undefined;
  /** Resolves when the process has ended and its pipes are closed; never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /**
   * Ends the process and all that it started, at first by this signal; resolves when all have
   * ended. What the kernel does not end keeps nothing from ending.
   */
  readonly stop: (first?: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  /** Lets our own process end although this one still runs. */
  readonly unref: () => void;
}

/**
 * Standard output is parsed, so all of it is kept within reason; of standard error only the end
 * is ever shown.
 */
const capacity = { stdout: 8 * 1024 * 1024, stderr: 256 * 1024 } as const;

/** Starts a process in a group of its own. */
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
    // A process group of its own; execa also ends it when our process exits.
    killDescendants: true,
  });
  const node = child.nodeChildProcess;
  const outputs = {
    stdout: follow(child.stdout, { stream: 'stdout', onLine }),
    stderr: follow(child.stderr, { stream: 'stderr', onLine }),
  };
  // A command that ends before it has read its input is no fault of the pipe.
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
      // A process that left the group may still hold the pipes; it must not hold us.
      outputs.stdout.abandon();
      outputs.stderr.abandon();
      await ended;
    },
    unref,
  };
}

interface Followed {
  readonly text: () => string;
  readonly closed: Promise<void>;
  readonly abandon: () => void;
}

function follow(
  source: Readable,
  { stream, onLine }: { stream: 'stdout' | 'stderr'; onLine: SpawnOptions['onLine'] },
): Followed {
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

/** The process and its pipes are handles of the event loop each; their types do not all say so. */
function unrefPart(part: unknown): void {
  (part as { unref?: () => void } | null)?.unref?.();
}

/**
 * From the polite signal to the one that cannot be refused: what was stopped is gone within two
 * seconds on a busy host too.
 */
const timeouts: Millis = seconds(1);

/** When a group that does not even die of SIGKILL (a disk that hangs in the kernel) is left. */
const givingUp: Millis = seconds(3.5);

const pollInterval: Millis = 20;

/**
 * Ends a process group: SIGTERM, then SIGKILL after 1 s, or SIGKILL at once; resolves with whether
 * all have ended, after 3.5 s at the latest. The group is that of the first child and holds what
 * the child started too, which is the point: the child is nsenter, and the program that writes the
 * disk is behind it.
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

/** Sends a signal to every process of a group; false when there is none left. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}

/**
 * Keeps the last characters of a stream of text, so that a chatty command cannot fill the memory;
 * a cut beginning is dropped up to the next line.
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
 * Cuts a stream of text into lines. Carriage return and line feed both end a line, because
 * programs that draw progress use the first; lines without content are left out.
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

/** A line without an end must not fill the memory. */
const longestLine = 64 * 1024;

// Invariants of a command:
// 1. its pipes are read until they close: coreos-installer dies in the middle of a write when its
//    stderr pipe is closed (coreos-installer 0.26);
// 2. it is never left behind: whatever ends our wait ends its whole process group first.
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { execa } from 'execa';
import type { Millis } from '../../model/duration.ts';
import { lineSplitter } from './lines.ts';
import { outputRing } from './output-ring.ts';
import { stopGroup } from './process-group.ts';

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
  /** Ends the process and all that it started; resolves when nobody is left. */
  readonly stop: () => Promise<void>;
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
  return {
    stdin: child.stdin ?? undefined,
    ended,
    stop: async () => {
      if (child.pid !== undefined) await stopGroup(child.pid);
      // A process that left the group may still hold the pipes; it must not hold us.
      outputs.stdout.abandon();
      outputs.stderr.abandon();
      await ended;
    },
    unref: () => {
      for (const part of [node, node.stdin, node.stdout, node.stderr]) unrefPart(part);
    },
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
  const ring = outputRing(capacity[stream]);
  const lines = lineSplitter((line) => onLine?.(line, stream));
  const decoder = new StringDecoder('utf8');
  const take = (text: string): void => {
    ring.push(text);
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
    text: () => ring.text(),
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

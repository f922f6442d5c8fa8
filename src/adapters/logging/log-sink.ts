import { constants, fstatSync, mkdirSync, openSync, write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type DestinationStream, pino } from 'pino';
import type { RunEvent, Sink } from '../../engine/events.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { within } from '../clock.ts';
import { lineOf, type LogLevel, type LogLine, renderPretty } from './log-line.ts';

/** Targets and format of the log. */
export interface LogOptions {
  readonly level: LogLevel;
  /** `json` for programs, `pretty` for people. */
  readonly format: 'json' | 'pretty';
  /** File to append to; default: none. */
  readonly file?: string | undefined;
  /** Name of the host, for the line of a run's begin. */
  readonly hostname?: string | undefined;
  /** File descriptors to write to in addition to the file; default: standard output. */
  readonly descriptors?: readonly number[];
  /** Masks secrets in a finished line. */
  readonly mask: (text: string) => string;
  /** Called with each written line, in the form for people; for the system's journal. */
  readonly onLine?: (text: string, level: LogLevel) => void;
}

/** The log of a run. */
export interface Log {
  readonly sink: Sink;
  /** Writes a line that is not an event of a run. */
  readonly write: (line: LogLine) => void;
  /** Resolves when all lines are written, or after a second. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the log.
 * @throws AgentError `log.not-opened`
 */
export function openLog(options: LogOptions): Log {
  const writers = [
    ...(options.file === undefined ? [] : [openForLines(options.file)]),
    ...(options.descriptors ?? [1]),
  ].map((descriptor) => lineWriter(descriptor));
  const out: DestinationStream = {
    write: (text) => {
      for (const writer of writers) writer.write(text);
    },
  };
  const masked: DestinationStream = {
    write: (text) => {
      out.write(options.mask(text));
    },
  };
  const json = pino(
    {
      level: options.level,
      base: null,
      // A line has the time of its event.
      timestamp: false,
      formatters: { level: (label) => ({ level: label }) },
    },
    masked,
  );
  const write = (line: LogLine): void => {
    if (!json.isLevelEnabled(line.level)) return;
    const text = options.mask(renderPretty(line));
    if (options.format === 'json') {
      json[line.level]({ time: new Date(line.at).toISOString(), ...line.fields }, line.message);
    } else {
      out.write(`${text}\n`);
    }
    options.onLine?.(text, line.level);
  };
  return {
    write,
    sink: (event) => {
      const line = lineOf(event);
      const { hostname } = options;
      const fields = event.type === 'run.started' ? { ...line.fields, hostname } : line.fields;
      write({ ...line, fields });
    },
    close: async () => {
      await Promise.all(writers.map((writer) => writer.close()));
    },
  };
}

/** Version of the event stream; a reader ignores events and fields that it does not know. */
const streamVersion = 1;

/** Minimum interval between progress events of one step, in milliseconds. */
const progressEvery = 200;

/**
 * Opens the event stream for programs: one JSON object per line. `close` resolves when all events
 * are written, or after a second.
 * @param to a path, or `fd:3` for an open descriptor
 * @throws AgentError `log.not-opened`
 */
export function openEventStream(to: string, mask: (text: string) => string) {
  const writer = lineWriter(descriptorOf(to));
  const isDue = progressThrottle();
  return {
    sink: (event: RunEvent): void => {
      if (isDue(event)) writer.write(`${mask(JSON.stringify({ v: streamVersion, ...event }))}\n`);
    },
    close: () => writer.close(),
  };
}

/**
 * Drops progress that follows too soon on earlier progress of its step; passes all other events.
 */
function progressThrottle(): (event: RunEvent) => boolean {
  const last = new Map<string, number>();
  return (event) => {
    if (event.type !== 'step.progress') return true;
    const since = event.at - (last.get(event.step) ?? Number.NEGATIVE_INFINITY);
    if (since < progressEvery && event.progress.percent !== 100) return false;
    last.set(event.step, event.at);
    return true;
  };
}

function descriptorOf(to: string): number {
  const number = /^fd:(\d+)$/.exec(to)?.[1];
  return number === undefined ? openForLines(to) : Number(number);
}

/**
 * Writes text to a descriptor; never throws, and never waits for the reader. Pino's own destination
 * is not used: on a full disk its flushSync tries for ever, and the program would never end
 * (sonic-boom 5).
 */
interface LineWriter {
  readonly write: (text: string) => void;
  /** Resolves when all text is written, or after a second. */
  readonly close: () => Promise<void>;
}

/** Maximum text in memory for a stalled reader; further text is dropped. */
const mostWaiting = 4 * 1024 * 1024;
const chunk = 64 * 1024;
const closeLimit = 1000;

/**
 * A writer for a descriptor. Writes to a file at once, so that a crash loses no line; writes to a
 * pipe or a terminal in the background, since its reader may have stopped.
 */
function lineWriter(descriptor: number): LineWriter {
  switch (kindOf(descriptor)) {
    case 'file':
      return fileWriter(descriptor);
    case 'socket':
      return socketWriter(descriptor);
    case 'other':
      return pipeWriter(nonBlocking(descriptor));
  }
}

function fileWriter(descriptor: number): LineWriter {
  return {
    write: (text) => {
      try {
        writeSync(descriptor, text);
      } catch {
        // A full disk must not end an installation; the next line may fit.
      }
    },
    close: () => Promise.resolve(),
  };
}

const writeSome = promisify(write);

function pipeWriter(descriptor: number): LineWriter {
  let waiting: string[] = [];
  let size = 0;
  let isClosed = false;
  let pump: Promise<void> | undefined;
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      const bytes = Buffer.from(waiting.splice(0).join(''));
      size = 0;
      for (let from = 0; from < bytes.length;) {
        from += await written(descriptor, bytes.subarray(from, from + chunk));
      }
    }
    pump = undefined;
  };
  return {
    write: (text) => {
      if (isClosed || size > mostWaiting) return;
      waiting.push(text);
      size += text.length;
      pump ??= work();
    },
    close: async () => {
      await within(closeLimit, pump);
      isClosed = true;
      waiting = [];
    },
  };
}

function socketWriter(descriptor: number): LineWriter {
  const socket = new Socket({ fd: descriptor, readable: false });
  socket.on('error', () => undefined);
  socket.unref();
  return {
    write: (text) => {
      if (socket.writable && socket.writableLength <= mostWaiting) socket.write(text);
    },
    close: () =>
      within(
        closeLimit,
        // `drain` only follows a refused write; the last write is also the last to be taken.
        socket.writableLength === 0
          ? undefined
          : new Promise<void>((resolve) => {
              socket.write('', () => {
                resolve();
              });
            }),
      ),
  };
}

/** Number of bytes written, or given up because the reader is gone. */
async function written(descriptor: number, bytes: Buffer): Promise<number> {
  try {
    return (await writeSome(descriptor, bytes)).bytesWritten;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return bytes.length;
    await pause(20);
    return 0;
  }
}

/**
 * The same pipe or terminal, opened for writes that never block: libuv waits for its threads, so a
 * blocked write would keep the process from ending. The descriptor itself is shared with other
 * processes, which may rely on its present flags.
 */
function nonBlocking(descriptor: number): number {
  try {
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}

function kindOf(descriptor: number): 'file' | 'socket' | 'other' {
  try {
    const stats = fstatSync(descriptor);
    if (stats.isFile()) return 'file';
    return stats.isSocket() ? 'socket' : 'other';
  } catch {
    return 'other';
  }
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const appending = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK;

/**
 * Opens a file to append to, and creates its directory.
 * @throws AgentError `log.not-opened`
 */
function openForLines(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    // Does not wait for the reader of a pipe.
    return openSync(path, appending, 0o640);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw logFailure('log.not-opened', `${path} cannot be opened: ${code}`, {
      context: { path },
      cause: error,
    });
  }
}

/** Failures of writing a log. */
export const logFailures = {
  'log.not-opened': {
    kind: 'host',
    title: 'The log file cannot be opened',
    hint: 'check free space and mounts on the host, or name another file with log.file',
  },
} as const satisfies FailureTable;

/** Builds an error of the log. */
const logFailure = failuresOf(logFailures);

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

/** Where the log goes, and how it looks. */
export interface LogOptions {
  readonly level: LogLevel;
  /** `json` for programs, `pretty` for people. */
  readonly format: 'json' | 'pretty';
  /** Appended to; none without it. */
  readonly file?: string | undefined;
  /** File descriptors to write to beside the file; standard output unless given. */
  readonly descriptors?: readonly number[];
  /** Takes secrets out of a finished line. */
  readonly mask: (text: string) => string;
  /** Told each line that is written, in the form for people; for the journal of the system. */
  readonly onLine?: (text: string, level: LogLevel) => void;
}

/** The log of a run. */
export interface Log {
  readonly sink: Sink;
  /** A line that is no event of a run. */
  readonly write: (line: LogLine) => void;
  /** Resolves when all is written, or after a second. */
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
      // The time of a line is that of its event.
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
      write(lineOf(event));
    },
    close: async () => {
      await Promise.all(writers.map((writer) => writer.close()));
    },
  };
}

/** Version of the event stream; a reader ignores events and fields that it does not know. */
const streamVersion = 1;

/** Progress of one step is written at most so often, in milliseconds. */
const progressEvery = 200;

/** The event stream for programs: one JSON object per line. */
export interface EventStream {
  readonly sink: Sink;
  /** Resolves when all is written, or after a second. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the event stream.
 * @param to a path, or `fd:3` for a descriptor that is open already
 * @throws AgentError `log.not-opened`
 */
export function openEventStream(to: string, mask: (text: string) => string): EventStream {
  const writer = lineWriter(descriptorOf(to));
  const isDue = progressThrottle();
  return {
    sink: (event) => {
      if (isDue(event)) writer.write(`${mask(JSON.stringify({ v: streamVersion, ...event }))}\n`);
    },
    close: () => writer.close(),
  };
}

/** Lets everything through but progress that follows too soon on other progress of its step. */
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
 * Writes text to a descriptor; it never throws, and never waits for who reads. Pino's own
 * destination is not used: when the disk is full its flushSync tries for ever, and the program
 * would never end (sonic-boom 5).
 */
interface LineWriter {
  readonly write: (text: string) => void;
  /** Resolves when all is written, or after a second. */
  readonly close: () => Promise<void>;
}

/** What a reader that does not read makes us hold; what comes then is dropped. */
const mostWaiting = 4 * 1024 * 1024;
const chunk = 64 * 1024;
const closeLimit = 1000;

/**
 * A writer for a descriptor. Files are written at once, so that a crash loses no line; a pipe or a
 * terminal in the background, since its reader may have stopped.
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
        // A full disk must not end an installation; the next line may find room.
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
        // `drain` comes only where a write was refused; what is written last is taken last.
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

/** How many bytes were taken, or given up because nobody reads any more. */
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
 * The same pipe or terminal, opened so that a write to it never blocks: a blocked write would even
 * keep our process from ending, since libuv waits for its threads. The descriptor itself is shared
 * with others, who may count on its present state.
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
 * Opens a file that is appended to, with its directory.
 * @throws AgentError `log.not-opened`
 */
function openForLines(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    // A pipe that nobody reads is not waited for.
    return openSync(path, appending, 0o640);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw logFailure('log.not-opened', `${path} cannot be opened: ${code}`, {
      context: { path },
      cause: error,
    });
  }
}

/** Failures of keeping a log. */
export const logFailures = {
  'log.not-opened': {
    kind: 'host',
    title: 'The log file cannot be opened',
    hint: 'check free space and mounts on the host, or name another file with log.file',
  },
} as const satisfies FailureTable;

/** Builds an error of the log. */
const logFailure = failuresOf(logFailures);

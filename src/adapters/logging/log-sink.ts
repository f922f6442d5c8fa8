import { type DestinationStream, pino } from 'pino';
import { lineWriter, openForLines } from './line-writer.ts';
import { lineOf, type LogLevel, type LogLine, renderPretty } from './log-line.ts';
import type { RunEvent, Sink } from '../../engine/events.ts';

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

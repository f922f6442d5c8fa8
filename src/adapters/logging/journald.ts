// Writes lines of the log to the host's journal, where the log collector of the installation looks
// for them: `journalctl TAG=installer` (assisted-installer-agent, logs_sender). The journal takes
// fields only through a Unix datagram socket, which Node cannot open; `logger --journald` of
// util-linux can, with one entry per process. So lines are collected for a moment and sent as one
// entry with a message of several lines. An error of the journal is never fatal, and no step waits
// for it.
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Millis, seconds } from '../../model/duration.ts';
import { type HostAccess, runHostCommand } from '../host/run-command.ts';
import { within } from '../clock.ts';
import type { LogLevel } from './log-line.ts';

/** Options for reaching the journal. */
export interface JournaldOptions {
  /** Options for running the host's `logger`. */
  readonly access: Pick<HostAccess, 'prefix' | 'environment'>;
  /** Path of the journal's socket for this process; without the socket, nothing is sent. */
  readonly socket: string;
  /** Time for which lines are collected. */
  readonly gather?: Millis;
}

/** The journal of the host. */
export interface Journald {
  readonly line: (text: string, level: LogLevel) => void;
  /** Sends the remaining lines, for at most two seconds. */
  readonly close: () => Promise<void>;
}

/** Priorities of syslog; the lowest number is the most urgent. */
const priorities: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

const mostWaiting = 2000;
const sendLimit: Millis = seconds(5);
const closeLimit: Millis = seconds(2);

/** After this many failed entries in a row, no more are sent. */
const mostFailures = 3;

interface Line {
  readonly text: string;
  readonly priority: number;
}

/** Opens the journal; starts no process before the first line. */
export function journald({ access, socket, gather = seconds(1) }: JournaldOptions): Journald {
  const isThere = existsSync(socket);
  const hurry = new AbortController();
  const end = new AbortController();
  const waiting: Line[] = [];
  let pump: Promise<void> | undefined;
  let failures = 0;

  const send = async (entry: readonly Line[]): Promise<void> => {
    const how = { input: renderEntry(entry), limit: sendLimit, signal: end.signal } as const;
    try {
      const argv = ['logger', '--journald'];
      // The log's own command emits no event: each event would be another line of the log.
      await runHostCommand({ ...access, onCommand: undefined }, { ...how, argv, isKillable: true });
      failures = 0;
    } catch {
      failures += 1;
    }
  };
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      await pause(gather, undefined, { signal: hurry.signal, ref: false }).catch(() => undefined);
      for (const entry of entriesOf(waiting.splice(0)))
        if (failures < mostFailures) await send(entry);
    }
    pump = undefined;
  };
  return {
    line: (text, level) => {
      if (!isThere) return;
      waiting.push({ text, priority: priorities[level] });
      if (waiting.length > mostWaiting) waiting.shift();
      pump ??= work();
    },
    close: async () => {
      hurry.abort();
      await within(closeLimit, pump);
      end.abort(new Error('the log is closed'));
    },
  };
}

/** Maximum entries of one collection; each is a process. */
const mostEntries = 8;

/** journalctl omits longer messages from its JSON. */
const longestMessage = 4000;

/**
 * Groups successive lines of equal priority. The last entry takes the rest, with the highest
 * priority among them.
 */
export function entriesOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const entries: Line[][] = [];
  let length = 0;
  for (const line of lines) {
    const current = entries.at(-1);
    length += line.text.length + 1;
    const isAlike = current?.[0]?.priority === line.priority && length <= longestMessage;
    if (current !== undefined && (isAlike || entries.length >= mostEntries)) current.push(line);
    else {
      entries.push([line]);
      length = line.text.length + 1;
    }
  }
  return entries;
}

/** An entry in the form of `logger --journald`: `FIELD=value` lines. */
export function renderEntry(lines: readonly Line[]): string {
  const priority = Math.min(...lines.map((line) => line.priority));
  return [
    `PRIORITY=${priority}`,
    'TAG=installer',
    ...lines.flatMap(({ text }) => text.split(/[\r\n]+/)).map((text) => `MESSAGE=${text}`),
    '',
  ].join('\n');
}

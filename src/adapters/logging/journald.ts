// The lines of the log in the journal of the host, where the log collector of the installation
// looks for them: `journalctl TAG=installer` (assisted-installer-agent, logs_sender). The journal
// takes fields by a Unix datagram socket alone, which Node cannot open; `logger --journald` of
// util-linux can, for one entry per process. So lines are gathered for a moment and sent as one
// entry with a message of several lines. Trouble with the journal is never fatal and never waited
// for.
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Millis, seconds } from '../../model/duration.ts';
import { type HostAccess, runHostCommand } from '../host/run-command.ts';
import { within } from '../clock.ts';
import type { LogLevel } from './log-line.ts';

/** How the journal is reached. */
export interface JournaldOptions {
  /** How the host's `logger` is reached. */
  readonly access: Pick<HostAccess, 'prefix' | 'environment'>;
  /** Of the journal, as our process has it; nothing is sent when it is not there. */
  readonly socket: string;
  /** How long lines are gathered. */
  readonly gather?: Millis;
}

/** The journal of the host. */
export interface Journald {
  readonly line: (text: string, level: LogLevel) => void;
  /** Sends what is still held, for two seconds at most. */
  readonly close: () => Promise<void>;
}

/** As syslog counts, lowest most urgent. */
const priorities: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

const mostWaiting = 2000;
const sendLimit: Millis = seconds(5);
const closeLimit: Millis = seconds(2);

/** After so many entries in a row were not taken, nothing more is tried. */
const mostFailures = 3;

interface Line {
  readonly text: string;
  readonly priority: number;
}

/** Opens the way to the journal; nothing is started before there is a line. */
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
      // What the log itself runs is no event: each would be a line of the log.
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

/** So many entries are made of one gathering at most; each is a process. */
const mostEntries = 8;

/** journalctl leaves longer messages out of its JSON. */
const longestMessage = 4000;

/**
 * Lines in a row that are equally urgent; the last entry takes the rest, as urgent as its worst.
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

/** An entry as `logger --journald` reads it: `FIELD=value` lines. */
export function renderEntry(lines: readonly Line[]): string {
  const priority = Math.min(...lines.map((line) => line.priority));
  return [
    `PRIORITY=${priority}`,
    'TAG=installer',
    ...lines.flatMap(({ text }) => text.split(/[\r\n]+/)).map((text) => `MESSAGE=${text}`),
    '',
  ].join('\n');
}

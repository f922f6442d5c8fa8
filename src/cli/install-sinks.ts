import { join } from 'node:path/posix';
import { journald } from '../adapters/logging/journald.ts';
import { openEventStream } from '../adapters/logging/jsonl-sink.ts';
import { openLog } from '../adapters/logging/log-sink.ts';
import { openTerminal } from '../adapters/logging/terminal.ts';
import type { Config } from '../config/schema.ts';
import type { Sink } from '../engine/events.ts';
import { terminalLineOf } from '../reporting/terminal-line.ts';

/** The sinks of one run. */
export interface RunSinks {
  readonly list: readonly Sink[];
  /** Writes out what is still held; takes two seconds at most. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the log (standard output, file, journal), the event stream, and the line at the bottom of a
 * terminal where there is one.
 * @throws AgentError `log.not-opened`
 */
export function sinksOf(config: Config, mask: (text: string) => string): RunSinks {
  const { log, host, dry } = config;
  const terminal =
    log.format === 'auto' && process.stdout.isTTY ? openTerminal(process.stdout) : undefined;
  const journal = journald({
    socket: join(host.root, '/run/systemd/journal/socket'),
    ...(dry.hostId === '' ? {} : { fields: { DRY_AGENT_ID: dry.hostId } }),
  });
  const opened = openLog({
    level: log.verbose ? 'debug' : 'info',
    format: log.format === 'pretty' || terminal !== undefined ? 'pretty' : 'json',
    file: join(host.root, logFileOf(config)),
    descriptors: terminal === undefined ? [1] : [],
    mask,
    onLine: (text, level) => {
      terminal?.line(text);
      journal.line(text, level);
    },
  });
  const events = log.events === '' ? undefined : openEventStream(log.events, mask);
  const state = terminalLineOf();
  const showState: Sink = (event) => {
    const text = state(event);
    if (text !== undefined) terminal?.status(mask(text));
  };
  return {
    list: [opened.sink, ...(events === undefined ? [] : [events.sink]), showState],
    close: async () => {
      terminal?.close();
      await Promise.all([opened.close(), events?.close(), journal.close()]);
    },
  };
}

/** Load tests of the service run many agents beside each other; each has a file of its own. */
const logFileOf = ({ log, host, dry }: Config): string =>
  host.reach === 'dry' && dry.hostId !== ''
    ? `/var/log/assisted-installer-${dry.hostId}.log`
    : log.file;

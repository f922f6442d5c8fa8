import { join } from 'node:path/posix';
import { journald } from '../adapters/logging/journald.ts';
import { type LogOptions, openEventStream, openLog } from '../adapters/logging/log-sink.ts';
import { openTerminal } from '../adapters/logging/terminal.ts';
import type { Config } from '../config/schema.ts';
import type { RunEventBody, Sink } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import { terminalLineOf } from '../reporting/terminal-line.ts';

/** The sinks of one run. */
interface RunSinks {
  readonly list: readonly Sink[];
  /** A warning for each log that could not be opened. */
  readonly faults: readonly RunEventBody[];
  /** Flushes the buffers; takes two seconds at most. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the log (standard output, file, journal), the event stream, and the line at the bottom of a
 * terminal where there is one. No file of these is worth an installation.
 */
export function openSinks(config: Config, mask: (text: string) => string): RunSinks {
  const { log, host, dry } = config;
  const terminal =
    log.format === 'auto' && process.stdout.isTTY ? openTerminal(process.stdout) : undefined;
  const journal = journald({
    socket: join(host.root, '/run/systemd/journal/socket'),
    ...(dry.hostId === '' ? {} : { fields: { DRY_AGENT_ID: dry.hostId } }),
  });
  const faults: RunEventBody[] = [];
  const ifPossible = <T>(open: () => T): T | undefined => {
    try {
      return open();
    } catch (thrown) {
      faults.push(withoutLog(thrown));
      return undefined;
    }
  };
  const options: LogOptions = {
    level: log.verbose ? 'debug' : 'info',
    format: log.format === 'pretty' || terminal !== undefined ? 'pretty' : 'json',
    descriptors: terminal === undefined ? [1] : [],
    mask,
    onLine: (text, level) => {
      terminal?.line(text);
      journal.line(text, level);
    },
  };
  const opened =
    ifPossible(() => openLog({ ...options, file: join(host.root, log.file) })) ?? openLog(options);
  const events =
    log.events === '' ? undefined : ifPossible(() => openEventStream(log.events, mask));
  const state = terminalLineOf();
  const showState: Sink = (event) => {
    const text = state(event);
    if (text !== undefined) terminal?.status(mask(text));
  };
  return {
    faults,
    list: [opened.sink, ...(events === undefined ? [] : [events.sink]), showState],
    close: async () => {
      terminal?.close();
      await Promise.all([opened.close(), events?.close(), journal.close()]);
    },
  };
}

function withoutLog(thrown: unknown): RunEventBody {
  const { code, message, hint } = asAgentError(thrown);
  return {
    type: 'note',
    step: 'log/open',
    level: 'warn',
    message: 'the installation goes on without one of its logs',
    fields: { code, reason: message, hint },
  };
}

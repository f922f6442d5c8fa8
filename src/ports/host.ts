import type { Millis } from '../model/duration.ts';

/** How one command on the host is run. */
export interface ExecOptions {
  readonly signal: AbortSignal;
  /** The command and all that it started are stopped after this time; `command.timed-out`. */
  readonly limit: Millis;
  /** Called for each line of output while the command runs; `\r` and `\n` both end a line. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  /** What the command reads on its standard input; nothing unless given. */
  readonly input?: string | AsyncIterable<Uint8Array>;
  /** Exit codes that are an answer and not a failure; `[0]` by default. */
  readonly accept?: readonly number[];
  /** Variables for the command on top of the clean environment and the proxies. */
  readonly env?: Readonly<Record<string, string>>;
  /** Words of argv that must not be shown in a log, an event or an error. */
  readonly secrets?: readonly string[];
  /**
   * A lock, by the name that `lock` takes, that the command and all it starts hold until they have
   * ended, even where we are killed before. It fails at once where another holds the lock.
   */
  readonly underLock?: string;
  /** Nothing is lost by ending it at once: it gets SIGKILL without SIGTERM before it. */
  readonly isKillable?: boolean;
}

/** What a command that ended by itself left behind. Streams are kept apart and trimmed. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration: Millis;
}

/** What a stream left in a file. */
export interface WrittenFile {
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

/** A lock that is held until it is released or the process ends, however it ends. */
export interface HostLock {
  release(): Promise<void>;
}

/**
 * The machine that is being installed: its commands and its files, seen as the host sees them: no
 * path ever means a file of the container, and a link leads where it leads on the host.
 */
export interface Host {
  /**
   * Runs argv on the host, never through a shell, in a process group of its own.
   * @throws AgentError `command.failed`, `command.timed-out`, `command.not-found`,
   * `command.stopped`
   */
  readonly exec: (argv: readonly string[], options: ExecOptions) => Promise<CommandResult>;
  /**
   * Whole text of a file, or undefined if absent.
   * @throws AgentError `file.not-read`, `file.too-large`
   */
  readonly readText: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /**
   * Writes a file whole: to a temporary name beside it, flushed, renamed. Mode 0600 unless given.
   * @throws AgentError `file.not-written`
   */
  readonly writeFile: (
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options: { readonly signal: AbortSignal; readonly mode?: number },
  ) => Promise<WrittenFile>;
  /** Removes a file; no error when there is none. */
  readonly remove: (path: string, signal: AbortSignal) => Promise<void>;
  /** Names in a directory, sorted; empty when there is no such directory. */
  readonly list: (path: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** The path with every symbolic link followed, or undefined when it leads nowhere. */
  readonly realPath: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /**
   * Calls `changed` whenever one of these files or directories may have changed, come or gone, and
   * once at the beginning, until the signal aborts; then resolves. The files are looked at each
   * second; of a directory, which names it has.
   */
  readonly watch: (
    paths: readonly string[],
    changed: () => void,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Takes a lock by the name of a file in the host's /run/lock; undefined when another holds it.
   */
  readonly lock: (name: string, signal: AbortSignal) => Promise<HostLock | undefined>;
}

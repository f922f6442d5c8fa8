import type { Millis } from '../model/duration.ts';

/** Options of one command on the host. */
export interface ExecOptions {
  readonly signal: AbortSignal;
  /** After this time, the command and all its children are stopped; `command.timed-out`. */
  readonly limit: Millis;
  /** Called for each line of output while the command runs; `\r` and `\n` both end a line. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Standard input of the command; default: empty. */
  readonly input?: string | AsyncIterable<Uint8Array>;
  /** Exit codes that are a result rather than a failure; default: `[0]`. */
  readonly accept?: readonly number[];
  /** Variables of the command in addition to the clean environment and the proxies. */
  readonly env?: Readonly<Record<string, string>>;
  /** Words of argv that no log, event or error may show. */
  readonly secrets?: readonly string[];
  /**
   * A lock, named as for `lock`. The command and all its children hold it until they have ended,
   * even if this program is killed before. The command fails at once if another process holds the
   * lock.
   */
  readonly underLock?: string;
  /** The command can be killed without loss: it gets SIGKILL without an earlier SIGTERM. */
  readonly isKillable?: boolean;
}

/** The result of a command that ended by itself. Its streams are separate and trimmed. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly duration: Millis;
}

/** A file written from a stream. */
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
 * The machine under installation: its commands and files, as the host sees them. A path never
 * refers to a file of the container, and links are resolved on the host.
 */
export interface Host {
  /**
   * Runs argv on the host in its own process group, never through a shell.
   * @throws AgentError `command.failed`, `command.timed-out`, `command.not-found`,
   * `command.stopped`
   */
  readonly exec: (argv: readonly string[], options: ExecOptions) => Promise<CommandResult>;
  /**
   * The whole text of a file; undefined if absent.
   * @throws AgentError `file.not-read`, `file.too-large`
   */
  readonly readText: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /**
   * Writes a file atomically: to a temporary name beside it, flushed, then renamed. Default mode:
   * 0600.
   * @throws AgentError `file.not-written`
   */
  readonly writeFile: (
    path: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options: { readonly signal: AbortSignal; readonly mode?: number },
  ) => Promise<WrittenFile>;
  /** Removes a file; no error if it does not exist. */
  readonly remove: (path: string, signal: AbortSignal) => Promise<void>;
  /** Names in a directory, sorted; empty if the directory does not exist. */
  readonly list: (path: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** The path with all symbolic links resolved; undefined if it does not exist. */
  readonly realPath: (path: string, signal: AbortSignal) => Promise<string | undefined>;
  /**
   * Calls `changed` whenever one of these files or directories may have changed, appeared or gone,
   * and once at the beginning, until the signal aborts; then resolves. Checks the files each
   * second; of a directory, only its names.
   */
  readonly watch: (
    paths: readonly string[],
    changed: () => void,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Takes a lock, a file of this name in the host's /run/lock; undefined if another process holds
   * it.
   */
  readonly lock: (name: string, signal: AbortSignal) => Promise<HostLock | undefined>;
}

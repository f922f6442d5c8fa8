import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path/posix';
import {
  directPath,
  type DirectPlace,
  type FileContent,
  isAboveShared,
  isShared,
  listDirect,
  chunksOf,
  readDirect,
  realPathDirect,
  removeDirect,
  writeDirect,
} from './direct-files.ts';
import { takeLock } from './host-lock.ts';
import {
  type CommandEvent,
  type HostAccess,
  ownProgram,
  type RawResult,
  runHostCommand,
  trimmed,
} from './run-command.ts';
import { type SeenFiles, type WatchedHost, watchPaths } from './watch-paths.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { hostFailure } from '../../ports/host-failures.ts';
import type { CommandResult, ExecOptions, Host, WrittenFile } from '../../ports/host.ts';

/** How the host is reached. */
export interface NsenterHostOptions {
  /** Where /opt, /var/log, /dev, /tmp and /etc/pki of the host are seen; `/` unless given. */
  readonly root?: string;
  /** The container has none of those directories: every file is reached by commands. */
  readonly sharesNothing?: boolean;
  readonly onCommand?: ((event: CommandEvent) => void) | undefined;
  /** Our own environment, of which only PATH is passed on. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Variables of every command: the proxies, which no step can forget then. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Pause between two polls of files of which no event can tell; 5 s unless given. */
  readonly pollInterval?: Millis;
}

/**
 * The namespaces of the host's first process that every command enters. Network and host name are
 * shared by the container already. The words are those of the agent being replaced.
 */
const namespaces = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'] as const;

/** Words before every command, which lead it to the host. */
export const hostPrefix = (environment: HostAccess['environment']): readonly string[] => [
  ownProgram('nsenter', environment),
  ...namespaces,
];

/** The host behind a privileged container: commands by nsenter, shared directories by ourselves. */
export function nsenterHost({
  root = '/',
  sharesNothing = false,
  onCommand,
  environment = process.env,
  variables = {},
  pollInterval = seconds(5),
}: NsenterHostOptions = {}): Host {
  const access: HostAccess = { prefix: hostPrefix(environment), environment, onCommand };
  const run: RunOnHost = (argv, { env, ...options }) =>
    runHostCommand(access, { ...options, argv, env: { ...variables, ...env } });
  const files: SeenFiles = sharesNothing
    ? { root, isShared: () => false, isAboveShared: () => false }
    : { root, isShared, isAboveShared };
  const watched = watchedHost(access, files, pollInterval);
  const placeOf = (path: string): DirectPlace | undefined => {
    const at = sharesNothing ? undefined : directPath(root, path);
    return at === undefined ? undefined : { at, path };
  };
  /** As `placeOf`, of what links lead to: an absolute one is below `root`, or leads elsewhere. */
  const leadsTo = async (path: string): Promise<DirectPlace | undefined> => {
    if (placeOf(path) === undefined) return undefined;
    const place = placeOf((await realPathDirect(root, path)) ?? path);
    return place && { ...place, path };
  };
  return {
    exec: async (argv, options) => trimmed(await run(argv, options)),
    readText: async (path, signal, options = {}) => {
      signal.throwIfAborted();
      const place = options.isOurs === true ? placeOf(path) : await leadsTo(path);
      return place === undefined ? readOnHost(run, path, signal) : readDirect(place, options);
    },
    writeFile: async (path, content, options) => {
      options.signal.throwIfAborted();
      const place = placeOf(path);
      return place === undefined
        ? writeOnHost(run, { path, content }, options)
        : writeDirect(place, content, options);
    },
    remove: async (path, signal) => {
      signal.throwIfAborted();
      const place = placeOf(path);
      await (place === undefined ? removeOnHost(run, path, signal) : removeDirect(place));
    },
    list: async (path, signal) => {
      signal.throwIfAborted();
      const place = await leadsTo(path);
      return place === undefined ? listOnHost(run, path, signal) : listDirect(place);
    },
    realPath: async (path, signal) => {
      signal.throwIfAborted();
      return placeOf(path) === undefined
        ? realPathOnHost(run, path, signal)
        : realPathDirect(root, path);
    },
    watch: (paths, changed, signal) => watchPaths(watched, { paths, changed }, signal),
    lock: (name, signal) => takeLock(access, name, signal),
  };
}

function watchedHost(access: HostAccess, files: SeenFiles, every: Millis): WatchedHost {
  // Not logged: a command every few seconds says nothing.
  const quiet: HostAccess = { ...access, onCommand: undefined };
  const run: RunOnHost = (argv, options) => runHostCommand(quiet, { ...options, argv });
  return {
    files,
    poll: (paths, signal) => statesOnHost(run, paths, signal),
    every,
  };
}

/** Runs a command on the host, with input where it takes some; its output is not trimmed. */
export type RunOnHost = (argv: readonly string[], options: ExecOptions) => Promise<RawResult>;

/** Small files; a stuck mount must not hold a step longer. */
const limit = seconds(60);

const isAbsent = ({ stderr }: CommandResult): boolean =>
  /No such file or directory|Not a directory/.test(stderr);

/**
 * Whole text of a file that only the host sees; undefined if absent.
 * @throws AgentError `file.not-read`; `file.too-large` where it is larger than the output of a command may be
 */
export async function readOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await run(['cat', path], { signal, limit, accept: [0, 1] });
  if (result.isCut === true) {
    throw hostFailure('file.too-large', `${path} is larger than 8 MiB`, {
      hint: 'move the file below /opt or /tmp, where files of up to 64 MiB are read',
      context: { path },
    });
  }
  if (result.exitCode === 0) return result.stdout;
  if (isAbsent(result)) return undefined;
  throw hostFailure('file.not-read', `${path} cannot be read: ${result.stderr.trim()}`, {
    context: { path },
  });
}

/** Sorted names in a directory that only the host sees. */
export async function listOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const result = await run(['ls', '-1A', path], { signal, limit, accept: [0, 2] });
  if (result.exitCode === 0)
    return result.stdout
      .split('\n')
      .filter((name) => name !== '')
      .sort();
  if (isAbsent(result)) return [];
  throw hostFailure('file.not-read', `${path} cannot be listed: ${result.stderr.trim()}`, {
    context: { path },
  });
}

/** The path with links followed, by the host; undefined when it leads nowhere. */
export async function realPathOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await run(['realpath', '--canonicalize-existing', path], {
    signal,
    limit,
    accept: [0, 1],
  });
  return result.exitCode === 0 ? result.stdout.trimEnd() : undefined;
}

/** The state of each path that is there, as text to be compared: which file it leads to, its size and its times. */
async function statesOnHost(
  run: RunOnHost,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const argv = ['stat', '--dereference', '--format=%n %d %i %f %s %.Y %.Z', '--', ...paths];
  return (await run(argv, { signal, limit, accept: [0, 1] })).stdout;
}

/** Removes a file that only the host sees. */
export async function removeOnHost(
  run: RunOnHost,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  await run(['rm', '-f', path], { signal, limit });
}

/** Writes a file that only the host sees, with the same promises as a direct write. */
export async function writeOnHost(
  run: RunOnHost,
  { path, content }: { readonly path: string; readonly content: FileContent },
  { signal, mode = 0o600 }: { readonly signal: AbortSignal; readonly mode?: number },
): Promise<WrittenFile> {
  const temporary = join(dirname(path), `.${basename(path)}.part`);
  const hash = createHash('sha256');
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunksOf(content)) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  try {
    const octal = mode.toString(8).padStart(4, '0');
    // The mode comes first, so that nobody can read a secret file while it is written; install removes what stands there and creates
    // the file exclusively. The input is a socket, which programs can read but not open by the name /dev/stdin.
    await run(['install', '-m', octal, '/dev/null', temporary], { signal, limit });
    const writing = [`of=${temporary}`, 'conv=nocreat,notrunc,fsync', 'oflag=nofollow'];
    await run(['dd', ...writing, 'status=none'], { signal, limit, input: counted() });
    await run(['mv', '-T', temporary, path], { signal, limit });
    await run(['sync', dirname(path)], { signal, limit });
    return { path, bytes, sha256: hash.digest('hex') };
  } catch (error) {
    await run(['rm', '-f', temporary], { signal: AbortSignal.timeout(limit), limit }).catch(
      () => undefined,
    );
    throw asNotWritten(path, error);
  }
}

function asNotWritten(path: string, error: unknown): unknown {
  if (!(error instanceof AgentError) || error.code !== 'command.failed') return error;
  return hostFailure('file.not-written', `${path} cannot be written: ${error.message}`, {
    context: { path },
    cause: error,
  });
}

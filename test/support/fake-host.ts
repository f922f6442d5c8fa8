import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path/posix';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
  type CommandStory,
  commandTimedOut,
} from '../../src/adapters/host/command-failures.ts';
import { lineSplitter } from '../../src/adapters/host/spawn.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { CommandResult, ExecOptions, Host, WrittenFile } from '../../src/ports/host.ts';

/** A host with a table of commands and files in memory. */
export interface FakeHost extends Host {
  /** Defines the behaviour of a command. A later row has priority over an earlier matching one. */
  readonly on: (pattern: ArgvPattern) => Answering;
  /** Creates a file. */
  readonly withFile: (path: string, content: string | Uint8Array, mode?: number) => FakeHost;
  /** Creates a symbolic link. */
  readonly withLink: (path: string, target: string) => FakeHost;
  /** Makes another process hold a lock. */
  readonly lockedByAnother: (name: string) => FakeHost;
  /** All argvs, in order. */
  readonly ran: readonly (readonly string[])[];
  /** All calls with their options. */
  readonly calls: readonly (ExecOptions & { readonly argv: readonly string[] })[];
  readonly files: ReadonlyMap<string, FakeFile>;
  readonly links: ReadonlyMap<string, string>;
  /** Text of a file; undefined if absent. */
  readonly textOf: (path: string) => string | undefined;
  /** Names of the held locks. */
  readonly locks: ReadonlySet<string>;
  /** The agent dies instead of running the command with this number, counted from 0. */
  readonly diesAt: (command: number | undefined) => void;
  /** Argvs without a row; an unknown argv also throws. */
  readonly unknown: readonly (readonly string[])[];
}

/** A host without commands. `clock` lets a hanging command reach its limit. */
export function fakeHost({ clock }: { readonly clock?: Clock } = {}): FakeHost {
  const rows: CommandRow[] = [];
  const calls: (ExecOptions & { argv: readonly string[] })[] = [];
  const unknown: (readonly string[])[] = [];
  const locks = new Set<string>();
  const memory = fakeFiles();
  const { watch, touched } = fakeWatch(memory.chain);
  let lastCommand: number | undefined;

  const rowOf = (argv: readonly string[]): CommandRow => {
    const row = rows.findLast(({ pattern }) => matches(pattern, argv));
    if (row !== undefined) return row;
    unknown.push(argv);
    throw new Error(
      `the fake host does not know: ${renderPattern(argv)}\nit knows:\n${rows
        .map(({ pattern }) => `  ${renderPattern(pattern)}`)
        .join('\n')}`,
    );
  };

  const host: FakeHost = {
    ...memory,
    calls,
    unknown,
    locks,
    get ran() {
      return calls.map(({ argv }) => argv);
    },
    on: (pattern) =>
      answering((answer) => {
        rows.push({ pattern, answer });
        return host;
      }),
    withFile: (path, content, mode = 0o644) => {
      memory.files.set(path, fileOf(content, mode));
      touched(path);
      return host;
    },
    withLink: (path, target) => {
      memory.links.set(path, target);
      touched(path);
      return host;
    },
    lockedByAnother: (name) => {
      locks.add(name);
      return host;
    },
    writeFile: async (path, content, options) => {
      const written = await memory.writeFile(path, content, options);
      touched(path);
      return written;
    },
    remove: async (path, signal) => {
      await memory.remove(path, signal);
      touched(path);
    },
    watch,
    textOf: (path) => textOf(memory.files.get(path)),
    diesAt: (command) => {
      lastCommand = command;
    },
    exec: async (argv, options) => {
      await Promise.resolve();
      if (options.signal.aborted) {
        throw commandStopped(
          { argv, secrets: options.secrets, duration: 0 },
          options.signal.reason,
        );
      }
      const row = rowOf(argv);
      if (lastCommand !== undefined && calls.length >= lastCommand) {
        throw commandStopped({ argv, secrets: options.secrets, duration: 0 }, 'the agent died');
      }
      calls.push({ ...options, argv });
      const { signal, env = {} } = options;
      const answer = await row.answer(argv, host, { argv, host, signal, env });
      const result = typeof answer === 'string' ? { stdout: answer } : (answer ?? {});
      return finish(argv, options, { result, clock });
    },
    lock: async (name, signal) => {
      await Promise.resolve();
      signal.throwIfAborted();
      if (locks.has(name)) return undefined;
      locks.add(name);
      return {
        release: () => {
          locks.delete(name);
          return Promise.resolve();
        },
      };
    },
  };
  return host;
}

async function finish(
  argv: readonly string[],
  options: ExecOptions,
  { result, clock }: { readonly result: FakeResult; readonly clock: Clock | undefined },
): Promise<CommandResult> {
  const { exitCode = 0, stdout = '', stderr = '' } = result;
  const story = { argv, secrets: options.secrets, duration: 0, stdout, stderr };
  if (result.isMissing === true) throw commandNotFound(story);
  emitLines(options, { stdout, stderr });
  if (result.hangs === true) return hang(story, options, clock);
  if (options.signal.aborted) throw commandStopped(story, options.signal.reason);
  if (!(options.accept ?? [0]).includes(exitCode)) throw commandFailed(story, { exitCode });
  return { exitCode, stdout: stdout.trim(), stderr: stderr.trim(), duration: 0 };
}

async function hang(
  story: CommandStory,
  options: ExecOptions,
  clock: Clock | undefined,
): Promise<never> {
  const since = clock?.now() ?? 0;
  await limitPasses(options, clock);
  const hung = { ...story, duration: (clock?.now() ?? 0) - since };
  if (options.signal.aborted) throw commandStopped(hung, options.signal.reason);
  throw commandTimedOut(hung, options.limit);
}

function emitLines(
  options: ExecOptions,
  said: Readonly<Record<'stdout' | 'stderr', string>>,
): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    const lines = lineSplitter((line) => options.onLine?.(line, stream));
    lines.push(said[stream]);
    lines.end();
  }
}

/** Resolves when the limit has passed or the signal has aborted. */
async function limitPasses({ limit, signal }: ExecOptions, clock?: Clock): Promise<void> {
  if (clock !== undefined) {
    await clock.sleep(limit, signal).catch(() => undefined);
    return;
  }
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Matches any further words of an argv. */
export const rest = Symbol('any further words');

/** Matches any one word of an argv. */
export const any = Symbol('any one word');

/** An argv, exact, or with `any` for a word and `rest` at its end. */
type ArgvPattern = readonly (string | typeof any | typeof rest)[];

/** The result of a fake command. */
export interface FakeResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Whether the program is missing. */
  readonly isMissing?: boolean;
  /** Whether the command never ends by itself. */
  readonly hangs?: boolean;
}

/** Inputs of a dynamic answer. */
interface FakeCall {
  readonly argv: readonly string[];
  readonly host: FakeHost;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
}

/** An answer that depends on the call. A text is its stdout. */
type DynamicAnswer = (
  argv: readonly string[],
  host: FakeHost,
  call: FakeCall,
) => FakeResult | string | undefined | void | Promise<FakeResult | string | undefined | void>;

/** One row of the command table. */
interface CommandRow {
  readonly pattern: ArgvPattern;
  readonly answer: DynamicAnswer;
}

/** Whether an argv matches a pattern. */
function matches(pattern: ArgvPattern, argv: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === rest;
  const words = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? argv.length < words.length : argv.length !== words.length) return false;
  return words.every((word, index) => word === any || word === argv[index]);
}

/** A pattern as text. */
const renderPattern = (pattern: ArgvPattern): string =>
  pattern
    .map((word) =>
      word === rest
        ? '…'
        : word === any
          ? '?'
          : /\s/.test(word) || word === ''
            ? `'${word}'`
            : word,
    )
    .join(' ');

/** Behaviours of one command. */
export interface Answering {
  /** Succeeds with this stdout and stderr. */
  readonly prints: (stdout: string, stderr?: string) => FakeHost;
  /** Succeeds without output. */
  readonly succeeds: () => FakeHost;
  /** Fails with an exit code, this stderr and this stdout. */
  readonly fails: (exitCode: number, stderr?: string, stdout?: string) => FakeHost;
  /** The program is missing. */
  readonly isMissing: () => FakeHost;
  /** Runs until it is stopped or its limit passes. */
  readonly hangs: (stderr?: string) => FakeHost;
  /** The results of the first call, the second, …; the last one repeats. */
  readonly inTurn: (...results: readonly (FakeResult | string)[]) => FakeHost;
  /** Computes the result at each call. */
  readonly answers: (answer: DynamicAnswer) => FakeHost;
}

/** Builds the result of `fakeHost().on([...])`. */
function answering(add: (answer: DynamicAnswer) => FakeHost): Answering {
  return {
    prints: (stdout, stderr = '') => add(() => ({ stdout, stderr })),
    succeeds: () => add(() => ({})),
    fails: (exitCode, stderr = '', stdout = '') => add(() => ({ exitCode, stderr, stdout })),
    isMissing: () => add(() => ({ isMissing: true })),
    hangs: (stderr = '') => add(() => ({ hangs: true, stderr })),
    inTurn: (...results) => {
      let calls = 0;
      return add(() => {
        const result = results[Math.min(calls, results.length - 1)];
        calls += 1;
        return result;
      });
    },
    answers: add,
  };
}

// Files of a fake host.

/** A file in memory. */
interface FakeFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** The file part of a fake host. */
interface FakeFiles extends Pick<Host, 'readText' | 'writeFile' | 'remove' | 'list' | 'realPath'> {
  readonly files: Map<string, FakeFile>;
  readonly links: Map<string, string>;
  /** The path, and each path to which its links lead, whether or not they exist. */
  readonly chain: (path: string) => readonly string[];
}

/** Text of a file in memory; undefined if absent. */
const textOf = (file: FakeFile | undefined): string | undefined =>
  file === undefined ? undefined : new TextDecoder().decode(file.bytes);

/** A file with a text. */
const fileOf = (content: string | Uint8Array, mode: number): FakeFile => ({
  bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  mode,
});

/** Files and symbolic links in memory; a directory exists while it has an entry. */
function fakeFiles(): FakeFiles {
  const files = new Map<string, FakeFile>();
  const links = new Map<string, string>();
  const real = (path: string): string => chainOf(links, path).at(-1) ?? path;
  const enter = async (signal: AbortSignal): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
  };
  return {
    files,
    links,
    chain: (path) => chainOf(links, path),
    readText: async (path, signal) => {
      await enter(signal);
      return textOf(files.get(real(path)));
    },
    writeFile: async (path, content, { signal, mode = 0o600 }) => {
      await enter(signal);
      const bytes = await gathered(path, content);
      signal.throwIfAborted();
      files.set(path, { bytes, mode });
      return written(path, bytes);
    },
    remove: async (path, signal) => {
      await enter(signal);
      files.delete(path);
      links.delete(path);
    },
    list: async (path, signal) => {
      await enter(signal);
      return namesIn([...files.keys(), ...links.keys()], path);
    },
    realPath: async (path, signal) => {
      await enter(signal);
      const target = real(path);
      const known = [...files.keys(), ...links.values()].some(
        (one) => one === target || one.startsWith(`${target}/`),
      );
      return known ? target : undefined;
    },
  };
}

/** The kernel follows the same number of links. */
const mostLinks = 40;

function chainOf(links: ReadonlyMap<string, string>, path: string): readonly string[] {
  const chain = [path];
  for (let at = path; chain.length <= mostLinks; chain.push(at)) {
    const target = links.get(at);
    if (target === undefined) return chain;
    at = resolve(dirname(at), target);
  }
  return [path];
}

async function gathered(
  path: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  if (content instanceof Uint8Array) return Uint8Array.from(content);
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  } catch (error) {
    // The error of the source is the cause, rather than a failed write.
    if (error instanceof Error) throw error;
    throw hostFailure('file.not-written', `${path} was not written`, { cause: error });
  }
  return Buffer.concat(chunks);
}

const written = (path: string, bytes: Uint8Array): WrittenFile => ({
  path,
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

function namesIn(paths: readonly string[], directory: string): readonly string[] {
  const prefix = directory.endsWith('/') ? directory : `${directory}/`;
  const names = paths
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).split('/')[0] ?? '');
  return [...new Set(names)].sort();
}

/** The watch part of a fake host. */
interface FakeWatch extends Pick<Host, 'watch'> {
  /** Reports a change of a path. */
  readonly touched: (path: string) => void;
}

/** Notifies watchers of a path; `chain` follows its links. */
function fakeWatch(chain: (path: string) => readonly string[]): FakeWatch {
  const watchers = new Set<(path: string) => void>();
  return {
    touched: (path) => {
      for (const notify of [...watchers]) notify(path);
    },
    watch: (paths, changed, signal) => {
      if (signal.aborted) return Promise.resolve();
      const notify = (path: string): void => {
        if (paths.some((watched) => concerns(path, chain(watched)))) changed();
      };
      watchers.add(notify);
      changed();
      return new Promise((resolve) => {
        const end = (): void => {
          watchers.delete(notify);
          resolve();
        };
        signal.addEventListener('abort', end, { once: true });
      });
    },
  };
}

/**
 * Whether a changed path concerns a watch: it is a watched path, is inside one, or is a directory
 * or link on the way to one.
 */
const concerns = (path: string, watched: readonly string[]): boolean =>
  watched.some((one) => one === path || one === dirname(path) || one.startsWith(`${path}/`));

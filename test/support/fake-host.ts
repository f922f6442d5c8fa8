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
import type { Millis } from '../../src/model/duration.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { CommandResult, ExecOptions, Host, WrittenFile } from '../../src/ports/host.ts';

/** A host made of a table of commands and of files in memory. */
export interface FakeHost extends Host {
  /** Says what a command does. A later row wins over an earlier one that matches too. */
  readonly on: (pattern: ArgvPattern) => Answering;
  /** Puts a file there. */
  readonly withFile: (path: string, content: string | Uint8Array, mode?: number) => FakeHost;
  /** Puts a symbolic link there. */
  readonly withLink: (path: string, target: string) => FakeHost;
  /** Lets another process hold a lock. */
  readonly lockedByAnother: (name: string) => FakeHost;
  /** Every argv that was run, in order. */
  readonly ran: readonly (readonly string[])[];
  /** How each was run. */
  readonly calls: readonly (ExecOptions & { readonly argv: readonly string[] })[];
  readonly files: ReadonlyMap<string, FakeFile>;
  readonly links: ReadonlyMap<string, string>;
  /** Text of a file, or undefined. */
  readonly textOf: (path: string) => string | undefined;
  /** Names of the locks that are held now. */
  readonly locks: ReadonlySet<string>;
  /** The agent dies instead of running the command with this number, counted from 0. */
  readonly diesAt: (command: number | undefined) => void;
  /** Argvs that no row describes; an unknown argv throws as well. */
  readonly unknown: readonly (readonly string[])[];
}

/** A host that knows no command. `clock` lets a hanging command run into its limit. */
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
  const { exitCode = 0, stdout = '', stderr = '', duration = 0 } = result;
  const story = { argv, secrets: options.secrets, duration, stdout, stderr };
  if (result.isMissing === true) throw commandNotFound(story);
  emitLines(options, { stdout, stderr });
  if (result.hangs === true) return hang(story, options, clock);
  if (options.signal.aborted) throw commandStopped(story, options.signal.reason);
  if (!(options.accept ?? [0]).includes(exitCode)) throw commandFailed(story, { exitCode });
  return { exitCode, stdout: stdout.trim(), stderr: stderr.trim(), duration };
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

/** Resolves when the limit passed or the signal aborted, whatever comes first. */
async function limitPasses({ limit, signal }: ExecOptions, clock?: Clock): Promise<void> {
  if (clock !== undefined) {
    await clock.sleep(limit, signal).catch(() => undefined);
    return;
  }
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Stands for any further words of an argv. */
export const rest = Symbol('any further words');

/** Stands for any one word of an argv. */
export const any = Symbol('any one word');

/** An argv, exact, or with `any` for a word and `rest` at its end. */
type ArgvPattern = readonly (string | typeof any | typeof rest)[];

/** What a fake command leaves behind. */
export interface FakeResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** The program does not exist. */
  readonly isMissing?: boolean;
  /** The command never ends by itself. */
  readonly hangs?: boolean;
  /** How long it says it took. */
  readonly duration?: Millis;
}

/** What a dynamic answer is told. */
interface FakeCall {
  readonly argv: readonly string[];
  readonly host: FakeHost;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
}

/** An answer that depends on the call. Text is its stdout. */
type DynamicAnswer = (
  argv: readonly string[],
  host: FakeHost,
  call: FakeCall,
) => FakeResult | string | undefined | void | Promise<FakeResult | string | undefined | void>;

/** One line of the command table. */
interface CommandRow {
  readonly pattern: ArgvPattern;
  readonly answer: DynamicAnswer;
}

/** Whether an argv is what a pattern describes. */
function matches(pattern: ArgvPattern, argv: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === rest;
  const words = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? argv.length < words.length : argv.length !== words.length) return false;
  return words.every((word, index) => word === any || word === argv[index]);
}

/** A pattern as people read it. */
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

/** What a test says of one command. */
export interface Answering {
  /** It ends well with this on stdout, and this on stderr. */
  readonly prints: (stdout: string, stderr?: string) => FakeHost;
  /** It ends well and says nothing. */
  readonly succeeds: () => FakeHost;
  /** It ends with an exit code, this on stderr, and this on stdout. */
  readonly fails: (exitCode: number, stderr?: string, stdout?: string) => FakeHost;
  /** There is no such program. */
  readonly isMissing: () => FakeHost;
  /** It runs until it is stopped or its limit passes. */
  readonly hangs: (stderr?: string) => FakeHost;
  /** The answers of the first call, the second, …; the last one stays. */
  readonly inTurn: (...results: readonly (FakeResult | string)[]) => FakeHost;
  /** It is decided at each call. */
  readonly answers: (answer: DynamicAnswer) => FakeHost;
}

/** Builds the sentence part of `fakeHost().on([...])`. */
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

// The file half of a fake host.

/** A file in memory. */
interface FakeFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** The file half of a fake host. */
interface FakeFiles extends Pick<Host, 'readText' | 'writeFile' | 'remove' | 'list' | 'realPath'> {
  readonly files: Map<string, FakeFile>;
  readonly links: Map<string, string>;
  /** The path, and each path that it leads to by links, whether or not something is there. */
  readonly chain: (path: string) => readonly string[];
}

/** Text of a file in memory, or undefined. */
const textOf = (file: FakeFile | undefined): string | undefined =>
  file === undefined ? undefined : new TextDecoder().decode(file.bytes);

/** A file with a text. */
const fileOf = (content: string | Uint8Array, mode: number): FakeFile => ({
  bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  mode,
});

/** Files and symbolic links in memory; a directory is there when something is in it. */
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

/** As many links as the kernel follows. */
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
    // What the source failed with is the cause, and not that the file could not be written.
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

/** The watching half of a fake host. */
interface FakeWatch extends Pick<Host, 'watch'> {
  /** Something has happened to a path. */
  readonly touched: (path: string) => void;
}

/** Tells whoever watches a path of what happens to it; `chain` follows its links. */
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
 * A path matters if it is what is watched, is in it, or is a directory or link on the way to it.
 */
const concerns = (path: string, watched: readonly string[]): boolean =>
  watched.some((one) => one === path || one === dirname(path) || one.startsWith(`${path}/`));

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
import type { CommandResult, ExecOptions, Host } from '../../src/ports/host.ts';
import { type FakeFile, fakeFiles, fakeWatch, fileOf, textOf } from './fake-files.ts';

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
  /** How many watch files now. */
  readonly watching: () => number;
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
  const { watch, touched, watching } = fakeWatch(memory.chain);
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
    watching,
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
export type ArgvPattern = readonly (string | typeof any | typeof rest)[];

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
export interface FakeCall {
  readonly argv: readonly string[];
  readonly host: FakeHost;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
}

/** An answer that depends on the call. Text is its stdout. */
export type DynamicAnswer = (
  argv: readonly string[],
  host: FakeHost,
  call: FakeCall,
) => FakeResult | string | undefined | void | Promise<FakeResult | string | undefined | void>;

/** One line of the command table. */
export interface CommandRow {
  readonly pattern: ArgvPattern;
  readonly answer: DynamicAnswer;
}

/** Whether an argv is what a pattern describes. */
export function matches(pattern: ArgvPattern, argv: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === rest;
  const words = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? argv.length < words.length : argv.length !== words.length) return false;
  return words.every((word, index) => word === any || word === argv[index]);
}

/** A pattern as people read it. */
export const renderPattern = (pattern: ArgvPattern): string =>
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
export function answering(add: (answer: DynamicAnswer) => FakeHost): Answering {
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

import type { CommandResult, ExecOptions, Host } from '../../src/ports/host.ts';
import type { Clock } from '../../src/ports/clock.ts';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
  commandTimedOut,
  type CommandStory,
} from '../../src/adapters/host/command-failures.ts';
import { lineSplitter } from '../../src/adapters/host/lines.ts';
import { fakeFiles, type FakeFile, fileOf, textOf } from './fake-files.ts';
import { fakeWatch } from './fake-watch.ts';
import {
  answering,
  type Answering,
  type ArgvPattern,
  type CommandRow,
  type FakeResult,
  matches,
  renderPattern,
} from './host-answers.ts';

export { any, rest } from './host-answers.ts';

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
  tellLines(options, { stdout, stderr });
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

function tellLines(
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

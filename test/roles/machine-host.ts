import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Machine } from '../../mocks/host/machine.ts';
import { nsenterOptions, runCommand } from '../../mocks/host/programs.ts';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
} from '../../src/adapters/host/command-failures.ts';
import { lineSplitter } from '../../src/adapters/host/spawn.ts';
import { chunksOf, watchFiles } from '../../src/adapters/host/host-files.ts';
import { seconds } from '../../src/model/duration.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { CommandResult, ExecOptions, Host, WrittenFile } from '../../src/ports/host.ts';

/** Ends a process between two of its commands. */
export interface Power {
  /** Throws when the agent has crashed; called before each command. */
  readonly check: () => void;
}

/** The moment of a command's failure: before or after its effect. */
export type CommandFault = 'before' | 'after';

/** The process of an agent, for its host. */
interface Agent extends Power {
  /** Decides for each command whether it fails. */
  readonly faultOf?: ((argv: readonly string[]) => CommandFault | undefined) | undefined;
  /** Called when the agent has begun or ended an action that may change the host. */
  readonly moved: () => void;
}

/**
 * The host port on a simulated host in this process: the lab's own model, without child processes.
 */
export function machineHost(machine: Machine, agent: Agent): Host {
  const held = new Set<string>();
  const place = (path: string) => Promise.resolve({ at: machine.files.real(path), path });
  const doing = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    agent.check();
    agent.moved();
    return work().finally(agent.moved);
  };
  return {
    exec: (argv, options) =>
      doing(() => runOn(machine, argv, { ...options, fault: agent.faultOf?.(argv) })),
    readText: async (path) => readHostFile(await place(path)),
    writeFile: (path, content, options) =>
      doing(async () => writeHostFile(await place(path), content, options)),
    remove: async (path) => {
      agent.moved();
      removeHostFile(await place(path));
    },
    list: async (path) => listHostFiles(await place(path)),
    realPath: async (path) => {
      const device = machine.devices.byPath(path);
      if (device !== undefined) return `/dev/${device.kname}`;
      const { at } = await place(path);
      return existsSync(at) ? path : undefined;
    },
    watch: (paths, changed, signal) =>
      watchFiles({ root: machine.files.root, pollInterval: 10, paths, signal }, changed),
    lock: (name) => {
      if (held.has(name)) return Promise.resolve(undefined);
      held.add(name);
      return Promise.resolve({ release: () => Promise.resolve(void held.delete(name)) });
    },
  };
}

async function runOn(
  machine: Machine,
  argv: readonly string[],
  options: ExecOptions & { readonly fault: CommandFault | undefined },
): Promise<CommandResult> {
  if (options.fault === 'before') throw faulted(argv);
  let stdout = '';
  let stderr = '';
  const lines = {
    stdout: lineSplitter((line) => options.onLine?.(line, 'stdout')),
    stderr: lineSplitter((line) => options.onLine?.(line, 'stderr')),
  };
  const exitCode = await runCommand(machine, {
    argv: [...nsenterOptions, ...argv],
    env: options.env ?? {},
    stdin: nothing(),
    signal: options.signal,
    out: (text) => {
      stdout += text;
      lines.stdout.push(text);
    },
    err: (text) => {
      stderr += text;
      lines.stderr.push(text);
    },
  });
  // A command takes time: other work continues before its caller gets the result.
  await nextTurn();
  const story = { argv, duration: 0, stdout, stderr };
  if (options.signal.aborted) throw commandStopped(story, options.signal.reason);
  if (options.fault === 'after') throw faulted(argv);
  if (exitCode === 127) throw commandNotFound(story);
  if (!(options.accept ?? [0]).includes(exitCode)) throw commandFailed(story, { exitCode });
  return { exitCode, stdout: stdout.trim(), stderr: stderr.trim(), duration: 0 };
}

/** A fault that no caller accepts as an answer. */
const faulted = (argv: readonly string[]): Error =>
  commandFailed({ argv, duration: 0, stdout: '', stderr: 'the fault of a test' }, { exitCode: 99 });

async function* nothing(): AsyncGenerator<Uint8Array> {
  // No command of a role reads its input.
}

// The adapter flushes each file that it writes and makes each call in a thread: that is most of the
// time of a process, and has no use on a machine in this process that never loses its power. The
// contract suite tests the adapter.

/** A path on this machine, and the same path on the host. */
interface Place {
  readonly at: string;
  readonly path: string;
}

/** The complete text of a file; undefined if absent. */
const readHostFile = ({ at, path }: Place): string | undefined =>
  orWithout(undefined, path, () => readFileSync(at, 'utf8'));

/** Sorted names in a directory; empty if the directory is missing. */
const listHostFiles = ({ at, path }: Place): readonly string[] =>
  orWithout([], path, () => readdirSync(at).sort());

/** Removes a file if it exists. */
const removeHostFile = ({ at }: Place): void => rmSync(at, { force: true });

/** Writes a complete file: to another name, then renamed. */
async function writeHostFile(
  { at, path }: Place,
  content: Parameters<Host['writeFile']>[1],
  { signal, mode = 0o600 }: Parameters<Host['writeFile']>[2],
): Promise<WrittenFile> {
  const temporary = join(dirname(at), `.${basename(at)}.part`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(content)) {
    signal.throwIfAborted();
    chunks.push(chunk);
  }
  signal.throwIfAborted();
  const whole = Buffer.concat(chunks);
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, whole, { mode });
    renameSync(temporary, at);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw hostFailure('file.not-written', `${path} cannot be written`, {
      context: { path },
      cause,
    });
  }
  const sha256 = createHash('sha256').update(whole).digest('hex');
  return { path, bytes: whole.length, sha256 };
}

function orWithout<Found>(none: Found, path: string, check: () => Found): Found {
  try {
    return check();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return none;
    throw hostFailure('file.not-read', `${path} cannot be read`, { context: { path }, cause });
  }
}

/** Pauses between attempts are at most this long; a longer sleep is a limit. */
const longestPause = seconds(20);

/**
 * A clock for steps that run against a model with real files: pauses end at once, and no limit ever
 * passes.
 */
export const briskClock = (): Clock => ({
  now: () => 0,
  elapsed: () => 0,
  sleep: (duration, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      if (duration <= longestPause) setImmediate(resolve);
    }),
});

import { existsSync } from 'node:fs';
import type { Machine } from '../../mocks/host/machine.ts';
import { nsenterOptions, runCommand } from '../../mocks/host/run-command.ts';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
} from '../../src/adapters/host/command-failures.ts';
import {
  listDirect,
  readDirect,
  removeDirect,
  writeDirect,
} from '../../src/adapters/host/direct-files.ts';
import { lineSplitter } from '../../src/adapters/host/lines.ts';
import { type WatchedHost, watchPaths } from '../../src/adapters/host/watch-paths.ts';
import { seconds } from '../../src/model/duration.ts';
import type { CommandResult, ExecOptions, Host } from '../../src/ports/host.ts';

/** What ends a process between two of its commands. */
export interface Power {
  /** Throws when the agent has died; called before each command. */
  readonly check: () => void;
}

/** The host port on a simulated host in this process: the lab's own model, without any process. */
export function machineHost(machine: Machine, power: Power): Host {
  const held = new Set<string>();
  const place = async (path: string) => ({ at: await machine.files.real(path), path });
  return {
    exec: async (argv, options) => {
      power.check();
      return runOn(machine, argv, options);
    },
    readText: async (path) => readDirect(await place(path)),
    writeFile: async (path, content, options) => {
      power.check();
      return writeDirect(await place(path), content, options);
    },
    remove: async (path) => removeDirect(await place(path)),
    list: async (path) => listDirect(await place(path)),
    realPath: async (path) => {
      const device = machine.devices.byPath(path);
      if (device !== undefined) return `/dev/${device.kname}`;
      return existsSync(await machine.files.real(path)) ? path : undefined;
    },
    watch: (paths, changed, signal) => watchPaths(everything(machine), { paths, changed }, signal),
    lock: (name) => {
      if (held.has(name)) return Promise.resolve(undefined);
      held.add(name);
      return Promise.resolve({ release: () => Promise.resolve(void held.delete(name)) });
    },
  };
}

/** Every file of a simulated host lies in a directory of its own, where events tell of it. */
const everything = ({ files }: Machine): WatchedHost => ({
  files: { root: files.root, isShared: () => true, isAboveShared: () => true },
  look: () => Promise.resolve(''),
  every: seconds(5),
});

async function runOn(
  machine: Machine,
  argv: readonly string[],
  options: ExecOptions,
): Promise<CommandResult> {
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
  const story = { argv, duration: 0, stdout, stderr };
  if (options.signal.aborted) throw commandStopped(story, options.signal.reason);
  if (exitCode === 127) throw commandNotFound(story);
  if (!(options.accept ?? [0]).includes(exitCode)) throw commandFailed(story, { exitCode });
  return { exitCode, stdout: stdout.trim(), stderr: stderr.trim(), duration: 0 };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // No command of a role reads its input.
}

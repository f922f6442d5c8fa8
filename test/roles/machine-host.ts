import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Machine } from '../../mocks/host/machine.ts';
import { nsenterOptions, runCommand } from '../../mocks/host/programs.ts';
import {
  commandFailed,
  commandNotFound,
  commandStopped,
} from '../../src/adapters/host/command-failures.ts';
import { lineSplitter } from '../../src/adapters/host/lines.ts';
import { type WatchedHost, watchPaths } from '../../src/adapters/host/watch-paths.ts';
import { seconds } from '../../src/model/duration.ts';
import { listHostFiles, readHostFile, removeHostFile, writeHostFile } from './host-files.ts';
import type { CommandResult, ExecOptions, Host } from '../../src/ports/host.ts';

/** What ends a process between two of its commands. */
export interface Power {
  /** Throws when the agent has died; called before each command. */
  readonly check: () => void;
}

/** The life of an agent as its host sees it. */
interface Agent extends Power {
  /** Called when the agent has begun or ended something that may change the host. */
  readonly moved: () => void;
}

/** The host port on a simulated host in this process: the lab's own model, without any process. */
export function machineHost(machine: Machine, agent: Agent): Host {
  const held = new Set<string>();
  const place = async (path: string) => ({ at: await machine.files.real(path), path });
  const doing = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    agent.check();
    agent.moved();
    return work().finally(agent.moved);
  };
  return {
    exec: (argv, options) => doing(() => runOn(machine, argv, options)),
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
  // A command takes its time: what else is under way goes on before its caller hears of the end.
  await nextTurn();
  const story = { argv, duration: 0, stdout, stderr };
  if (options.signal.aborted) throw commandStopped(story, options.signal.reason);
  if (exitCode === 127) throw commandNotFound(story);
  if (!(options.accept ?? [0]).includes(exitCode)) throw commandFailed(story, { exitCode });
  return { exitCode, stdout: stdout.trim(), stderr: stderr.trim(), duration: 0 };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // No command of a role reads its input.
}

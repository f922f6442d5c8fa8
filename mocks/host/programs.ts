import { existsSync, readFileSync } from 'node:fs';
import type { Call, Program, Programs } from './call.ts';
import { copyingPrograms } from './commands/trees.ts';
import { writerPrograms } from './commands/coreos-installer.ts';
import { deployingPrograms } from './commands/deploying.ts';
import { firmwarePrograms } from './commands/efibootmgr.ts';
import { filePrograms } from './commands/files.ts';
import { listingPrograms } from './commands/lsblk.ts';
import { mountingPrograms } from './commands/filesystems.ts';
import { shellPrograms, systemPrograms, transientPrograms } from './commands/system.ts';
import { containerPrograms } from './commands/containers.ts';
import { movingPrograms } from './commands/rpm-ostree.ts';
import { unitPrograms } from './commands/systemctl.ts';
import type { Machine, RanCommand } from './machine.ts';

const bare: Programs = {
  ...containerPrograms,
  ...copyingPrograms,
  ...deployingPrograms,
  ...filePrograms,
  ...firmwarePrograms,
  ...listingPrograms,
  ...mountingPrograms,
  ...movingPrograms,
  ...systemPrograms,
  ...unitPrograms,
  ...writerPrograms,
};

const among = (programs: Programs, name: string): Program | undefined =>
  Object.hasOwn(programs, name) ? programs[name] : undefined;

const inBare = (name: string): Program | undefined => among(bare, name);

const programs: Programs = { ...bare, ...shellPrograms(inBare), ...transientPrograms(inBare) };

/** The stand-in for a program, or undefined if it is absent. */
const programNamed = (name: string): Program | undefined => among(programs, name);

/**
 * A script of the host: prints the text of its `echo` lines, with its variables replaced, and exits
 * with the code in its last line.
 */
function scriptNamed({ files }: Machine, name: string): Program | undefined {
  const at = files.real(name);
  if (!name.startsWith('/') || !existsSync(at)) return undefined;
  const script = readFileSync(at, 'utf8');
  return (_machine, { out, env }) => {
    for (const [, text = ''] of script.matchAll(/^echo (.*)$/gm)) {
      out(`${text.replaceAll(/\$(\w+)/g, (_, variable: string) => env[variable] ?? '')}\n`);
    }
    return Number(/^exit (\d+)$/m.exec(script)?.[1] ?? 0);
  };
}

/** The options of nsenter that the agent gives before the command. */
export const nsenterOptions = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'];

/** Exit code of nsenter for a missing command. */
const NOT_FOUND = 127;

/** Runs the command of a call of the stand-in nsenter; returns the exit code. */
export async function runCommand(machine: Machine, call: Call): Promise<number> {
  const isEntered = nsenterOptions.every((option, at) => call.argv[at] === option);
  const words = isEntered ? call.argv.slice(nsenterOptions.length) : call.argv;
  const { lock, argv } = underLock(words);
  if (lock !== undefined && machine.locks.has(lock.name)) return lock.conflict;
  const record: RanCommand = { argv, env: Object.keys(call.env), at: Date.now() };
  machine.ran.push(record);
  const [name = ''] = argv;
  const program = isEntered ? (programNamed(name) ?? scriptNamed(machine, name)) : undefined;
  if (program === undefined) {
    machine.unknown.push(argv.join(' '));
    call.err(`nsenter: failed to execute ${name}: No such file or directory\n`);
    record.exitCode = NOT_FOUND;
    return NOT_FOUND;
  }
  if (lock !== undefined) machine.locks.add(lock.name);
  try {
    record.exitCode = await program(machine, { ...call, argv });
  } finally {
    if (lock !== undefined) machine.locks.delete(lock.name);
  }
  return record.exitCode;
}

/** Replaces `flock --no-fork` by the command behind the file of its lock. */
function underLock(words: readonly string[]): {
  readonly lock?: { readonly name: string; readonly conflict: number };
  readonly argv: readonly string[];
} {
  const [conflict, name = '', ...argv] = words.slice(words.indexOf('--conflict-exit-code') + 1);
  if (words[0] !== 'flock' || argv.length === 0 || argv[0] === 'cat') return { argv: words };
  return { lock: { name, conflict: Number(conflict) }, argv };
}

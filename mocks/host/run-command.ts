import type { Call } from './call.ts';
import type { Machine, RanCommand } from './machine.ts';
import { programNamed } from './programs.ts';

/** The options that the agent gives to nsenter before the command. */
export const nsenterOptions = ['--target', '1', '--cgroup', '--mount', '--ipc', '--pid', '--'];

/** Exit code of a command that is not there, as nsenter has it. */
const NOT_FOUND = 127;

/** Runs what the stand-in nsenter was called with; gives the exit code. */
export async function runCommand(machine: Machine, call: Call): Promise<number> {
  const isEntered = nsenterOptions.every((option, at) => call.argv[at] === option);
  const argv = isEntered ? call.argv.slice(nsenterOptions.length) : call.argv;
  const record: RanCommand = { argv, env: Object.keys(call.env), at: Date.now() };
  machine.ran.push(record);
  const [name = ''] = argv;
  const program = isEntered ? programNamed(name) : undefined;
  if (program === undefined) {
    machine.unknown.push(argv.join(' '));
    call.err(`nsenter: failed to execute ${name}: No such file or directory\n`);
    record.exitCode = NOT_FOUND;
    return NOT_FOUND;
  }
  record.exitCode = await program(machine, { ...call, argv });
  return record.exitCode;
}

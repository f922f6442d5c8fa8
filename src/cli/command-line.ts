import { nearestName } from '../lib/nearest.ts';
import { type CommandName, commands, isCommandName } from './commands.ts';
import { cliFailure } from './failures.ts';

/** A command with the words behind it. */
export interface CommandLine {
  readonly command: CommandName;
  readonly words: readonly string[];
}

/**
 * Tells which command a line means: flags alone, or nothing at all, mean `install`.
 * @param argv the words behind the name of the program
 * @throws AgentError `cli.unknown-command`
 */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const [first, ...words] = argv;
  if (first === undefined || first.startsWith('-')) return { command: 'install', words: argv };
  if (isCommandName(first)) return { command: first, words };
  const near = nearestName(first, Object.keys(commands));
  throw cliFailure('cli.unknown-command', `command ${JSON.stringify(first)} does not exist`, {
    ...(near === undefined ? {} : { hint: `did you mean bootwright ${near}` }),
    context: { command: first },
  });
}

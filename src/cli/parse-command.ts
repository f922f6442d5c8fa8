import { Command, CommanderError, Option } from 'commander';
import { flagFailure } from '../config/failures.ts';
import { nearestName } from '../lib/nearest.ts';
import { AgentError } from '../model/failure.ts';
import type { ArgumentRow, OptionRow, ValueRow } from './command-row.ts';
import { findCommand, type CommandPlace } from './commands.ts';
import { cliFailure } from './failures.ts';
import { handlers, type ParsedLine } from './handlers.ts';
import type { CommandCall } from './program.ts';

/** A parsed command; runs it and resolves with the exit code. */
type ReadyCommand = () => Promise<number>;

/**
 * Parses every command but `install`, by its row. A command has few options of its own; every other flag is one of an
 * install: `plan` takes the same command line.
 * @throws AgentError `cli.bad-flag`, `cli.unknown-command`, `cli.unknown-flag`
 */
export async function parseCommand(call: CommandCall): Promise<ReadyCommand> {
  const { place, args } = findCommand([call.command, ...call.args]);
  const handler = handlerOf(place);
  const line = await readLine(place, args);
  return async () => {
    try {
      return await handler({ ...line, environment: call.environment });
    } catch (thrown) {
      throw withOwnOptions(thrown, place);
    }
  };
}

/** @throws AgentError `cli.unknown-command` where the place is one of several commands */
function handlerOf({ path, row }: CommandPlace): (line: ParsedLine) => Promise<number> {
  const name = path.join(' ');
  const handler = (handlers as Partial<Record<string, (line: ParsedLine) => Promise<number>>>)[
    name
  ];
  if (handler !== undefined) return handler;
  throw cliFailure('cli.unknown-command', `\`${name}\` needs a subcommand`, {
    hint: `run bootwright ${name} with one of ${Object.keys(row.commands ?? {}).join(', ')}`,
  });
}

/** @throws AgentError `cli.bad-flag`, `cli.unknown-flag` */
async function readLine(
  place: CommandPlace,
  args: readonly string[],
): Promise<Omit<ParsedLine, 'environment'>> {
  const command = commandOf(place);
  try {
    await command.parseAsync(args, { from: 'user' });
  } catch (thrown) {
    throw thrown instanceof CommanderError ? misuse(thrown, place) : thrown;
  }
  requireOptions(place, command);
  const isInstallLine = place.row.takesInstallFlags === true;
  return {
    options: command.opts(),
    values: isInstallLine ? [] : command.args,
    argv: isInstallLine ? command.args : [],
  };
}

/** A mistyped option is refused as that, before another is found missing: commander does it the other way round. */
function requireOptions(place: CommandPlace, command: Command): void {
  for (const [name, { isRequired, value }] of Object.entries(place.row.options ?? {})) {
    const given: unknown = command.getOptionValue(new Option(`--${name}`).attributeName());
    if (isRequired !== true || given !== undefined) continue;
    const usage = `--${name} ${value?.placeholder ?? ''}`.trim();
    throw flagFailure('cli.bad-flag', `\`${place.path.join(' ')}\`: ${usage} is missing`, {
      hint: pageHint(place),
    });
  }
}

function commandOf(place: CommandPlace): Command {
  const { path, row } = place;
  const command = new Command(path.join(' '))
    .helpOption(false)
    .showSuggestionAfterError(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .action(() => undefined);
  for (const [name, option] of Object.entries(row.options ?? {})) {
    command.addOption(optionOf(place, name, option));
  }
  const { argument } = row;
  if (argument !== undefined) {
    command.argument(usageOf(argument), argument.summary, valueReader(place, argument));
  }
  return row.takesInstallFlags === true
    ? command.allowUnknownOption().allowExcessArguments()
    : command;
}

function optionOf(place: CommandPlace, name: string, row: OptionRow): Option {
  const { summary, value, isRepeatable, byDefault } = row;
  const flags = value === undefined ? `--${name}` : `--${name} <${value.placeholder}>`;
  const option = new Option(flags, summary).default(value === undefined ? false : byDefault);
  if (isRepeatable === true) return option.argParser(collect);
  return value === undefined
    ? option
    : option.argParser(valueReader(place, { ...value, placeholder: `--${name}` }));
}

const usageOf = ({ placeholder, isRepeatable, isOptional }: ArgumentRow): string => {
  const name = `${placeholder}${isRepeatable === true ? '...' : ''}`;
  return isOptional === true ? `[${name}]` : `<${name}>`;
};

const collect = (value: string, earlier: readonly string[] = []): readonly string[] => [
  ...earlier,
  value,
];

/** Takes the words of a value only, and otherwise says which one was probably meant. */
const valueReader =
  (place: CommandPlace, { placeholder, words }: ValueRow) =>
  (value: string): string => {
    if (words === undefined || words.includes(value)) return value;
    const near = nearestName(value, words);
    throw flagFailure(
      'cli.bad-flag',
      `\`${place.path.join(' ')}\`: ${placeholder}: ${JSON.stringify(value)} is not one of ${words.join(', ')}`,
      { hint: near === undefined ? pageHint(place) : `did you mean ${near}` },
    );
  };

const pageHint = ({ path }: CommandPlace): string => `see "bootwright help ${path.join(' ')}"`;

function misuse({ message, code }: CommanderError, place: CommandPlace): AgentError {
  const text = message.replace(/^error: /, '').replace(/\.$/, '');
  const flag = /'--?([^'=]+)/.exec(message)?.[1] ?? '';
  const near =
    code === 'commander.unknownOption'
      ? nearestName(flag, Object.keys(place.row.options ?? {}))
      : undefined;
  return flagFailure('cli.bad-flag', `\`${place.path.join(' ')}\`: ${text}`, {
    hint: near === undefined ? pageHint(place) : `did you mean --${near}`,
  });
}

/** The code of an install knows its own flags only; the one that was meant may be an option of the command. */
function withOwnOptions(thrown: unknown, { row }: CommandPlace): unknown {
  if (!(thrown instanceof AgentError) || thrown.code !== 'cli.unknown-flag') return thrown;
  const { message, context } = thrown;
  const near = nearestName(String(context['flag']), Object.keys(row.options ?? {}));
  if (near === undefined) return thrown;
  return flagFailure('cli.unknown-flag', message, { hint: `did you mean --${near}`, context });
}

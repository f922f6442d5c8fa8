import type { Argument, Command, Option } from 'commander';
import { installUsage } from './commands.ts';
import type { shells } from './commands.ts';

/** A shell that a completion script exists for. */
type Shell = (typeof shells)[number];

/**
 * The completion script of a shell, to be sourced or installed.
 * @param root the tree of commands; all that can be completed comes from it
 */
export function completionScript(shell: Shell, root: Command): string {
  switch (shell) {
    case 'bash':
      return bashScript(root);
    case 'zsh':
      return `#compdef bootwright\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(root)}`;
    case 'fish':
      return fishScript(root);
  }
}

/** A command with the names that lead to it, `['config', 'show']`; the root has none. */
interface Place {
  readonly path: readonly string[];
  readonly command: Command;
}

const placesIn = (command: Command, path: readonly string[] = []): readonly Place[] => [
  { path, command },
  ...command.commands.flatMap((below) => placesIn(below, [...path, below.name()])),
];

/** Flags alone mean `install`, and some commands take its flags too. */
const takesInstallFlags = ({ path, command }: Place): boolean =>
  path.length === 0 || path[0] === 'install' || command.usage() === installUsage;

/** The flags of an install come with the command `install` alone. */
const installOptions = (root: Command): readonly Option[] =>
  root.commands.find((command) => command.name() === 'install')?.options ?? [];

const ownOptions = ({ path, command }: Place): readonly Option[] =>
  path[0] === 'install' ? [] : command.options;

const spellings = ({ short, long }: Option): readonly string[] =>
  [short, long].filter((flag) => flag !== undefined);

const takesValue = ({ required, optional }: Option): boolean => required || optional;

/** What may follow a command: its subcommands, or the choices of its first argument. */
const wordsAfter = ({ command }: Place): readonly string[] => [
  ...command.commands.map((below) => below.name()),
  ...(command.registeredArguments[0]?.argChoices ?? []),
];

const takesFiles = (argument: Argument | undefined): boolean => argument?.name() === 'file';

function bashScript(root: Command): string {
  const places = placesIn(root);
  const nested = places.filter(({ path }) => path.length > 0);
  const install = installOptions(root);
  return [
    '_bootwright() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at= flags= words= i',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    case "$at ${COMP_WORDS[i]}" in',
    `      ${nested.map(quotedPath).join(' | ')}) at+=" \${COMP_WORDS[i]}" ;;`,
    '    esac',
    '  done',
    '  case "$at" in',
    ...places.map((place) => `    ${quotedPath(place)}) ${offers(place)} ;;`),
    '  esac',
    '  case "$at" in',
    `    ${places.filter(takesInstallFlags).map(quotedPath).join(' | ')})`,
    `      flags+=" ${install.flatMap(spellings).join(' ')}" ;;`,
    '  esac',
    '  case "$at $prev" in',
    ...places.flatMap((place) =>
      valueCases(ownOptions(place), (flag) => `'${[...pathOf(place), flag].join(' ')}'`),
    ),
    ...valueCases(install, (flag) => `*' ${flag}'`),
    '    *) [[ "$cur" == -* ]] && words="$flags" ;;',
    '  esac',
    '  if [[ "$words" == "<file>" ]]; then',
    '    COMPREPLY=($(compgen -f -- "$cur"))',
    '  else',
    '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '  fi',
    '}',
    'complete -o filenames -F _bootwright bootwright',
    '',
  ].join('\n');
}

/** A blank before each name, as the script collects them. */
const pathOf = ({ path }: Place): readonly string[] => ['', ...path];

const quotedPath = (place: Place): string => `'${pathOf(place).join(' ')}'`;

function offers(of: Place): string {
  const words = takesFiles(of.command.registeredArguments[0]) ? '<file>' : wordsAfter(of).join(' ');
  return `flags="${ownOptions(of).flatMap(spellings).join(' ')}" words="${words}"`;
}

/** What completes the value of each option: its choices, or else files. */
function valueCases(
  options: readonly Option[],
  pattern: (flag: string) => string,
): readonly string[] {
  const patterns = (of: readonly Option[]): string =>
    of.flatMap(spellings).map(pattern).join(' | ');
  const valued = options.filter(takesValue);
  const chosen = valued.flatMap((option) => {
    const words = option.argChoices?.join(' ');
    return words === undefined ? [] : [`    ${patterns([option])}) words="${words}" ;;`];
  });
  const others = valued.filter(({ argChoices }) => argChoices === undefined);
  return others.length === 0 ? chosen : [...chosen, `    ${patterns(others)}) words="<file>" ;;`];
}

function fishScript(root: Command): string {
  const start = 'complete -c bootwright';
  const seen = (path: readonly string[]): string =>
    path.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ');
  const summaryOf = (text: string): string =>
    text === '' ? '' : ` -d '${text.replaceAll("'", '')}'`;
  const flag = (option: Option): readonly string[] =>
    spellings(option).map((spelling) => {
      const dashes = spelling.startsWith('--')
        ? `-l ${spelling.slice(2)}`
        : `-s ${spelling.slice(1)}`;
      const values =
        option.argChoices === undefined
          ? takesValue(option)
            ? ' -r -F'
            : ''
          : ` -x -a '${option.argChoices.join(' ')}'`;
      return `${dashes}${values}${summaryOf(option.description)}`;
    });
  const places = placesIn(root).filter(({ path }) => path.length > 0);
  return [
    ...root.commands.map(
      (command) =>
        `${start} -n __fish_use_subcommand -f -a ${command.name()}${summaryOf(command.description())}`,
    ),
    ...places.flatMap((of) => {
      const words = wordsAfter(of);
      return words.length === 0
        ? []
        : [`${start} -n '${seen(of.path)}' -f -a '${words.join(' ')}'`];
    }),
    ...places.flatMap((of) =>
      ownOptions(of)
        .flatMap(flag)
        .map((text) => `${start} -n '${seen(of.path)}' ${text}`),
    ),
    ...installOptions(root)
      .flatMap(flag)
      .map((text) => `${start} ${text}`),
    '',
  ].join('\n');
}

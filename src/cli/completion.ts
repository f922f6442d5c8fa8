import { installFlags, type OfferedFlag } from '../config/flags.ts';
import { flagName } from '../config/go-flags.ts';
import type { CommandRow, OptionRow, ValueRow } from './command-row.ts';
import { type CommandPlace, commandsBelow, root } from './commands.ts';
import { shellQuoted } from './messages.ts';

/** The completion scripts of shells. They are whole: none calls the program. */
export const completionScripts: Readonly<Record<string, () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** A flag as a person writes it, `--format`, and what may follow it. */
interface Flag {
  readonly flag: string;
  readonly summary: string;
  readonly value?: Pick<ValueRow, 'completes' | 'words'>;
}

const optionFlag = ([name, { summary, value }]: readonly [string, OptionRow]): Flag => ({
  flag: `--${name}`,
  summary,
  ...(value === undefined ? {} : { value }),
});

const installFlag = ({ name, summary, isBoolean, choices, isPath }: OfferedFlag): Flag => ({
  flag: flagName(name),
  summary: summary.replace(/;.*/s, ''),
  ...(isBoolean
    ? {}
    : choices === undefined
      ? { value: { completes: isPath ? 'files' : 'nothing' } as const }
      : { value: { completes: 'words', words: choices } as const }),
});

/** Flags alone mean `install`, and some commands take its flags too. */
const takesInstallFlags = ({ path, row }: CommandPlace): boolean =>
  path.length === 0 || row.takesInstallFlags === true;

/** Only what is not a flag of an install too. */
const ownFlags = (place: CommandPlace): readonly Flag[] => [
  ...Object.entries(place.row.options ?? {}).map(optionFlag),
  ...(takesInstallFlags(place) || place.path[0] === 'help'
    ? []
    : [{ flag: '--help', summary: 'print the help page' }]),
];

/** Every place of a command line; `help` is followed by the names of the commands. */
const places = (): readonly CommandPlace[] => {
  const real = commandsBelow(root).filter(({ path }) => path[0] !== 'help');
  const named = real.map(({ path, row }) => ({ path: ['help', ...path], row: namesOnly(row) }));
  return [...real, ...named];
};

const namesOnly = ({ summary, commands }: CommandRow): CommandRow => ({
  summary,
  ...(commands === undefined ? {} : { commands }),
});

/** A blank before each name, as the scripts collect them. */
const pathText = (path: readonly string[]): string => path.map((name) => ` ${name}`).join('');

const quotedPath = ({ path }: CommandPlace): string => `'${pathText(path)}'`;

const paths = (of: readonly CommandPlace[], between: string): string =>
  of.map(quotedPath).join(between);

const named = (of: readonly CommandPlace[]): readonly CommandPlace[] =>
  of.filter(({ path }) => path.length > 0);

interface Values {
  /** What the place and the flag are matched by, in the quotes of a shell. */
  readonly patterns: readonly string[];
  readonly value: NonNullable<Flag['value']>;
}

/** The values of flags, those with the same values together; a flag of one command before one of an install. */
function valuesIn(all: readonly CommandPlace[]): readonly Values[] {
  const groups = new Map<string, Values>();
  const add = (pattern: string, value: NonNullable<Flag['value']>, where: string): void => {
    const key = `${where} ${value.completes} ${(value.words ?? []).join(' ')}`;
    const patterns = [...(groups.get(key)?.patterns ?? []), pattern];
    groups.set(key, { patterns, value });
  };
  for (const place of all) {
    for (const { flag, value } of ownFlags(place)) {
      if (value !== undefined) add(`'${pathText(place.path)} ${flag}'`, value, 'own');
    }
  }
  for (const { flag, value } of installFlags().map(installFlag)) {
    if (value !== undefined) add(`*' ${flag}'`, value, 'install');
  }
  return [...groups.values()];
}

function bashScript(): string {
  const all = places();
  const install = installFlags().map(({ name }) => flagName(name));
  const answer = ({ completes, words = [] }: NonNullable<Flag['value']>): string =>
    completes === 'words' ? `words="${words.join(' ')}"` : `kind=${completes}`;
  return [
    '_bootwright() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" IFS=$\' \\t\\n\'',
    '  local at= flags= words= kind= argument= i',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    case "$at ${COMP_WORDS[i]}" in',
    `      ${paths(named(all), ' | ')}) at+=" \${COMP_WORDS[i]}" ;;`,
    '      *) break ;;',
    '    esac',
    '  done',
    '  # Bash takes the = of --flag=value for a word.',
    '  if [[ "$cur" == "=" ]]; then cur=',
    '  elif [[ "$prev" == "=" ]]; then prev="${COMP_WORDS[COMP_CWORD-2]}"; fi',
    '  [[ "$prev" == -[!-]?* ]] && prev="-$prev"',
    '  case "$at" in',
    ...all.map((place) => {
      const { argument, commands = {} } = place.row;
      const flags = ownFlags(place).map(({ flag }) => flag);
      return `    ${quotedPath(place)}) flags="${flags.join(' ')}" words="${Object.keys(commands).join(' ')}" argument="${argumentText(argument)}" ;;`;
    }),
    '  esac',
    '  case "$at" in',
    `    ${paths(all.filter(takesInstallFlags), ' | ')}) flags+=" ${install.join(' ')}" ;;`,
    '  esac',
    '  ((i == COMP_CWORD)) || words=',
    '  case "$at $prev" in',
    ...valuesIn(all).map(
      ({ patterns, value }) =>
        `    ${patterns.join(' | ')}) words= argument= flags= ${answer(value)} ;;`,
    ),
    '  esac',
    '  if [[ "$cur" == -* ]]; then words="$flags"',
    '  elif [[ "$argument" == files ]]; then kind=files',
    '  elif [[ -n "$argument" ]]; then words="$argument"; fi',
    '  case "$kind" in',
    '    files | directories)',
    '      compopt -o filenames 2>/dev/null',
    "      local IFS=$'\\n' of=f",
    '      [[ "$kind" == directories ]] && of=d',
    '      COMPREPLY=($(compgen "-$of" -- "$cur")) ;;',
    '    *) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;',
    '  esac',
    '}',
    'complete -F _bootwright bootwright',
    '',
  ].join('\n');
}

const argumentText = (argument: CommandRow['argument']): string =>
  argument?.words?.join(' ') ?? (argument?.completes === 'files' ? 'files' : '');

const described = (name: string, summary: string): string => shellQuoted(`${name}:${summary}`);

const zshAnswer = ({ completes, words = [] }: NonNullable<Flag['value']>): string =>
  completes === 'words'
    ? `compadd -- ${words.join(' ')}`
    : (({ files: '_files', directories: '_files -/' } as Partial<Record<string, string>>)[
        completes
      ] ?? `_message value`);

const zshList = (flags: readonly Flag[]): string =>
  flags.map(({ flag, summary }) => described(flag, summary)).join(' ');

function zshScript(): string {
  const all = places();
  return [
    '#compdef bootwright',
    '',
    '_bootwright() {',
    '  local at= cur="$words[CURRENT]" prev="$words[CURRENT-1]" i',
    '  local -a commands flags',
    '  for ((i = 2; i < CURRENT; i++)); do',
    '    case "$at $words[i]" in',
    `      (${paths(named(all), '|')}) at+=" $words[i]" ;;`,
    '      (*) break ;;',
    '    esac',
    '  done',
    '  if [[ "$cur" == -*=* ]]; then',
    '    prev="${cur%%=*}"',
    "    compset -P '*='",
    '  fi',
    '  [[ "$prev" == -[^-]?* ]] && prev="-$prev"',
    '  case "$at $prev" in',
    ...valuesIn(all).map(
      ({ patterns, value }) => `    (${patterns.join('|')}) ${zshAnswer(value)}; return ;;`,
    ),
    '  esac',
    '  case "$at" in',
    ...all.map((place) => {
      const below = Object.entries(place.row.commands ?? {});
      const names = below.map(([name, { summary }]) => described(name, summary));
      return `    (${quotedPath(place)}) flags=(${zshList(ownFlags(place))}) commands=(${names.join(' ')}) ;;`;
    }),
    '  esac',
    '  case "$at" in',
    `    (${paths(all.filter(takesInstallFlags), '|')}) flags+=(${zshList(installFlags().map(installFlag))}) ;;`,
    '  esac',
    '  if [[ "$cur" == -* ]]; then',
    "    _describe -o 'option' flags",
    '    return',
    '  fi',
    "  ((i == CURRENT && $#commands)) && _describe 'command' commands",
    '  case "$at" in',
    ...all.flatMap((place) => {
      const { argument } = place.row;
      return argument === undefined ? [] : [`    (${quotedPath(place)}) ${zshAnswer(argument)} ;;`];
    }),
    '  esac',
    '}',
    '',
    'if [[ "$funcstack[1]" == _bootwright ]]; then _bootwright "$@"; else compdef _bootwright bootwright; fi',
    '',
  ].join('\n');
}

const fishQuoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const fishFunctions = (all: readonly CommandPlace[]): readonly string[] => [
  '# Prints the commands that the line names, and whether anything follows them.',
  'function __bootwright_place',
  "    set -l at ''",
  '    set -l behind none',
  '    for word in (commandline -opc)[2..-1]',
  '        switch "$at $word"',
  `            case ${paths(named(all), ' ')}`,
  '                set at "$at $word"',
  "            case '*'",
  '                set behind some',
  '                break',
  '        end',
  '    end',
  '    echo "$behind$at"',
  'end',
  'function __bootwright_at',
  "    contains -- (string replace -r '^(none|some)' '' -- (__bootwright_place)) $argv",
  'end',
  'function __bootwright_next',
  '    test (__bootwright_place) = "none$argv"',
  'end',
];

function fishScript(): string {
  const all = places();
  const start = 'complete -c bootwright';
  const answer = ({ completes, words = [] }: NonNullable<Flag['value']>): string =>
    (
      ({
        words: `-x -a '${words.join(' ')}'`,
        files: '-r -F',
        directories: "-x -a '(__fish_complete_directories)'",
      }) as Partial<Record<string, string>>
    )[completes] ?? '-x';
  const flagText = ({ flag, summary, value }: Flag): string =>
    [
      flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      ...(value === undefined ? [] : [answer(value)]),
      `-d ${fishQuoted(summary)}`,
    ].join(' ');
  const at = (of: readonly CommandPlace[]): string => `-n "__bootwright_at ${paths(of, ' ')}"`;
  const next = (place: CommandPlace): string => `-n "__bootwright_next ${quotedPath(place)}"`;
  return [
    ...fishFunctions(all),
    `${start} -f`,
    ...all.flatMap((place) =>
      Object.entries(place.row.commands ?? {}).map(
        ([name, { summary }]) => `${start} ${next(place)} -a ${name} -d ${fishQuoted(summary)}`,
      ),
    ),
    ...all.flatMap((place) => {
      const { argument } = place.row;
      const isOffered = argument?.completes === 'words' || argument?.completes === 'files';
      return isOffered ? [`${start} ${at([place])} ${answer(argument).replace('-r ', '')}`] : [];
    }),
    ...all.flatMap((place) =>
      ownFlags(place).map((flag) => `${start} ${at([place])} ${flagText(flag)}`),
    ),
    ...installFlags().map(
      (flag) => `${start} ${at(all.filter(takesInstallFlags))} ${flagText(installFlag(flag))}`,
    ),
    '',
  ].join('\n');
}

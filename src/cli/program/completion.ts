import type { Option } from 'commander';
import { installFlags, type OfferedFlag } from '../../config/flags.ts';
import { flagName } from '../../config/go-flags.ts';
import type { ProgramCommand } from '../command.ts';
import { shellQuoted } from '../messages.ts';

/** The completion scripts of shells, by the tree of commands. They are whole: none calls the program. */
export const completionScripts: Readonly<Record<string, (program: ProgramCommand) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** What completes a value: its words, names of files or directories, or nothing. */
interface Value {
  readonly completes: 'words' | 'files' | 'directories' | 'nothing';
  readonly words?: readonly string[];
}

/** A flag as a person writes it, `--format`, and what may follow it. */
interface Flag {
  readonly flag: string;
  readonly summary: string;
  readonly value?: Value;
}

/** A place of a command line: its words, and what may follow. */
interface Place {
  readonly path: readonly string[];
  readonly below: readonly ProgramCommand[];
  /** Only what is not a flag of an install too. */
  readonly flags: readonly Flag[];
  readonly takesInstallFlags: boolean;
  readonly argument?: Value;
}

/** By the choices of a value, else by its placeholder. */
function valueOf(form: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { completes: 'words', words: choices };
  if (/FILE\b/.test(form)) return { completes: 'files' };
  return { completes: form.includes('DIR') ? 'directories' : 'nothing' };
}

const optionFlag = (option: Option): Flag => ({
  flag: option.long ?? '',
  summary: option.description,
  ...(option.required ? { value: valueOf(option.flags, option.argChoices) } : {}),
});

const installFlag = ({ name, summary, isBoolean, choices, isPath }: OfferedFlag): Flag => ({
  flag: flagName(name),
  summary: summary.replace(/;.*/s, ''),
  ...(isBoolean ? {} : { value: valueOf(isPath ? 'FILE' : '', choices) }),
});

/** Every place of a command line; `help` is followed by the names of the commands. */
function placesOf(program: ProgramCommand): readonly Place[] {
  const commands = program.all.filter(({ path }) => path[0] !== 'help');
  return [
    ...commands.map((command) => {
      // Flags alone mean `install`, and some commands take its flags too.
      const takesInstallFlags = command === program || command.takesInstallFlags;
      const help = { flag: '--help', summary: 'print the help page' };
      const [argument] = command.registeredArguments;
      return {
        path: command.path,
        below: command.subcommands,
        flags: [...command.options.map(optionFlag), ...(takesInstallFlags ? [] : [help])],
        takesInstallFlags,
        ...(argument === undefined
          ? {}
          : { argument: valueOf(argument.name(), argument.argChoices) }),
      };
    }),
    ...commands.map(({ path, subcommands: below }) => ({
      ...{ path: ['help', ...path], below, flags: [], takesInstallFlags: false },
    })),
  ];
}

/** A blank before each name, as the scripts collect them. */
const pathText = (path: readonly string[]): string => path.map((name) => ` ${name}`).join('');

const quotedPath = ({ path }: Place): string => `'${pathText(path)}'`;

const paths = (of: readonly Place[], between: string): string => of.map(quotedPath).join(between);

const named = (of: readonly Place[]): readonly Place[] => of.filter(({ path }) => path.length > 0);

interface Values {
  /** What the place and the flag are matched by, in the quotes of a shell. */
  readonly patterns: readonly string[];
  readonly value: Value;
}

/** The values of flags, those with the same values together; a flag of one command before one of an install. */
function valuesIn(all: readonly Place[]): readonly Values[] {
  const groups = new Map<string, Values>();
  const add = (pattern: string, value: Value, where: string): void => {
    const key = `${where} ${value.completes} ${(value.words ?? []).join(' ')}`;
    const patterns = [...(groups.get(key)?.patterns ?? []), pattern];
    groups.set(key, { patterns, value });
  };
  for (const place of all) {
    for (const { flag, value } of place.flags) {
      if (value !== undefined) add(`'${pathText(place.path)} ${flag}'`, value, 'own');
    }
  }
  for (const { flag, value } of installFlags().map(installFlag)) {
    if (value !== undefined) add(`*' ${flag}'`, value, 'install');
  }
  return [...groups.values()];
}

function bashScript(program: ProgramCommand): string {
  const all = placesOf(program);
  const install = installFlags().map(({ name }) => flagName(name));
  const answer = ({ completes, words = [] }: Value): string =>
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
      const flags = place.flags.map(({ flag }) => flag);
      const names = place.below.map((command) => command.name());
      return `    ${quotedPath(place)}) flags="${flags.join(' ')}" words="${names.join(' ')}" argument="${argumentText(place.argument)}" ;;`;
    }),
    '  esac',
    '  case "$at" in',
    `    ${paths(takingInstallFlags(all), ' | ')}) flags+=" ${install.join(' ')}" ;;`,
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

const takingInstallFlags = (all: readonly Place[]): readonly Place[] =>
  all.filter(({ takesInstallFlags }) => takesInstallFlags);

const argumentText = (argument: Place['argument']): string =>
  argument?.words?.join(' ') ?? (argument?.completes === 'files' ? 'files' : '');

const described = (name: string, summary: string): string => shellQuoted(`${name}:${summary}`);

const zshAnswer = ({ completes, words = [] }: Value): string =>
  completes === 'words'
    ? `compadd -- ${words.join(' ')}`
    : (({ files: '_files', directories: '_files -/' } as Partial<Record<string, string>>)[
        completes
      ] ?? `_message value`);

const zshList = (flags: readonly Flag[]): string =>
  flags.map(({ flag, summary }) => described(flag, summary)).join(' ');

function zshScript(program: ProgramCommand): string {
  const all = placesOf(program);
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
      const names = place.below.map((command) => described(command.name(), command.summary()));
      return `    (${quotedPath(place)}) flags=(${zshList(place.flags)}) commands=(${names.join(' ')}) ;;`;
    }),
    '  esac',
    '  case "$at" in',
    `    (${paths(takingInstallFlags(all), '|')}) flags+=(${zshList(installFlags().map(installFlag))}) ;;`,
    '  esac',
    '  if [[ "$cur" == -* ]]; then',
    "    _describe -o 'option' flags",
    '    return',
    '  fi',
    "  ((i == CURRENT && $#commands)) && _describe 'command' commands",
    '  case "$at" in',
    ...all.flatMap((place) => {
      const { argument } = place;
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

const fishFunctions = (all: readonly Place[]): readonly string[] => [
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

function fishScript(program: ProgramCommand): string {
  const all = placesOf(program);
  const start = 'complete -c bootwright';
  const answer = ({ completes, words = [] }: Value): string =>
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
  const at = (of: readonly Place[]): string => `-n "__bootwright_at ${paths(of, ' ')}"`;
  const next = (place: Place): string => `-n "__bootwright_next ${quotedPath(place)}"`;
  return [
    ...fishFunctions(all),
    `${start} -f`,
    ...all.flatMap((place) =>
      place.below.map(
        (command) =>
          `${start} ${next(place)} -a ${command.name()} -d ${fishQuoted(command.summary())}`,
      ),
    ),
    ...all.flatMap((place) => {
      const { argument } = place;
      const isOffered = argument?.completes === 'words' || argument?.completes === 'files';
      return isOffered ? [`${start} ${at([place])} ${answer(argument).replace('-r ', '')}`] : [];
    }),
    ...all.flatMap((place) =>
      place.flags.map((flag) => `${start} ${at([place])} ${flagText(flag)}`),
    ),
    ...installFlags().map(
      (flag) => `${start} ${at(takingInstallFlags(all))} ${flagText(installFlag(flag))}`,
    ),
    '',
  ].join('\n');
}

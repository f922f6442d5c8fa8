import { actionsOf, commands, layerFlags, listFormats, planFormats, shells } from './commands.ts';
import { settingKinds } from '../config/keys.ts';
import { flagRows } from './compat/flags.ts';
import { flagName } from './compat/go-flags.ts';
import { allFlagNames, lookUpFlag } from './compat/read-flags.ts';

/** A shell that a completion script exists for. */
export type Shell = (typeof shells)[number];

/** What may stand behind a word, by that word. */
function choicesAfter(): ReadonlyMap<string, readonly string[]> {
  const words = Object.entries(settingKinds).flatMap(([key, kind]) =>
    kind.kind === 'word' ? [[flagName(key), kind.words] as const] : [],
  );
  const roles = settingKinds.role.kind === 'word' ? settingKinds.role.words : [];
  return new Map<string, readonly string[]>([
    ...words,
    ['-r', roles],
    ['--high-availability-mode', ['Full', 'None']],
    ...Object.entries(actionsOf).map(
      ([command, actions]) => [command, Object.keys(actions)] as const,
    ),
    ['completion', shells],
  ]);
}

const everyFlag = (): readonly string[] => [...allFlagNames(), 'format'].map(flagName);

/** Flags behind which a path may stand: those with a value that is none of a few words. */
function flagsBeforePaths(): readonly string[] {
  const choices = choicesAfter();
  return allFlagNames()
    .filter((name) => lookUpFlag(name)?.isBoolean === false)
    .map(flagName)
    .filter((flag) => !choices.has(flag));
}

/** The completion script of a shell, to be sourced or installed. */
export function completionScript(shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bashScript();
    case 'zsh':
      return `#compdef bootwright\nautoload -U +X bashcompinit && bashcompinit\n${bashScript()}`;
    case 'fish':
      return fishScript();
  }
}

function bashScript(): string {
  const cases = [...choicesAfter()].map(
    ([word, choices]) =>
      `    ${word}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$cur")); return ;;`,
  );
  return [
    '_bootwright() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
    '  case "$prev" in',
    ...cases,
    '    --format)',
    `      local formats="${listFormats.join(' ')}"`,
    `      [[ "\${COMP_WORDS[1]}" == plan ]] && formats="${planFormats.join(' ')}"`,
    '      COMPREPLY=($(compgen -W "$formats" -- "$cur")); return ;;',
    `    ${[...flagsBeforePaths(), ...layerFlags].join('|')})`,
    '      COMPREPLY=($(compgen -f -- "$cur")); return ;;',
    '  esac',
    '  if [[ "$cur" == -* && "${COMP_WORDS[1]}" != layer ]]; then',
    `    COMPREPLY=($(compgen -W "${everyFlag().join(' ')}" -- "$cur"))`,
    '  elif [[ "$cur" == -* ]]; then',
    `    COMPREPLY=($(compgen -W "${layerFlags.join(' ')}" -- "$cur"))`,
    '  elif [[ "$COMP_CWORD" -eq 1 ]]; then',
    `    COMPREPLY=($(compgen -W "${Object.keys(commands).join(' ')}" -- "$cur"))`,
    '  fi',
    '}',
    'complete -o filenames -F _bootwright bootwright',
    '',
  ].join('\n');
}

function fishScript(): string {
  const command = 'complete -c bootwright';
  const choices = choicesAfter();
  const flags = allFlagNames().map((name) => {
    const flag = flagName(name);
    const dashes = name.length === 1 ? `-s ${name}` : `-l ${name}`;
    const words = choices.get(flag);
    const values = words === undefined ? '' : ` -x -a '${words.join(' ')}'`;
    const summary = flagRows[name]?.summary.replaceAll("'", '') ?? '';
    return `${command} ${dashes}${values}${summary === '' ? '' : ` -d '${summary}'`}`;
  });
  const names = Object.entries(commands).map(
    ([name, summary]) => `${command} -n __fish_use_subcommand -f -a ${name} -d '${summary}'`,
  );
  const nested = [...Object.keys(actionsOf), 'completion'].map(
    (name) =>
      `${command} -n '__fish_seen_subcommand_from ${name}' -f -a '${(choices.get(name) ?? []).join(' ')}'`,
  );
  const seen = '__fish_seen_subcommand_from';
  const formats = [
    `${command} -n '${seen} plan journal' -f`,
    `${command} -n '${seen} plan' -l format -x -a '${planFormats.join(' ')}'`,
    `${command} -n '${seen} config journal node' -l format -x -a '${listFormats.join(' ')}'`,
  ];
  const layer = layerFlags.map((flag) => `${command} -n '${seen} layer' -l ${flag.slice(2)} -r -F`);
  return [...names, ...nested, ...formats, ...layer, ...flags, ''].join('\n');
}

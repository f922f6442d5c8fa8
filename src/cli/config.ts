import { checkConfig, findInConfig, installNotes, loadConfig, missingIn } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { configJsonSchema, renderConfigJson, renderConfigText } from '../config/show.ts';
import { type Setting, settingTable } from '../config/setting-table.ts';
import { refusalsOf } from '../engine/describe.ts';
import { plainLine } from '../lib/plain-text.ts';
import type { AgentError } from '../model/failure.ts';
import { chooseRole } from '../roles/choose.ts';
import type { FilesCall, InstallLine } from './command.ts';
import { exitCodeOf, print, printJson, printNote, wrapped } from './messages.ts';

/**
 * Prints every setting with its origin, and changes nothing.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function runConfigShow({ argv, environment, format }: InstallLine): Promise<number> {
  const loaded = await loadConfig(argv, environment);
  for (const note of loaded.notes) printNote('note', note);
  print(format === 'json' ? renderConfigJson(loaded) : renderConfigText(loaded));
  return 0;
}

/**
 * Prints all reasons for which an install would be refused, and changes nothing. Resolves with the
 * exit code with which the install would end.
 */
export async function runConfigValidate(line: InstallLine): Promise<number> {
  const found = await findInConfig(line.argv, line.environment);
  const all = withRefusals(found.mistakes, found.config);
  if (line.format === 'json') {
    const errors = all.map(({ code, message, hint, context }) => ({
      code,
      message,
      hint,
      context,
    }));
    printJson({ errors });
  } else {
    for (const note of installNotes(found)) printNote('note', note);
    print(renderFindings(all));
  }
  const [first] = all;
  return first === undefined ? 0 : exitCodeOf(first);
}

/**
 * Adds to the mistakes those that only the steps of the role find. Drops a mistake that both find,
 * and one that only follows from a refused setting.
 */
export function withRefusals(
  mistakes: readonly AgentError[],
  config: Config,
): readonly AgentError[] {
  if (mistakes.some(({ code }) => code === 'config.malformed-file')) return mistakes;
  const known = new Set(mistakes.map(({ message }) => message));
  const refused = mistakes.flatMap(({ context: { setting } }) =>
    setting === undefined ? [] : [setting],
  );
  const follows = ({ context }: AgentError): boolean =>
    refused.some((key) => String(context['settings']).split(', ').includes(String(key)));
  const refusals = refusalsOf(chooseRole(config), config);
  return [
    ...mistakes,
    ...refusals.filter((refusal) => !known.has(refusal.message) && !follows(refusal)),
  ];
}

/** The findings for people: the fault, its code, and the remedy. */
export function renderFindings(mistakes: readonly AgentError[]): string {
  const lines = mistakes.flatMap(({ code, message, hint }) => [
    `error: ${plainLine(message)} [${code}]`,
    `  next: ${plainLine(hint)}`,
  ]);
  const count = mistakes.length;
  const end =
    count === 0
      ? 'the configuration is complete'
      : `an install would be refused: ${count} error${count === 1 ? '' : 's'}`;
  return `${[...lines, end].join('\n')}\n`;
}

/** Sections that no host needs in its file, and sections that only a bootstrap host reads. */
const rarelySet: ReadonlySet<string> = new Set(['role', 'host']);
const ofBootstrap: ReadonlySet<string> = new Set(['bootstrap', 'controller']);

/**
 * Prints a configuration file of a role with every setting as a comment; settings that an install
 * requires are at the top.
 */
export async function runConfigInit({
  values: [role = ''],
}: Pick<FilesCall, 'values'>): Promise<number> {
  const loaded = checkConfig([new Map([['role', { value: role, origin: 'argument ROLE' }]])]);
  const needed = withRefusals(await missingIn(loaded), loaded.config).flatMap(({ message, hint }) =>
    commented(`- ${message}: ${hint}`),
  );
  const sections = Object.entries(settingTable).filter(
    ([name]) => !rarelySet.has(name) && (role === 'bootstrap' || !ofBootstrap.has(name)),
  );
  const lines = [
    '# yaml-language-server: $schema=bootwright.schema.json',
    '# The schema, for an editor: bootwright config schema > bootwright.schema.json',
    '#',
    ...commented(
      'Settings are shown with their defaults: remove the # before each setting that you change, and before its section.',
    ),
    '# What an install needs besides, as `bootwright config validate --config FILE` says:',
    ...needed,
    `role: ${role}`,
    ...sections.flatMap(([name, settings]) => [
      '',
      `#${name}:`,
      ...Object.entries(settings).flatMap(settingLines),
    ]),
  ];
  print(`${lines.join('\n')}\n`);
  return 0;
}

const commented = (text: string, before = ''): readonly string[] =>
  wrapped(text, 100).map((line) => `${before}# ${line}`);

/** A setting in YAML, after its description. Secrets do not belong in a file. */
function settingLines([key, setting]: readonly [string, Setting]): readonly string[] {
  if (setting.kind === 'secret') return [];
  const choices = setting.kind === 'word' ? ` (${setting.words.join(', ')})` : '';
  return [...commented(`${setting.summary}${choices}`, '  '), `#  ${key}: ${unsetValue(setting)}`];
}

function unsetValue(setting: Exclude<Setting, { kind: 'secret' }>): string {
  if (setting.kind === 'word') return setting.byDefault;
  if (setting.kind === 'hints') return '{}';
  return 'byDefault' in setting ? JSON.stringify(setting.byDefault ?? 0) : '[]';
}

/** Prints the JSON Schema of a configuration file. */
export function runConfigSchema(): number {
  printJson(configJsonSchema());
  return 0;
}

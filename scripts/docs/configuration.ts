import { variableOf } from '../../src/config/environment.ts';
import { configJsonSchema } from '../../src/config/show.ts';
import type { Setting } from '../../src/config/setting-table.ts';
import {
  secretFiles,
  type SettingKey,
  settingKeys,
  settingKinds,
} from '../../src/config/settings.ts';
import { checkConfig, settingIn } from '../../src/config/load.ts';
import { flagRows, ownFlagRows } from '../../src/config/flag-table.ts';
import { flagName } from '../../src/config/go-flags.ts';
import { defaultConfigFile } from '../../src/config/files.ts';
import { codeCell, pageOf, sections, table } from './markdown.ts';

/** The page about every setting, from the schema and the table of flags. */
export const configurationPage = (): string =>
  pageOf('configuration', {
    file: defaultConfigFile,
    settings: sections(sectionPages()),
    flags: table(
      ['Flag', 'Meaning', 'Sent'],
      Object.entries<FlagCard>({ ...flagRows, ...ownFlagRows }).map(flagRow),
    ),
  });

function sectionPages(): readonly string[] {
  const names = [...new Set(settingKeys.map((key) => key.replace(/\..*/, '')))];
  return names.flatMap((name) => [
    `## ${name}`,
    table(
      ['Key', 'Kind', 'Default', 'Meaning', 'Variable', 'Flag'],
      settingKeys.filter((key) => key.replace(/\..*/, '') === name).map(settingRow),
    ),
  ]);
}

const { config: defaults } = checkConfig([]);

function settingRow(key: SettingKey): readonly string[] {
  const isSecret = settingKinds[key].kind === 'secret';
  return [
    codeCell(key),
    kindCell(settingKinds[key]),
    isSecret ? '' : defaultCell(settingIn(defaults, key) ?? ''),
    meaningOf(key),
    codeCell(variableOf(key)),
    isSecret ? 'none' : flagsOf(key).map(codeCell).join(', '),
  ];
}

const kindWords = {
  text: 'text',
  url: 'http(s) URL',
  place: 'path or http(s) URL',
  sha256: 'SHA-256',
  listen: 'HOST:PORT',
  count: 'whole number',
  port: 'port',
  flag: 'true or false',
  list: 'list; with commas in a variable, repeated as a flag',
  argv: 'list; a JSON array in a variable or flag',
  hints: 'map; `NAME=VALUE,NAME=VALUE` in a variable or flag',
  mirrors: 'list of sources with mirrors; JSON in a variable or flag',
  secret: 'secret',
} as const;

const kindCell = (kind: Setting): string =>
  kind.kind === 'word' ? kind.words.map(codeCell).join(', ') : kindWords[kind.kind];

const defaultCell = (value: unknown): string =>
  String(value) === '' && !Array.isArray(value)
    ? ''
    : codeCell(typeof value === 'string' ? value : JSON.stringify(value));

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
}

function meaningOf(key: SettingKey): string {
  const file = (secretFiles as Partial<Record<SettingKey, SettingKey>>)[key];
  if (file !== undefined) return `the secret itself; \`${file}\` names a file instead`;
  let at: Described | undefined = configJsonSchema();
  for (const name of key.split('.')) at = at?.properties?.[name];
  return at?.description ?? '';
}

/** The old names of a setting, and its own. */
function flagsOf(key: SettingKey): readonly string[] {
  const old = Object.entries(flagRows).flatMap(([name, { meaning }]) =>
    Object.values(meaning).includes(key) ? [flagName(name)] : [],
  );
  return [...new Set([...old, flagName(key)])];
}

interface FlagCard {
  readonly placeholder?: string;
  readonly summary: string;
  readonly era?: string;
}

const flagRow = ([name, { placeholder = '', summary, era = '' }]: [string, FlagCard]) => [
  codeCell(`${flagName(name)} ${placeholder}`.trimEnd()),
  ...[summary, era],
];

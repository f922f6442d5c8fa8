import { withTexts } from '../lib/plain-text.ts';
import { SecretUrl } from '../lib/secret-url.ts';
import { shownText } from '../lib/shown-url.ts';
import { MASK, Secret } from '../model/secret.ts';
import { type Setting, settingTable } from './setting-table.ts';

type Table = typeof settingTable;
type SectionName = Exclude<keyof Table, 'role'>;

/** A setting by its dotted name, `disk.device`. */
export type SettingKey =
  'role' | { [S in SectionName]: `${S}.${keyof Table[S] & string}` }[SectionName];

/** Every setting by its dotted name, in the order of the table. */
export const settingKinds = Object.fromEntries(
  Object.entries(settingTable).flatMap(([section, entry]) =>
    section === 'role'
      ? [[section, entry]]
      : Object.entries(entry).map(([key, setting]) => [`${section}.${key}`, setting]),
  ),
) as Readonly<Record<SettingKey, Setting>>;

/** The settings in the order of the table. */
export const settingKeys = Object.keys(settingKinds) as readonly SettingKey[];

const noDryRun = 'leave it out: there is no dry run; "bootwright plan" prints what an install does';

const statusForMetrics =
  'log.status, or --status HOST:PORT, serves /status; log.events has all that happens';

/** Settings that this release removed, each with its replacement. */
export const removedSettings: Readonly<Record<string, string>> = {
  'host.reach': noDryRun,
  'dry.hostId': noDryRun,
  'dry.rebootMarker': noDryRun,
  'dry.clusterHosts': noDryRun,
  'log.metrics': statusForMetrics,
};

/** The replacement of a removed setting or section. */
export const insteadOf = (name: string): string | undefined =>
  Object.entries(removedSettings).find(([key]) => key === name || key.startsWith(`${name}.`))?.[1];

/** Whether a word is the dotted name of a setting. */
export const isSettingKey = (word: string): word is SettingKey => Object.hasOwn(settingKinds, word);

/** Settings that hold a secret, each with the setting for its file. */
export const secretFiles = {
  'service.token': 'service.tokenFile',
  's3.secretAccessKey': 's3.secretAccessKeyFile',
} as const satisfies Partial<Record<SettingKey, SettingKey>>;

/** Whether a setting holds a secret. */
export const isSecret = (key: SettingKey): key is keyof typeof secretFiles =>
  Object.hasOwn(secretFiles, key);

/**
 * Settings that name a file or a folder. An install opens `host` paths on the host; the program
 * itself opens `own` paths, unless a source with priority gives their value.
 */
export const namesFile: Readonly<Partial<Record<SettingKey, 'host' | 'own'>>> = {
  'image.file': 'host',
  'image.stream': 'host',
  'network.keyfiles': 'host',
  'network.nmstate': 'host',
  'registries.ca': 'host',
  'hooks.before': 'host',
  'hooks.after': 'host',
  'ignition.file': 'host',
  'ignition.caFile': 'host',
  'service.caFile': 'own',
  'service.tokenFile': 'own',
  's3.secretAccessKeyFile': 'own',
};

/** A value with its origin, for people: `flag --url`, `file config.yaml:12`. */
export interface SettingValue {
  readonly value: unknown;
  readonly origin: string;
}

/** The settings of one source: a file, the environment, the command line. */
export type Layer = ReadonlyMap<SettingKey, SettingValue>;

/** Merges layers into one. A later layer wins; it replaces whole values, also lists. */
export function mergeLayers(layers: readonly Layer[]): Layer {
  return new Map(layers.flatMap((layer) => [...layer]));
}

/** The text of a setting, or the fallback if no source sets it. */
export function textIn(layer: Layer, key: SettingKey, fallback = ''): string {
  const value = layer.get(key)?.value;
  return typeof value === 'string' ? value : fallback;
}

/** The value of a setting for display: secrets masked, as JSON unless it is plain text. */
export function shownValue(value: unknown): string {
  if (value instanceof Secret) return value.isEmpty ? '(empty)' : MASK;
  if (value instanceof SecretUrl) return shownValue(value.marked());
  if (value === undefined || value === '') return '(not set)';
  // Before it is JSON, which escapes the quotes of a kernel argument.
  const shown = withTexts(value, shownText);
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}

import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { Secret } from '../model/secret.ts';
import { derive } from './complete.ts';
import type { Environment } from './environment.ts';
import { readConfigFiles, readContainer, readSecretFiles } from './files.ts';
import { readFlags } from './flags.ts';
import { invalid, readValue, requireWriterArgs } from './read-value.ts';
import { Config } from './schema.ts';
import {
  isSettingKey,
  type Layer,
  mergeLayers,
  type SettingKey,
  settingKeys,
  type SettingKind,
  settingKinds,
} from './settings.ts';
import { layersOver } from './sources.ts';
import { fileLayer } from './yaml-file.ts';

/** A configuration that was checked, with the origin of every setting. */
export interface CheckedConfig {
  /** Deep-frozen. */
  readonly config: Config;
  /** By dotted name: `flag --url`, `file config.yaml:12`, `default`. */
  readonly origins: ReadonlyMap<SettingKey, string>;
  /** What the sources said, merged and completed; defaults are not in it. */
  readonly given: Layer;
}

/**
 * Merges what the sources say, later ones winning, and checks it against the schema.
 * @throws AgentError `config.invalid-value` that names the origin of the value
 */
export function checkConfig(layers: readonly Layer[]): CheckedConfig {
  const given = derive(mergeLayers(layers));
  const parsed = Config.safeParse(nested(given), { reportInput: false });
  if (!parsed.success) throw firstIssue(parsed.error.issues, given);
  requireReadable(parsed.data, given);
  const origins = new Map(settingKeys.map((key) => [key, given.get(key)?.origin ?? 'default']));
  return { config: deepFreeze(parsed.data), origins, given };
}

/** The value of a setting by its dotted name. */
export function settingIn(config: Config, key: SettingKey): unknown {
  const [section, name] = key.split('.') as [keyof Config, string?];
  const value: unknown = config[section];
  return name === undefined ? value : (value as Record<string, unknown>)[name];
}

function nested(given: Layer): Record<string, unknown> {
  const tree: Record<string, Record<string, unknown>> = {};
  const top: Record<string, unknown> = {};
  for (const [key, { value }] of given) {
    const [section, name] = key.split('.') as [string, string?];
    if (name === undefined) top[section] = value;
    else (tree[section] ??= {})[name] = value;
  }
  return { ...top, ...tree };
}

function firstIssue(issues: readonly z.core.$ZodIssue[], given: Layer): Error {
  const [issue] = issues;
  if (issue === undefined) throw new RangeError('the schema refused without a reason');
  const key = issue.path.slice(0, 2).join('.');
  if (!isSettingKey(key)) throw new RangeError(`${key}: ${issue.message}`);
  const { value, origin } = given.get(key) ?? { value: undefined, origin: 'default' };
  const { kind } = settingKinds[key];
  const hasForm = kind === 'word' || kind === 'url' || kind === 'sha256';
  // As text it is refused in the same words as in a flag or a variable.
  if (hasForm && typeof value === 'string') readValue(key, value, `${origin}: ${key}`);
  return invalid(key, origin, { what: `${key}: ${sentence(issue)}`, write: wanted[kind] });
}

/** Checks what the schema cannot say; a flag or a variable passed the same checks before. */
function requireReadable({ image }: Config, given: Layer): void {
  const placeOf = (key: SettingKey): string => `${given.get(key)?.origin ?? 'default'}: ${key}`;
  readValue('image.stream', image.stream, placeOf('image.stream'));
  requireWriterArgs('image.writerArgs', image.writerArgs, placeOf('image.writerArgs'));
}

const sentence = ({ message }: z.core.$ZodIssue): string =>
  message.charAt(0).toLowerCase() + message.slice(1);

const wanted: Readonly<Record<SettingKind['kind'], string>> = {
  text: 'a text',
  word: 'one of the words that docs/configuration.md names',
  url: 'a text, http://HOST:PORT or https://HOST:PORT',
  sha256: 'a text of 64 lower-case hexadecimal digits',
  count: 'a whole number from 0',
  port: 'a number from 1 to 65535',
  flag: 'true or false, without quotes',
  list: 'a list of texts',
  argv: 'a list of texts, [--append-karg, "ip=eth0:dhcp"] for example',
  secret: 'a text',
};

/** Freezes a value and everything in it, so that nothing can steer a run by changing it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}

/**
 * SHA-256, in lower-case hexadecimal, of everything in a configuration that decides what a run
 * does: secrets and the section `log` are left out, so that a run with a renewed token or a more
 * talkative log goes on where it stopped.
 */
export function fingerprintOf(config: Config): string {
  const deciding = Object.entries(config).filter(([section]) => section !== 'log');
  return createHash('sha256')
    .update(canonicalJson(Object.fromEntries(deciding)))
    .digest('hex');
}

/** JSON with the keys of every object sorted and secrets left out. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, part]) => !(part instanceof Secret))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, part]) => [key, sorted(part)]);
  return Object.fromEntries(entries);
}

/** A configuration from every source, with what a person should know of it. */
export interface SourcedConfig extends CheckedConfig {
  readonly notes: readonly string[];
  readonly isFresh: boolean;
}

/**
 * Reads the configuration of a command from its container, files, environment and flags.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function sourceConfig(
  words: readonly string[],
  environment: Environment,
): Promise<SourcedConfig> {
  const flags = readFlags(words);
  const files = await readConfigFiles(flags.configFiles);
  const withoutSecrets = layersOver(files.map(fileLayer), flags, environment);
  const secrets = await readSecretFiles(withoutSecrets);
  const checked = checkConfig([await readContainer(), ...withoutSecrets, secrets]);
  return { ...checked, notes: flags.notes, isFresh: flags.isFresh };
}

/** Says so when the service is asked without a token; the agent that is replaced warns too. */
export function tokenNotes({ config }: CheckedConfig): readonly string[] {
  const { url, token } = config.service;
  if (url === '' || (token instanceof Secret && !token.isEmpty)) return [];
  return ['PULL_SECRET_TOKEN is not set; the service is asked without a token'];
}

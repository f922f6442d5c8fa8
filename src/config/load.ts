import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { SecretUrl } from '../lib/secret-url.ts';
import { nearestName } from '../lib/nearest.ts';
import { type Proxies, revealedProxies } from '../lib/proxies.ts';
import { readWriterArgs } from '../settings/writer-args.ts';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import {
  derive,
  incompatible,
  incomplete,
  missingSettings,
  networkFolderOf,
  requireComplete,
} from './complete.ts';
import { type Environment, environmentLayer, knownVariablesLayer } from './environment.ts';
import { raise, type Refuse, refusedBy } from './failures.ts';
import { readConfigFiles, readContainer, readSecretFiles, requireFiles } from './files.ts';
import { type FlagValues, readFlags } from './flags.ts';
import { storeContractLayer } from './old-contract.ts';
import { hintsProblem, invalid, mirrorsForm, type Problem, quoted } from './read-value.ts';
import { Config } from './schema.ts';
import type { Setting } from './setting-table.ts';
import {
  isSettingKey,
  type Layer,
  mergeLayers,
  type SettingKey,
  settingKeys,
  settingKinds,
} from './settings.ts';
import { fileLayer } from './yaml-file.ts';

/** A checked configuration, with the origin of every setting. */
export interface CheckedConfig {
  /** Deep-frozen. */
  readonly config: Config;
  /** Origins by dotted name: `flag --url`, `file config.yaml:12`, `default`. */
  readonly origins: ReadonlyMap<SettingKey, string>;
  /** The merged and completed settings of all sources, without defaults. */
  readonly given: Layer;
}

/** The configuration of a command, with notes for the user. */
export interface LoadedConfig extends CheckedConfig {
  /** Sentences for the log: flags without effect, unexpected arguments. */
  readonly notes: readonly string[];
  /** Whether to set aside the journal of an earlier run. */
  readonly isFresh: boolean;
}

/** A configuration, and all mistakes in its sources. */
export interface ReadConfig extends LoadedConfig {
  /** The settings of the files alone, as written there. */
  readonly inFiles: Layer;
  /** The configuration leaves out the faulty settings. */
  readonly mistakes: readonly AgentError[];
}

/** Reads a command line, its environment, the files and the secrets in files, past all mistakes. */
export async function readConfig(
  argv: readonly string[],
  environment: Environment,
): Promise<ReadConfig> {
  const mistakes: AgentError[] = [];
  const refuse: Refuse = (mistake) => mistakes.push(mistake);
  const flags = readFlags(argv, refuse);
  const files = await readConfigFiles(flags.configFiles, refuse);
  const fromFiles = files.map((file) => fileLayer(file, refuse));
  const layers = layersOver(fromFiles, flags, environment, refuse);
  const secrets = await readSecretFiles(layers, refuse);
  const checked = checkConfig([await readContainer(), ...layers, secrets], refuse);
  const { notes, isFresh } = flags;
  return { ...checked, inFiles: mergeLayers(fromFiles), notes, isFresh, mistakes };
}

/**
 * The configuration of a command line and its environment.
 * @throws AgentError `cli.*`, `config.*` for the first mistake
 */
export async function loadConfig(
  argv: readonly string[],
  environment: Environment,
): Promise<LoadedConfig> {
  const { mistakes, ...loaded } = await readConfig(argv, environment);
  for (const mistake of mistakes) throw mistake;
  return loaded;
}

/** All mistakes for which an install would be refused; does not throw them. */
export async function findInConfig(
  argv: readonly string[],
  environment: Environment,
): Promise<ReadConfig> {
  const read = await readConfig(argv, environment);
  // Any other mistake may follow from the unreadable text.
  const malformed = read.mistakes.filter(({ code }) => code === 'config.malformed-file');
  if (malformed.length > 0) return { ...read, ...checkConfig([]), mistakes: malformed };
  const refused = new Set(read.mistakes.map(({ context }) => context['setting']));
  return { ...read, mistakes: [...read.mistakes, ...(await missingIn(read, refused))] };
}

/**
 * The layers of files, variables and flags, the strongest last: flags have priority over
 * BOOTWRIGHT_* variables, and these over the variables of other programs.
 * @param refuse takes each mistake; throws the first unless given
 * @throws AgentError `config.*`
 */
export function layersOver(
  files: readonly Layer[],
  flags: Pick<FlagValues, 'layer'>,
  environment: Environment,
  refuse: Refuse = raise,
): readonly Layer[] {
  const own = environmentLayer(environment, refuse);
  const others = mergeLayers([...files, own, flags.layer]);
  return [
    ...files,
    knownVariablesLayer(environment, refuse),
    storeContractLayer(environment, others),
    own,
    flags.layer,
  ];
}

/**
 * All mistakes by which a readable configuration is incomplete for an install.
 * @param refused settings that have a faulty value
 */
export async function missingIn(
  loaded: CheckedConfig,
  refused: ReadonlySet<unknown> = new Set(),
): Promise<readonly AgentError[]> {
  const missing = missingSettings(loaded.given).filter(({ key }) => !refused.has(key));
  const mistakes = [...incompatible(loaded.given), ...missing.map((one) => incomplete([one]))];
  const refuse: Refuse = (mistake) => mistakes.push(mistake);
  await requireFiles(loaded).catch(refusedBy(refuse));
  return mistakes;
}

/**
 * Refuses a configuration with which an install cannot start.
 * @throws AgentError `config.incomplete`, `config.file-not-read`, `config.malformed-file`
 */
export async function requireInstallable(loaded: CheckedConfig): Promise<void> {
  requireComplete(loaded.given);
  await requireFiles(loaded);
}

/** The notes of an install. A missing token is one of them, as in assisted-installer. */
export function installNotes({
  config,
  notes,
}: Pick<LoadedConfig, 'config' | 'notes'>): readonly string[] {
  const { url, token } = config.service;
  if (url.isEmpty || (token instanceof Secret && !token.isEmpty)) return notes;
  return [...notes, 'PULL_SECRET_TOKEN is not set: requests to the service carry no token'];
}

/**
 * Merges layers, of which later ones win, and checks every given setting against the schema. A
 * missing setting is not a mistake here.
 * @param refuse takes each mistake and leaves out its setting; throws the first unless given
 * @throws AgentError `config.invalid-value` with the origin of the value
 */
export function checkConfig(layers: readonly Layer[], refuse: Refuse = raise): CheckedConfig {
  const merged = mergeLayers(layers);
  const given = derive(merged);
  const { data: config, error } = Config.safeParse(nested(given), { reportInput: false });
  const mistakes = new Map<SettingKey, AgentError>();
  for (const issue of error?.issues ?? []) {
    const key = issue.path.slice(0, 2).join('.');
    if (!isSettingKey(key)) throw new RangeError(`${key}: ${issue.message}`);
    if (!mistakes.has(key)) mistakes.set(key, issueFailure(key, issue, given));
  }
  addConflicts(given, mistakes);
  for (const mistake of mistakes.values()) refuse(mistake);
  if (config === undefined || mistakes.size > 0)
    return checkConfig([new Map([...merged].filter(([key]) => !mistakes.has(key)))]);
  const origins = new Map(settingKeys.map((key) => [key, given.get(key)?.origin ?? 'default']));
  return { config: deepFreeze(config), origins, given };
}

/**
 * The proxies of an environment, for commands that read no other settings.
 * @throws AgentError `config.invalid-value`
 */
export const proxiesIn = (environment: Environment): Proxies =>
  revealedProxies(checkConfig([knownVariablesLayer(environment)]).config.proxy);

/** The value of a setting by its dotted name. */
export function settingIn(config: Config, key: SettingKey): unknown {
  const [section, name] = key.split('.') as [keyof Config, string?];
  const value: unknown = config[section];
  return name === undefined ? value : (value as Record<string, unknown>)[name];
}

/** Settings in the form of a file: by section and key. */
export function nested(given: Layer): Record<string, unknown> {
  const tree: Record<string, Record<string, unknown>> = {};
  const top: Record<string, unknown> = {};
  for (const [key, { value }] of given) {
    const [section, name] = key.split('.') as [string, string?];
    if (name === undefined) top[section] = value;
    else (tree[section] ??= {})[name] = value;
  }
  return { ...top, ...tree };
}

function issueFailure(key: SettingKey, issue: z.core.$ZodIssue, given: Layer): AgentError {
  const { value, origin = 'default' } = given.get(key) ?? {};
  const part = issue.path.slice(2).filter((one) => typeof one === 'string');
  const place = origin.endsWith(key) ? origin : `${origin}: ${[key, ...part].join('.')}`;
  // The refinement of the schema found this issue.
  if (issue.code === 'custom') return invalid(key, place, issue.params as unknown as Problem);
  const setting = settingKinds[key];
  const hints =
    setting.kind === 'hints' && typeof value === 'string' ? hintsProblem(value) : undefined;
  if (hints !== undefined) return invalid(key, place, hints);
  if (setting.kind === 'word') {
    const words = `one of ${setting.words.join(', ')}`;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const write = nearestName(text, setting.words) ?? words;
    return invalid(key, place, { what: `${quoted(text)} is not ${words}`, write });
  }
  const write = wanted[setting.kind];
  const { message } = issue;
  const what =
    typeof value === 'string'
      ? `${quoted(value)} is not ${write}`
      : message.charAt(0).toLowerCase() + message.slice(1);
  return invalid(key, place, { what, write });
}

const wanted: Readonly<Record<Exclude<Setting['kind'], 'word'>, string>> = {
  text: 'a string',
  place: 'a path on the host, or http://HOST:PORT/PATH',
  url: 'a string, http://HOST:PORT or https://HOST:PORT',
  sha256: 'a string of 64 lower-case hexadecimal digits',
  listen: 'a string, HOST:PORT, [IPV6]:PORT or :PORT',
  count: 'a whole number from 0',
  port: 'a number from 1 to 65535',
  flag: 'true or false, without quotes',
  list: 'a list of strings',
  argv: 'a list of strings, ["--append-karg", "ip=eth0:dhcp"] for example',
  mirrors: mirrorsForm,
  hints: 'a map of hints, {serialNumber: "S3Z8NB0K", rotational: false} for example',
  secret: 'a string',
};

/** Refuses settings that are valid alone but that coreos-installer would not take together. */
function addConflicts(given: Layer, mistakes: Map<SettingKey, AgentError>): void {
  const args = given.get('image.writerArgs')?.value;
  const { uses } = readWriterArgs(Array.isArray(args) ? args.map(String) : []);
  const refuse = (key: SettingKey, what: string, write: string): void => {
    const origin = `${given.get(key)?.origin ?? 'default'}: ${key}`;
    const problem = { what: `image.writerArgs has ${what}`, write };
    if (!mistakes.has(key)) mistakes.set(key, invalid(key, origin, problem));
  };
  // coreos-installer would use another file, without these settings, or refuse the file with them.
  const other = uses.find(({ option }) => /^ignition(-file|-hash)?$/.test(option));
  for (const key of ['registries.mirrors', 'registries.ca'] as const) {
    const value = (given.get(key)?.value ?? '') as string | readonly unknown[];
    if (other === undefined || value.length === 0) continue;
    const what = `--${other.option}, and ${key} becomes a part of the Ignition of this host`;
    refuse(key, what, 'one of them; ignition.file names the Ignition too');
  }
  const network = networkFolderOf(given);
  const folder = uses.find(
    ({ option, value }) => option === 'network-dir' && value !== network?.folder,
  );
  if (network !== undefined && folder !== undefined)
    refuse(network.key, `--network-dir ${folder.value}`, 'one of them');
}

/** Freezes a value and everything in it, so that no code can change a run through it. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}

/**
 * SHA-256, in lower-case hexadecimal, of all settings that decide what a run does. Leaves out
 * secrets and the sections `log` and `proxy`: a run with a renewed token, another proxy or a more
 * verbose log resumes where it stopped. Also leaves out `service.stopIfCancelled`.
 */
export function fingerprintOf(config: Config): string {
  const service = { ...config.service, stopIfCancelled: undefined };
  const deciding = { ...config, service, log: undefined, proxy: undefined };
  return createHash('sha256')
    .update(JSON.stringify(sorted(deciding)))
    .digest('hex');
}

/** A value with the keys of every object sorted, without secrets. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  // A hash does not reveal it.
  if (value instanceof SecretUrl) return value.reveal();
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, part]) => !(part instanceof Secret))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, part]) => [key, sorted(part)]);
  return Object.fromEntries(entries);
}

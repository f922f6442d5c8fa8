// This table is read before zod is loaded, so that a flag or a variable is checked and the first
// report leaves at once. The compiler holds its keys, a test its kinds, to the schema.
import { roleNames } from '../model/role.ts';
import { MASK, Secret } from '../model/secret.ts';
import type { Config } from './schema.ts';

type SectionName = Exclude<keyof Config, 'role'>;

/** A setting by its dotted name, `disk.device`. */
export type SettingKey =
  'role' | { [S in SectionName]: `${S}.${keyof Config[S] & string}` }[SectionName];

/** What may be written for a setting. */
export type SettingKind =
  | {
      readonly kind:
        'text' | 'url' | 'sha256' | 'count' | 'port' | 'flag' | 'list' | 'argv' | 'secret';
    }
  | { readonly kind: 'word'; readonly words: readonly string[] };

const text = { kind: 'text' } as const;
const url = { kind: 'url' } as const;
const sha256 = { kind: 'sha256' } as const;
const count = { kind: 'count' } as const;
const port = { kind: 'port' } as const;
const flag = { kind: 'flag' } as const;
const list = { kind: 'list' } as const;
const argv = { kind: 'argv' } as const;
const secret = { kind: 'secret' } as const;
const word = (...words: readonly string[]): SettingKind => ({ kind: 'word', words });

/** Every setting with its kind, in the order of the schema. */
export const settingKinds: Readonly<Record<SettingKey, SettingKind>> = {
  role: word(...roleNames),
  'cluster.id': text,
  'cluster.infraEnvId': text,
  'cluster.hostId': text,
  'cluster.openshiftVersion': text,
  'cluster.controlPlaneCount': count,
  'cluster.kubeconfig': text,
  'bootstrap.lanes': word('beside', 'in-turn'),
  'bootstrap.etcdOverride': word('auto', 'always', 'never'),
  'bootstrap.followUp': word('auto', 'always', 'never'),
  'layering.mode': word('auto', 'on', 'off'),
  'layering.failurePolicy': word('fail', 'fallback-stock'),
  'layering.registryImage': text,
  'layering.registryPort': port,
  'layering.buildMinutes': count,
  'layering.pushTo': text,
  'layering.repository': text,
  'service.url': url,
  'service.api': word('v2', 'v1', 'bm-inventory-v1'),
  'service.token': secret,
  'service.tokenFile': text,
  'service.insecure': flag,
  'service.caFile': text,
  'disk.device': text,
  'disk.format': list,
  'disk.cleanup': flag,
  'image.source': word('auto', 'live', 'file', 'url', 'stream'),
  'image.file': text,
  'image.url': url,
  'image.sha256': sha256,
  'image.stream': text,
  'image.nodeImage': text,
  'image.writerArgs': argv,
  'image.existingRoot': text,
  'image.skipMcoReboot': flag,
  'ignition.source': word('auto', 'service', 's3', 'url', 'file'),
  'ignition.url': url,
  'ignition.file': text,
  'ignition.caFile': text,
  'ignition.sha256': sha256,
  's3.endpoint': url,
  's3.bucket': text,
  's3.region': text,
  's3.accessKeyId': text,
  's3.secretAccessKey': secret,
  's3.secretAccessKeyFile': text,
  'images.controller': text,
  'images.agent': text,
  'images.mco': text,
  'images.mustGather': text,
  'images.self': text,
  'controller.checkClusterVersion': flag,
  'controller.notifyNumReboots': flag,
  'controller.serviceIps': list,
  'proxy.http': url,
  'proxy.https': url,
  'proxy.no': text,
  'log.verbose': flag,
  'log.format': word('auto', 'json', 'pretty'),
  'log.file': text,
  'log.events': text,
  'host.reach': word('nsenter', 'dry'),
  'host.root': text,
  'dry.hostId': text,
  'dry.rebootMarker': text,
  'dry.clusterHosts': text,
  'finish.rebootDelayMinutes': count,
};

/** The settings in the order of the schema. */
export const settingKeys = Object.keys(settingKinds) as readonly SettingKey[];

/** Whether a word is the dotted name of a setting. */
export const isSettingKey = (word: string): word is SettingKey => Object.hasOwn(settingKinds, word);

/** Settings that hold a secret, each with the setting that names a file to read it from. */
export const secretFiles = {
  'service.token': 'service.tokenFile',
  's3.secretAccessKey': 's3.secretAccessKeyFile',
} as const satisfies Partial<Record<SettingKey, SettingKey>>;

/** A value as one source gives it. From a file it is checked later, by the schema. */
export type SettingValue = string | number | boolean | readonly string[] | Secret;

/** A value with the place it comes from, for people: `flag --url`, `file config.yaml:12`. */
export interface Given {
  readonly value: unknown;
  readonly origin: string;
}

/** What one source says: a file, the environment, the command line. */
export type Layer = ReadonlyMap<SettingKey, Given>;

/** One layer of several; a later one wins, whole values at a time, lists too. */
export function mergeLayers(layers: readonly Layer[]): Layer {
  return new Map(layers.flatMap((layer) => [...layer]));
}

/** The text of a setting, or the fallback where no source gives it. */
export function textIn(layer: Layer, key: SettingKey, fallback = ''): string {
  const value = layer.get(key)?.value;
  return typeof value === 'string' ? value : fallback;
}

/** A text as it may be shown: the user and the password of a URL are masked. */
export const shownText = (text: string): string =>
  text.replaceAll(/(:\/\/)[^/@\s]*@/g, `$1${MASK}@`);

/** The value of a setting as it may be shown, secrets masked; JSON, except plain text. */
export function shownValue(value: unknown): string {
  if (value instanceof Secret) return value.isEmpty ? '(empty)' : MASK;
  if (value === undefined || value === '') return '(not set)';
  if (typeof value === 'string') return shownText(value);
  return shownText(JSON.stringify(value));
}

import type { Secret } from '../model/secret.ts';
import type { SettingKey } from './keys.ts';

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

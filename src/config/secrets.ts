import { Secret } from '../model/secret.ts';
import { secretFiles, type SettingKey } from './keys.ts';
import { type Given, type Layer, textIn } from './layer.ts';

/** A secret that is to be read from a file. */
export interface SecretToRead {
  readonly key: SettingKey;
  readonly path: string;
  /** Where the path comes from. */
  readonly origin: string;
}

/** The secrets that only a file gives; one that the environment gives wins over its file. */
export function secretsToRead(given: Layer): readonly SecretToRead[] {
  return Object.entries(secretFiles).flatMap(([secret, file]) => {
    const key = secret as SettingKey;
    const path = textIn(given, file);
    if (path === '' || given.has(key)) return [];
    return [{ key, path, origin: given.get(file)?.origin ?? 'default' }];
  });
}

/** A secret as a file holds it: the line break at its end does not belong to it. */
export const secretFrom = (text: string, path: string): Given => ({
  value: new Secret(text.replace(/\s+$/, '')),
  origin: `file ${path}`,
});

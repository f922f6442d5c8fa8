import * as z from 'zod';
import { withTexts } from '../lib/plain-text.ts';
import { SecretUrl } from '../lib/secret-url.ts';
import { shownText } from '../lib/shown-url.ts';
import { Secret } from '../model/secret.ts';
import { type CheckedConfig, settingIn } from './load.ts';
import { Config } from './schema.ts';
import { secretFiles, settingKeys, shownValue } from './settings.ts';

/** Every setting on a line with its origin; secrets are masked. */
export function renderConfigText({ config, origins }: CheckedConfig): string {
  const rows = settingKeys.map((key) => ({
    left: `${key} = ${shownValue(settingIn(config, key))}`,
    origin: origins.get(key) ?? 'default',
  }));
  const width = Math.min(60, Math.max(...rows.map(({ left }) => left.length)));
  return rows.map(({ left, origin }) => `${left.padEnd(width)}  (${origin})\n`).join('');
}

/** Every setting as `{ value, origin }` by its dotted name; secrets are masked. */
export function renderConfigJson({ config, origins }: CheckedConfig): string {
  const settings = settingKeys.map((key) => {
    const value = settingIn(config, key);
    return [key, { value: jsonValue(value), origin: origins.get(key) ?? 'default' }];
  });
  return `${JSON.stringify(Object.fromEntries(settings), null, 2)}\n`;
}

function jsonValue(value: unknown): unknown {
  if (value instanceof Secret) return String(value);
  if (value instanceof SecretUrl) return value.marked();
  return withTexts(value ?? null, shownText);
}

/**
 * JSON Schema (draft 2020-12) of a configuration file. Leaves out settings that hold a secret: a
 * file names the file of a secret and never holds one.
 */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(Config, { io: 'input', unrepresentable: 'any' });
  const sections = (schema.properties ?? {}) as Record<string, z.core.JSONSchema.BaseSchema>;
  for (const key of Object.keys(secretFiles)) {
    const [section = '', name = ''] = key.split('.');
    delete sections[section]?.properties?.[name];
  }
  return { $id: 'urn:bootwright:configuration', title: 'Bootwright configuration', ...schema };
}

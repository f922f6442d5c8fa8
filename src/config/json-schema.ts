import * as z from 'zod';
import { secretFiles } from './keys.ts';
import { Config } from './schema.ts';

/**
 * JSON Schema (draft 2020-12) of a configuration file. Settings that hold a secret are left out:
 * a file names the file of a secret and never holds one.
 */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(Config, { io: 'input', unrepresentable: 'any' });
  const sections = (schema.properties ?? {}) as Record<string, z.core.JSONSchema.BaseSchema>;
  for (const key of Object.keys(secretFiles)) {
    const [section = '', name = ''] = key.split('.');
    delete sections[section]?.properties?.[name];
  }
  return { title: 'Bootwright configuration', ...schema };
}

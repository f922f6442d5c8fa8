import { describe, expect, it } from 'vitest';
import type { Setting } from './setting-table.ts';
import { secretFiles, settingKeys, settingKinds } from './settings.ts';
import { configJsonSchema } from './show.ts';

interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly maximum?: number;
  readonly items?: { readonly type?: string };
  readonly properties?: Readonly<Record<string, Property>>;
  readonly anyOf?: readonly { readonly format?: string; readonly pattern?: string }[];
}

function kindIn(property: Property): Setting['kind'] | 'list or argv' {
  if (property.enum !== undefined) return 'word';
  if (property.anyOf !== undefined) {
    if (property.anyOf.some(({ format }) => format === 'uri')) return 'url';
    return property.anyOf.some(({ pattern }) => pattern?.includes('{64}')) ? 'sha256' : 'listen';
  }
  if (property.maximum === 65_535) return 'port';
  const kinds = {
    boolean: 'flag',
    integer: 'count',
    array: property.items?.type === 'object' ? 'mirrors' : 'list or argv',
    string: 'text',
    object: 'hints',
  } as const;
  return kinds[property.type as keyof typeof kinds];
}

const { properties = {} } = configJsonSchema() as Property;
const leaves = Object.entries(properties).flatMap(([section, property]) =>
  property.properties === undefined
    ? [[section, property] as const]
    : Object.entries(property.properties).map(
        ([key, leaf]) => [`${section}.${key}`, leaf] as const,
      ),
);

describe('settingKinds', () => {
  it('names the settings of the schema in its order', () => {
    const withoutSecrets = settingKeys.filter((key) => settingKinds[key].kind !== 'secret');
    expect(leaves.map(([key]) => key)).toEqual(withoutSecrets);
  });

  it.each(leaves)('has the kind that the schema has for %s', (key, property) => {
    const row = settingKinds[key as keyof typeof settingKinds];
    const kind = row.kind === 'list' || row.kind === 'argv' ? 'list or argv' : row.kind;
    // To the schema a path or a URL is a text.
    expect(kind === 'place' ? 'text' : kind).toBe(kindIn(property));
    expect(row.kind === 'word' ? row.words : undefined).toEqual(property.enum);
  });

  it('has a file for every secret', () => {
    const secrets = settingKeys.filter((key) => settingKinds[key].kind === 'secret');
    expect(Object.keys(secretFiles)).toEqual(secrets);
  });
});

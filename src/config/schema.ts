import * as z from 'zod';
import { type DiskHints, diskHintKinds } from '../settings/disk-hints.ts';
import { type ImageMirrors, sourcePolicies } from '../settings/image-mirrors.ts';
import { listenPattern } from '../lib/address.ts';
import { SecretUrl } from '../lib/secret-url.ts';
import { Secret } from '../model/secret.ts';
import { problemIn } from './read-value.ts';
import { type Setting, settingTable, type WordSetting } from './setting-table.ts';
import type { SettingKey } from './settings.ts';

// A configuration is parsed once; compiling a parser for it would take longer than parsing.
z.config({ jitless: true });

type Table = typeof settingTable;
type SectionName = Exclude<keyof Table, 'role'>;

/** The type of a setting's value, by its kind; a word is one of a fixed list. */
interface Values {
  text: string;
  sha256: string;
  listen: string;
  url: SecretUrl;
  place: SecretUrl;
  list: string[];
  argv: string[];
  hints: DiskHints;
  mirrors: readonly ImageMirrors[];
  secret: Secret;
  flag: boolean;
  count: number;
  port: number;
}

type ValueOf<S> =
  S extends WordSetting<infer Word>
    ? Word
    : S extends { readonly kind: infer Kind extends keyof Values }
      ? Values[Kind]
      : never;

type IsOptional<S> = S extends { readonly kind: 'secret' } | { readonly byDefault: undefined }
  ? true
  : false;

type OptionalKeys<Section> = {
  [K in keyof Section]: IsOptional<Section[K]> extends true ? K : never;
}[keyof Section];

type SectionOf<Section> = {
  -readonly [K in Exclude<keyof Section, OptionalKeys<Section>>]: ValueOf<Section[K]>;
} & { -readonly [K in OptionalKeys<Section>]?: ValueOf<Section[K]> | undefined };

/**
 * All settings of one run, deep-frozen when loaded, so that no code can change a run through them.
 */
export type Config = { role: ValueOf<Table['role']> } & {
  [S in SectionName]: SectionOf<Table[S]>;
};

/** The written form of a value. */
type InputOf<Value> = Value extends SecretUrl ? string : Value;

/** A configuration as written: every key is optional. */
export type ConfigInput = { role?: Config['role'] | undefined } & {
  [S in SectionName]?: { [K in keyof Config[S]]?: InputOf<Config[S][K]> | undefined } | undefined;
};

const { role, ...sections } = settingTable;

const mirrorsParser = z.strictObject({
  source: z
    .string()
    .describe('registry, or a path in it: quay.io/openshift-release-dev/ocp-release'),
  mirrors: z.array(z.string()).min(1).describe('what is tried in its place, in this order'),
  sourcePolicy: z
    .enum(sourcePolicies)
    .optional()
    .describe('whether the source is asked where no mirror has the image; unset: it is'),
});

/** The whole configuration of one run. The schema refuses unknown keys. */
export const Config = z.strictObject({
  role: parserOf(role, 'role'),
  ...mapped(sections, (section: Readonly<Record<string, Setting>>, name) =>
    z
      .strictObject(
        mapped(section, (setting, key) => parserOf(setting, `${name}.${key}` as SettingKey)),
      )
      .prefault({}),
  ),
}) as unknown as z.ZodType<Config, ConfigInput>;

/** If a value has the right type, an issue carries its `Problem` as parameters. */
function parserOf(setting: Setting, key: SettingKey): z.ZodType {
  const parser = bareParserOf(setting).superRefine((value, context) => {
    const problem = problemIn(key, value);
    if (problem !== undefined) context.addIssue({ code: 'custom', params: { ...problem } });
  });
  return withDefault(setting, parser).describe(setting.summary);
}

function bareParserOf(setting: Setting): z.ZodType {
  switch (setting.kind) {
    case 'count':
      return z.int().min(0);
    case 'port':
      return z.int().min(1).max(65_535);
    case 'flag':
      return z.boolean();
    case 'list':
    case 'argv':
      return z.array(z.string());
    case 'mirrors':
      return z.array(mirrorsParser);
    case 'hints':
      return z.strictObject(mapped(diskHintKinds, hintParser));
    case 'secret':
      return z.instanceof(Secret);
    case 'word':
      return z.enum(setting.words as [string]);
    case 'url':
      // The format is for editors; the refinement explains a wrong URL better.
      return orEmpty(z.string().meta({ format: 'uri' }));
    case 'sha256':
      return orEmpty(z.string().regex(/^[0-9a-f]{64}$/));
    case 'listen':
      return orEmpty(z.string().regex(listenPattern));
    default:
      return z.string();
  }
}

function withDefault(setting: Setting, parser: z.ZodType): z.ZodType {
  if (!('byDefault' in setting)) {
    const none = { list: [], argv: [], mirrors: [], hints: {}, secret: undefined }[setting.kind];
    return none === undefined ? parser.optional() : parser.default(none);
  }
  if (setting.byDefault === undefined) return parser.optional();
  const given = parser.default(setting.byDefault);
  if (setting.kind !== 'url' && setting.kind !== 'place') return given;
  return given.transform((text) => new SecretUrl(text as string));
}

function hintParser(hint: (typeof diskHintKinds)[keyof typeof diskHintKinds]): z.ZodType {
  const parser = {
    text: () => z.string().regex('pattern' in hint ? hint.pattern : /./),
    count: () => z.int().min(1),
    flag: () => z.boolean(),
  }[hint.kind]();
  return parser.optional().describe(hint.summary);
}

function orEmpty(parser: z.ZodType<string>): z.ZodType<string> {
  return z.union([z.literal(''), parser]);
}

function mapped<T>(
  entries: Readonly<Record<string, T>>,
  make: (entry: T, name: string) => z.ZodType,
): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name, make(entry, name)]),
  );
}

import * as z from 'zod';
import { type DiskHints, diskHintKinds } from '../lib/disk-hints.ts';
import { type ImageMirrors, sourcePolicies } from '../lib/image-mirrors.ts';
import { listenPattern } from '../lib/listen-address.ts';
import { SecretUrl } from '../lib/secret-url.ts';
import { Secret } from '../model/secret.ts';
import { type Setting, settingTable, type WordSetting } from './setting-table.ts';

// A configuration is parsed once, and to compile a parser for it takes longer than that.
z.config({ jitless: true });

type Table = typeof settingTable;
type SectionName = Exclude<keyof Table, 'role'>;

/** What a run reads of a setting. */
type ValueOf<S> =
  S extends WordSetting<infer Word>
    ? Word
    : S extends { readonly kind: 'text' | 'sha256' | 'listen' }
      ? string
      : S extends { readonly kind: 'url' | 'place' }
        ? SecretUrl
        : S extends { readonly kind: 'list' | 'argv' }
          ? string[]
          : S extends { readonly kind: 'hints' }
            ? DiskHints
            : S extends { readonly kind: 'mirrors' }
              ? readonly ImageMirrors[]
              : S extends { readonly kind: 'secret' }
                ? Secret
                : S extends { readonly kind: 'flag' }
                  ? boolean
                  : number;

type IsOptional<S> = S extends { readonly kind: 'secret' } | { readonly byDefault: undefined }
  ? true
  : false;

type OptionalKeys<Section> = {
  [K in keyof Section]: IsOptional<Section[K]> extends true ? K : never;
}[keyof Section];

type SectionOf<Section> = {
  -readonly [K in Exclude<keyof Section, OptionalKeys<Section>>]: ValueOf<Section[K]>;
} & { -readonly [K in OptionalKeys<Section>]?: ValueOf<Section[K]> | undefined };

/** Every setting of one run, deep-frozen when loaded; nothing steers a run by changing it. */
export type Config = { role: ValueOf<Table['role']> } & {
  [S in SectionName]: SectionOf<Table[S]>;
};

/** How a value may be written. */
type InputOf<Value> = Value extends SecretUrl ? string : Value;

/** A configuration as it is written: every key may be left out. */
export type ConfigInput = { role?: Config['role'] | undefined } & {
  [S in SectionName]?: { [K in keyof Config[S]]?: InputOf<Config[S][K]> | undefined } | undefined;
};

const { role, ...sections } = settingTable;

/** Of the settings that are written as one text. */
const textParsers = {
  text: (byDefault: string) => z.string().default(byDefault),
  url: () => orEmpty(z.url({ protocol: /^https?$/ })).transform(asSecret),
  place: () => z.string().default('').transform(asSecret),
  sha256: () => orEmpty(z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hexadecimal digits')),
  listen: () => orEmpty(z.string().regex(listenPattern, 'HOST:PORT, [IPV6]:PORT or :PORT')),
} as const;

/** The whole configuration of one run. Unknown keys are refused. */
export const Config = z.strictObject({
  role: parserOf(role),
  ...mapped(sections, sectionParser),
}) as unknown as z.ZodType<Config, ConfigInput>;

function sectionParser(section: Readonly<Record<string, Setting>>): z.ZodType {
  return z.strictObject(mapped(section, parserOf)).prefault({});
}

function parserOf(setting: Setting): z.ZodType {
  return bareParserOf(setting).describe(setting.summary);
}

function bareParserOf(setting: Setting): z.ZodType {
  switch (setting.kind) {
    case 'count':
      return countParser(setting.byDefault);
    case 'port':
      return z.int().min(1).max(65_535).default(setting.byDefault);
    case 'flag':
      return z.boolean().default(setting.byDefault);
    case 'list':
    case 'argv':
      return z.array(z.string()).default([]);
    case 'mirrors':
      return z.array(mirrorsParser()).default([]);
    case 'hints':
      return z.strictObject(mapped(diskHintKinds, hintParser)).default({});
    case 'secret':
      return z.instanceof(Secret).optional();
    case 'word':
      return z.enum(setting.words as [string]).default(setting.byDefault);
    default:
      return textParsers[setting.kind](setting.byDefault);
  }
}

function mirrorsParser(): z.ZodType {
  return z.strictObject({
    source: z
      .string()
      .describe('registry, or a path in it: quay.io/openshift-release-dev/ocp-release'),
    mirrors: z.array(z.string()).min(1).describe('what is tried in its place, in this order'),
    sourcePolicy: z
      .enum(sourcePolicies)
      .optional()
      .describe('whether the source is asked where no mirror has the image; unset: it is'),
  });
}

function hintParser(hint: (typeof diskHintKinds)[keyof typeof diskHintKinds]): z.ZodType {
  const parser = {
    text: () => z.string().regex('pattern' in hint ? hint.pattern : /./),
    count: () => z.int().min(1),
    flag: () => z.boolean(),
  }[hint.kind]();
  return parser.optional().describe(hint.summary);
}

function countParser(byDefault: number | undefined): z.ZodType {
  const count = z.int().min(0);
  return byDefault === undefined ? count.optional() : count.default(byDefault);
}

function asSecret(text: string): SecretUrl {
  return new SecretUrl(text);
}

function orEmpty(parser: z.ZodType<string>): z.ZodType<string> {
  return z.union([z.literal(''), parser]).default('');
}

function mapped<T>(
  entries: Readonly<Record<string, T>>,
  make: (entry: T) => z.ZodType,
): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, make(entry)]));
}

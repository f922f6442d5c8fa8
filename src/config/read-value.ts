import { type DiskHints, readDiskHints } from '../lib/disk-hints.ts';
import { type ImageMirrors, mirrorProblem, sourcePolicies } from '../lib/image-mirrors.ts';
import { jsonIn } from '../lib/json.ts';
import { listenAddressOf } from '../lib/listen-address.ts';
import { nearestName } from '../lib/nearest.ts';
import { isUnescaped, shownText } from '../lib/shown-url.ts';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { configFailure } from './failures.ts';
import type { Setting } from './setting-table.ts';
import { namesFile, type SettingKey, settingKinds, type SettingValue } from './settings.ts';
import { readWriterArgs, savingOption } from '../lib/writer-args.ts';

/**
 * Reads the text of a flag or a variable as the value of a setting. What this accepts, the schema
 * accepts.
 * @throws AgentError `config.invalid-value` that names the origin and what to write instead
 */
export function readValue(key: SettingKey, text: string, origin: string): SettingValue {
  const kind = settingKinds[key];
  return kind.kind === 'word'
    ? readWord(key, { text, origin, words: kind.words })
    : readers[kind.kind](key, text, origin);
}

type Reader = (key: SettingKey, text: string, origin: string) => SettingValue;

const readers: Readonly<Record<Exclude<Setting['kind'], 'word'>, Reader>> = {
  text: (key, text, origin) => {
    // As the client library refuses it, once for each attempt.
    if (key === 's3.region' && !/^(?!-)[a-z\d-]{1,63}(?<!-)$/i.test(text))
      throw invalid(key, origin, {
        what: `${quoted(text)} is not a region`,
        write: 'letters, digits and hyphens, us-east-1 for example',
      });
    if (!(key in namesFile)) return text;
    if (!/^[a-z][\w+.-]*:\/\//i.test(text)) return requirePath(key, text, origin);
    throw invalid(key, origin, {
      what: 'a URL, where the path of a file is meant',
      write: 'a path',
    });
  },
  place: (key, text, origin) =>
    /^[a-z][a-z0-9+.-]*:/i.test(text) ? readUrl(key, text, origin) : requirePath(key, text, origin),
  secret: readSecret,
  url: readUrl,
  sha256: readerOf(
    (text) => (text === '' || /^[0-9a-f]{64}$/.test(text) ? text : undefined),
    'is not a SHA-256 checksum',
    '64 lower-case hexadecimal digits',
  ),
  listen: readerOf(
    (text) => (text === '' || listenAddressOf(text) !== undefined ? text : undefined),
    'is not an address to listen on',
    'HOST:PORT, [IPV6]:PORT or :PORT, 127.0.0.1:9110 for example',
  ),
  count: readerOf(
    (text) => numberIn(text, /^\+?\d+$/, [0, Number.MAX_SAFE_INTEGER]),
    'is not a whole number from 0',
    'digits only, 3 for example',
  ),
  port: readerOf(
    (text) => numberIn(text, /^\d+$/, [1, 65_535]),
    'is not a port',
    'a number from 1 to 65535',
  ),
  flag: readerOf(goBoolean, 'is neither true nor false', 'true or false'),
  list: (key, text, origin) =>
    requireItems(
      key,
      text.startsWith('[') ? readArray(key, text, origin) : commaList(text),
      origin,
    ),
  argv: readArgv,
  hints: readHints,
  mirrors: readMirrors,
};

/**
 * No folder of the host is ours, that a relative path could begin at; a configuration file has its
 * own.
 */
function requirePath(key: SettingKey, text: string, origin: string): string {
  if (text === '' || text.startsWith('/') || namesFile[key] === 'own') return text;
  const isWord = key === 'image.stream' && /^[\w-]+$/.test(text);
  throw invalid(key, origin, {
    what: `${quoted(text)} is not a path of the host`,
    write: isWord
      ? `the path or the URL of a stream's JSON, https://builds.coreos.fedoraproject.org/streams/${text}.json for example`
      : `a path from the root, /${text.replace(/^(?:\.{0,2}\/)*/, '')} for example`,
  });
}

/** A reader that refuses the text for which `read` has no value. */
function readerOf(
  read: (text: string) => SettingValue | undefined,
  what: string,
  write: string,
): Reader {
  return (key, text, origin) => {
    const value = read(text);
    if (value !== undefined) return value;
    throw invalid(key, origin, { what: `${quoted(text)} ${what}`, write });
  };
}

function numberIn(
  text: string,
  pattern: RegExp,
  [least, most]: readonly [number, number],
): number | undefined {
  const value = Number(text);
  return pattern.test(text) && value >= least && value <= most ? value : undefined;
}

/**
 * The items of a list, where each can be what the setting is for.
 * @throws AgentError `config.invalid-value`
 */
export function requireItems(
  key: SettingKey,
  items: readonly string[],
  origin: string,
): readonly string[] {
  const wrong = items.find((item) => key === 'disk.keep' && savingOption(item) === undefined);
  if (wrong === undefined) return items;
  throw invalid(key, origin, {
    what: `coreos-installer cannot keep ${JSON.stringify(shownText(wrong))}`,
    write: 'labels of partitions, with * and ?, or numbers from 1: ["data*", "5", "5-7"]',
  });
}

/** The words between commas, without blanks around them and without empty ones. */
const commaList = (text: string): readonly string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** Go's notion of a boolean, strconv.ParseBool; undefined for any other word. */
export function goBoolean(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  return undefined;
}

/** An error about the value of one setting. */
export function invalid(
  key: SettingKey,
  origin: string,
  { what, write }: { readonly what: string; readonly write: string },
): AgentError {
  return configFailure('config.invalid-value', `${origin}: ${what}`, {
    hint: `write ${write}`,
    context: { setting: key },
  });
}

const quoted = (text: string): string => JSON.stringify(shownText(text));

function readWord(
  key: SettingKey,
  {
    text,
    origin,
    words,
  }: { readonly text: string; readonly origin: string; readonly words: readonly string[] },
): string {
  if (words.includes(text)) return text;
  const near = nearestName(text, words);
  throw invalid(key, origin, {
    what: `${quoted(text)} is not one of ${words.join(', ')}`,
    write: near ?? `one of ${words.join(', ')}`,
  });
}

/**
 * Whether a percent sign in the user or the password begins no escape; Go's programs refuse it too.
 */
const hasBadEscape = (address: string): boolean =>
  /%(?![0-9a-f]{2})/i.test(/^https?:\/\/([^/?#]*)@/i.exec(address)?.[1] ?? '');

/** The line break at the end of a secret does not belong to it. */
function readSecret(key: SettingKey, text: string, origin: string): Secret {
  const secret = text.trimEnd();
  if (key !== 'service.token' || !/[^\t -~\u0080-\u00ff]/.test(secret)) return new Secret(secret);
  throw invalid(key, origin, {
    what: 'the token has a line break, or another character that no HTTP header carries',
    write: 'the token alone, in one line of ASCII',
  });
}

function readUrl(key: SettingKey, text: string, origin: string): string {
  if (text === '') return text;
  // Of an image or an Ignition, the path and the query may have a sign of their own.
  if (isUnescaped(text, /^(?:image|ignition)\./.test(key) ? 'file' : 'server')) {
    throw invalid(key, origin, {
      what: 'the user or the password of the URL is not escaped: escape @ as %40, # as %23, ? as %3F and / as %2F',
      write: 'http://USER:PASSWORD@HOST:PORT with these escapes',
    });
  }
  if (hasBadEscape(text)) {
    throw invalid(key, origin, {
      what: 'the user or the password of the URL has a % that begins no escape',
      write: '%25 for a percent sign',
    });
  }
  if (/^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)) return text;
  throw invalid(key, origin, {
    what: `${text.includes('@') ? 'the text' : quoted(text)} is not an http(s) URL`,
    write: isBareIpv6(text)
      ? 'the IPv6 address in brackets: http://[fd00::5]:8090 for example'
      : 'http://HOST:PORT or https://HOST:PORT',
  });
}

const isBareIpv6 = (text: string): boolean =>
  /^https?:\/\/(?:[^@/]*@)?[\da-f]*:[\da-f:.]*:/i.test(text);

/**
 * Refuses arguments that coreos-installer would refuse, whose own word comes after the disk was
 * made free.
 * @throws AgentError `config.invalid-value`
 */
export function requireWriterArgs(key: SettingKey, args: readonly string[], origin: string): void {
  const { mistake } = readWriterArgs(args);
  if (mistake !== undefined) throw invalid(key, origin, mistake);
}

function readArgv(key: SettingKey, text: string, origin: string): readonly string[] {
  const args = readArray(key, text, origin);
  requireWriterArgs(key, args, origin);
  return args;
}

function readHints(key: SettingKey, text: string, origin: string): DiskHints {
  const read = readDiskHints(text);
  if ('hints' in read) return read.hints;
  throw invalid(key, origin, {
    what: shownText(read.mistake),
    write: 'NAME=VALUE,NAME=VALUE, serialNumber=S3Z8NB0K,rotational=false for example',
  });
}

/** Whether a value has the form that the schema asks for. */
const isMirrors = (value: unknown): value is readonly ImageMirrors[] =>
  Array.isArray(value) &&
  value.every((one: Partial<Record<string, unknown>> | null) => {
    const { source, mirrors, sourcePolicy = sourcePolicies[0], ...others } = one ?? {};
    const names = Array.isArray(mirrors) ? [source, ...(mirrors as unknown[])] : [];
    return (
      names.length > 1 &&
      names.every((name) => typeof name === 'string') &&
      sourcePolicies.some((policy) => policy === sourcePolicy) &&
      Object.keys(others).length === 0
    );
  });

function readMirrors(key: SettingKey, text: string, origin: string): readonly ImageMirrors[] {
  return requireMirrors(key, text.trim() === '' ? [] : jsonIn(text), origin);
}

/**
 * Mirrors with names that registries can be found by.
 * @throws AgentError `config.invalid-value`
 */
export function requireMirrors(
  key: SettingKey,
  value: unknown,
  origin: string,
): readonly ImageMirrors[] {
  const problem = isMirrors(value) ? mirrorProblem(value) : 'not a list of sources with mirrors';
  if (problem === undefined) return value as readonly ImageMirrors[];
  throw invalid(key, origin, { what: shownText(problem), write: mirrorsForm });
}

/** How mirrors are written, for people. */
export const mirrorsForm =
  'a list, [{"source": "quay.io/openshift-release-dev", "mirrors": ["mirror.example.com:8443/openshift"]}] for example';

function readArray(key: SettingKey, text: string, origin: string): readonly string[] {
  if (text.trim() === '') return [];
  const read = readStringArray(text);
  if ('items' in read) return read.items;
  throw invalid(key, origin, {
    what: `not a JSON array of strings: ${read.expected} is expected at character ${read.at}`,
    write: `a JSON array of strings, '["--append-karg","ip=eth0:dhcp"]' for example`,
  });
}

/**
 * The strings of a JSON array, or where the text stops being one; `at` counts characters from 1.
 */
type StringArrayRead =
  { readonly items: readonly string[] } | { readonly at: number; readonly expected: string };

const space = /[ \t\n\r]*/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y; // oxlint-disable-line no-control-regex -- JSON (RFC 8259) refuses them unescaped

/** Reads a JSON array of strings and nothing else; a mistake is reported with its position. */
export function readStringArray(text: string): StringArrayRead {
  const items: string[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== '[') return missing(at, 'a [ that opens a JSON array');
  at = skipSpace(text, at + 1);
  if (text[at] === ']') return end(text, at + 1, items);
  for (;;) {
    const found = match(string, text, at);
    if (found === undefined) return missing(at, 'a string in double quotes');
    items.push(JSON.parse(found) as string);
    at = skipSpace(text, at + found.length);
    if (text[at] === ']') return end(text, at + 1, items);
    if (text[at] !== ',') return missing(at, 'a comma or a ]');
    at = skipSpace(text, at + 1);
  }
}

const missing = (at: number, expected: string): StringArrayRead => ({ at: at + 1, expected });

function end(text: string, after: number, items: readonly string[]): StringArrayRead {
  const rest = skipSpace(text, after);
  return rest === text.length ? { items } : missing(rest, 'nothing after the array');
}

const skipSpace = (text: string, at: number): number => at + (match(space, text, at)?.length ?? 0);

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

import { readDiskHints } from '../model/disk-hints.ts';
import { type ImageMirrors, mirrorProblem } from '../lib/image-mirrors.ts';
import { jsonIn } from '../lib/json.ts';
import { isUnescaped, shownText } from '../lib/shown-url.ts';
import { readWriterArgs, savingOption } from '../model/writer-args.ts';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { configFailure } from './failures.ts';
import type { Setting } from './setting-table.ts';
import { namesFile, type SettingKey, settingKinds } from './settings.ts';

/**
 * The text of a flag or a variable as the value of a setting. One that is none remains a text,
 * which the schema refuses.
 */
export const readValue = (key: SettingKey, text: string): unknown =>
  readers[settingKinds[key].kind]?.(text) ?? text;

const wholeNumber = (text: string): number | undefined =>
  /^\+?\d+$/.test(text) ? Number(text) : undefined;

const jsonList = (text: string): unknown => (text.trim() === '' ? [] : jsonIn(text));

const readers: Partial<Record<Setting['kind'], (text: string) => unknown>> = {
  // The line break at the end does not belong to it.
  secret: (text) => new Secret(text.trimEnd()),
  count: wholeNumber,
  port: wholeNumber,
  flag: goBoolean,
  list: (text) => (text.startsWith('[') ? jsonIn(text) : commaList(text)),
  argv: jsonList,
  mirrors: jsonList,
  hints: (text) => {
    const read = readDiskHints(text);
    return 'hints' in read ? read.hints : undefined;
  },
};

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

/** What is wrong with a value, and what to write in its place. */
export interface Problem {
  readonly what: string;
  readonly write: string;
}

/** An error about the value of one setting. */
export function invalid(key: SettingKey, origin: string, { what, write }: Problem): AgentError {
  return configFailure('config.invalid-value', `${origin}: ${what}`, {
    hint: `write ${write}`,
    context: { setting: key },
  });
}

/** A text of a setting as a message may show it. */
export const quoted = (text: string): string => JSON.stringify(shownText(text));

/** What is wrong with a value of the right type, beyond what the schema says. */
export function problemIn(key: SettingKey, value: unknown): Problem | undefined {
  return problems[settingKinds[key].kind]?.(key, value as never);
}

const problems: Partial<
  Record<Setting['kind'], (key: SettingKey, value: never) => Problem | undefined>
> = {
  text: textProblem,
  url: (key, value: unknown) => (typeof value === 'string' ? urlProblem(key, value) : undefined),
  place: (key, value: string) =>
    /^[a-z][a-z0-9+.-]*:/i.test(value) ? urlProblem(key, value) : pathProblem(key, value),
  secret: (key, value: Secret) =>
    key === 'service.token' && /[^\t -~\u0080-\u00ff]/.test(value.reveal())
      ? {
          what: 'the token has a line break, or another character that no HTTP header carries',
          write: 'the token alone, in one line of ASCII',
        }
      : undefined,
  list: (key, items: readonly string[]) => {
    if (key !== 'disk.keep') return undefined;
    const wrong = items.find((item) => savingOption(item) === undefined);
    return wrong === undefined
      ? undefined
      : {
          what: `coreos-installer cannot keep ${quoted(wrong)}`,
          write: 'labels of partitions, with * and ?, or numbers from 1: ["data*", "5", "5-7"]',
        };
  },
  // coreos-installer's own word comes after the disk was made free.
  argv: (_, args: readonly string[]) => readWriterArgs(args).mistake,
  hints: (_, value: unknown) => {
    const read = typeof value === 'string' ? readDiskHints(value) : { hints: value };
    return 'hints' in read
      ? undefined
      : {
          what: shownText(read.mistake),
          write: 'NAME=VALUE,NAME=VALUE, serialNumber=S3Z8NB0K,rotational=false for example',
        };
  },
  mirrors: (_, value: readonly ImageMirrors[]) => {
    const problem = mirrorProblem(value);
    return problem === undefined ? undefined : { what: shownText(problem), write: mirrorsForm };
  },
};

function textProblem(key: SettingKey, text: string): Problem | undefined {
  // As the client library refuses it, once for each attempt.
  if (key === 's3.region' && !/^(?!-)[a-z\d-]{1,63}(?<!-)$/i.test(text))
    return {
      what: `${quoted(text)} is not a region`,
      write: 'letters, digits and hyphens, us-east-1 for example',
    };
  if (!(key in namesFile)) return undefined;
  if (!/^[a-z][\w+.-]*:\/\//i.test(text)) return pathProblem(key, text);
  return { what: 'a URL, where the path of a file is meant', write: 'a path' };
}

/**
 * No folder of the host is ours, that a relative path could begin at; a configuration file has its
 * own.
 */
function pathProblem(key: SettingKey, text: string): Problem | undefined {
  if (text === '' || text.startsWith('/') || namesFile[key] === 'own') return undefined;
  const isWord = key === 'image.stream' && /^[\w-]+$/.test(text);
  return {
    what: `${quoted(text)} is not a path of the host`,
    write: isWord
      ? `the path or the URL of a stream's JSON, https://builds.coreos.fedoraproject.org/streams/${text}.json for example`
      : `a path from the root, /${text.replace(/^(?:\.{0,2}\/)*/, '')} for example`,
  };
}

/**
 * Whether a percent sign in the user or the password begins no escape; Go's programs refuse it too.
 */
const hasBadEscape = (address: string): boolean =>
  /%(?![0-9a-f]{2})/i.test(/^https?:\/\/([^/?#]*)@/i.exec(address)?.[1] ?? '');

function urlProblem(key: SettingKey, text: string): Problem | undefined {
  if (text === '') return undefined;
  // Of an image or an Ignition, the path and the query may have a sign of their own.
  if (isUnescaped(text, /^(?:image|ignition)\./.test(key) ? 'file' : 'server'))
    return {
      what: 'the user or the password of the URL is not escaped: escape @ as %40, # as %23, ? as %3F and / as %2F',
      write: 'http://USER:PASSWORD@HOST:PORT with these escapes',
    };
  if (hasBadEscape(text))
    return {
      what: 'the user or the password of the URL has a % that begins no escape',
      write: '%25 for a percent sign',
    };
  if (/^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)) return undefined;
  return {
    what: `${text.includes('@') ? 'the text' : quoted(text)} is not an http(s) URL`,
    write: isBareIpv6(text)
      ? 'the IPv6 address in brackets: http://[fd00::5]:8090 for example'
      : 'http://HOST:PORT or https://HOST:PORT',
  };
}

const isBareIpv6 = (text: string): boolean =>
  /^https?:\/\/(?:[^@/]*@)?[\da-f]*:[\da-f:.]*:/i.test(text);

/** How mirrors are written, for people. */
export const mirrorsForm =
  'a list, [{"source": "quay.io/openshift-release-dev", "mirrors": ["mirror.example.com:8443/openshift"]}] for example';

import { readDiskHints } from '../settings/disk-hints.ts';
import { type ImageMirrors, mirrorProblem } from '../settings/image-mirrors.ts';
import { addressReadFrom, addressRule, canonicalAddress } from '../lib/address.ts';
import { jsonIn } from '../lib/json.ts';
import { isUnescaped, shownText } from '../lib/shown-url.ts';
import { readWriterArgs, savingOption } from '../settings/writer-args.ts';
import type { AgentError } from '../model/failure.ts';
import { Secret } from '../model/secret.ts';
import { configFailure } from './failures.ts';
import type { Setting } from './setting-table.ts';
import { namesFile, type SettingKey, settingKinds } from './settings.ts';

/**
 * The value of a setting from the text of a flag or a variable. A text of the wrong kind stays a
 * text, which the schema refuses.
 */
export const readValue = (key: SettingKey, text: string): unknown =>
  readers[settingKinds[key].kind]?.(text) ?? text;

const wholeNumber = (text: string): number | undefined =>
  /^\+?\d+$/.test(text) ? Number(text) : undefined;

const jsonList = (text: string): unknown => (text.trim() === '' ? [] : jsonIn(text));

const readers: Partial<Record<Setting['kind'], (text: string) => unknown>> = {
  // The line break at the end is not part of the secret.
  secret: (text) => new Secret(text.trimEnd()),
  count: wholeNumber,
  port: wholeNumber,
  flag: goBoolean,
  list: (text) =>
    text.startsWith('[')
      ? jsonIn(text)
      : text
          .split(',')
          .map((word) => word.trim())
          .filter((word) => word !== ''),
  argv: jsonList,
  mirrors: jsonList,
  hints: (text) => {
    const read = readDiskHints(text);
    return 'hints' in read ? read.hints : undefined;
  },
};

/** A boolean by Go's strconv.ParseBool; undefined for any other word. */
export function goBoolean(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  return undefined;
}

/** An invalid value, and a valid form. */
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

/** A setting's text in quotes, cut for a message. */
export const quoted = (text: string): string => JSON.stringify(shownText(text));

/** The form of mirrors, for people. */
export const mirrorsForm =
  'a list, [{"source": "quay.io/openshift-release-dev", "mirrors": ["mirror.example.com:8443/openshift"]}] for example';

/** Checks a value of the right type beyond the schema; undefined if it is valid. */
export function problemIn(key: SettingKey, value: unknown): Problem | undefined {
  switch (settingKinds[key].kind) {
    case 'text':
      return textProblem(key, value as string);
    case 'url':
      return urlProblem(key, value as string);
    case 'place':
      return /^[a-z][a-z0-9+.-]*:/i.test(value as string)
        ? urlProblem(key, value as string)
        : pathProblem(key, value as string);
    case 'secret':
      return key === 'service.token' ? tokenProblem((value as Secret).reveal()) : undefined;
    case 'list':
      return listProblem(key, value as readonly string[]);
    case 'argv':
      // coreos-installer refuses these arguments too, but only after the disk was emptied.
      return readWriterArgs(value as readonly string[]).mistake;
    case 'count':
      return key === 'hooks.minutes' ? hookLimitProblem(value as number) : undefined;
    case 'mirrors': {
      const what = mirrorProblem(value as readonly ImageMirrors[]);
      return what === undefined ? undefined : { what: shownText(what), write: mirrorsForm };
    }
    default:
      return undefined;
  }
}

function listProblem(key: SettingKey, list: readonly string[]): Problem | undefined {
  if (key === 'controller.serviceIps') return addressProblem(list);
  if (key !== 'disk.keep') return undefined;
  const wrong = list.find((item) => savingOption(item) === undefined);
  if (wrong === undefined) return undefined;
  return {
    what: `coreos-installer cannot keep ${quoted(wrong)}`,
    write: 'labels of partitions, with * and ?, or numbers from 1: ["data*", "5", "5-7"]',
  };
}

/** A hook that runs for weeks is a host that hangs. */
const hookLimitProblem = (limit: number): Problem | undefined =>
  limit < 1 || limit > 24 * 60 ? { what: `${limit} minutes`, write: 'from 1 to 1440' } : undefined;

const tokenProblem = (token: string): Problem | undefined =>
  /[^\t -~\u0080-\u00ff]/.test(token)
    ? {
        what: 'the token has a line break, or another character that no HTTP header carries',
        write: 'the token alone, in one line of ASCII',
      }
    : undefined;

/** Host aliases of the controller: the API server refuses its Job for any other text. */
function addressProblem(list: readonly string[]): Problem | undefined {
  const wrong = list.find((one) => one.includes('%') || canonicalAddress(one) === undefined);
  if (wrong === undefined) return undefined;
  return {
    what: `${quoted(wrong)} is not an IP address`,
    write: `IP addresses, IPv4 as ${addressRule}: ["192.0.2.5", "2001:db8::5"] for example`,
  };
}

/** Checks a text of hints; undefined if a flag could have it. */
export function hintsProblem(text: string): Problem | undefined {
  const read = readDiskHints(text);
  if ('hints' in read) return undefined;
  return {
    what: shownText(read.mistake),
    write: 'NAME=VALUE,NAME=VALUE, serialNumber=S3Z8NB0K,rotational=false for example',
  };
}

function textProblem(key: SettingKey, text: string): Problem | undefined {
  // The client library refuses it too, but again at each attempt.
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
 * A path must be absolute, except in a configuration file, where it is relative to the file's
 * folder.
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

function urlProblem(key: SettingKey, text: string): Problem | undefined {
  if (text === '') return undefined;
  // The path and the query of an image or an Ignition URL may have these characters.
  if (isUnescaped(text, /^(?:image|ignition)\./.test(key) ? 'file' : 'server'))
    return {
      what: 'the user or the password of the URL is not escaped: escape @ as %40, # as %23, ? as %3F and / as %2F',
      write: 'http://USER:PASSWORD@HOST:PORT with these escapes',
    };
  const [, credentials = ''] = /^https?:\/\/([^/?#]*)@/i.exec(text) ?? [];
  // Go's programs refuse such an escape too.
  if (/%(?![0-9a-f]{2})/i.test(credentials))
    return {
      what: 'the user or the password of the URL has a % that begins no escape',
      write: '%25 for a percent sign',
    };
  // Go's programs would take `http` for the host of the proxy (net/url, `validUserinfo`).
  if (key.startsWith('proxy.') && /[^\w.~!$&'()*+,;=:%-]/.test(credentials))
    return {
      what: 'the user or the password of the URL has a character that must be escaped',
      write: '[ as %5B, ä as %C3%A4, and every other special character like these',
    };
  const shown = text.includes('@') ? 'the text' : quoted(text);
  const address = addressReadFrom(text);
  if (address !== undefined)
    return {
      what: `${shown} leads to ${address}`,
      write: `${addressRule}: http://192.0.2.5:8090 for example`,
    };
  if (/^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)) return undefined;
  const isBareIpv6 = /^https?:\/\/(?:[^@/]*@)?[\da-f]*:[\da-f:.]*:/i.test(text);
  return {
    what: `${shown} is not an http(s) URL`,
    write: isBareIpv6
      ? 'the IPv6 address in brackets: http://[fd00::5]:8090 for example'
      : 'http://HOST:PORT or https://HOST:PORT',
  };
}

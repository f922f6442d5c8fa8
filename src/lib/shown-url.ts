import { MASK } from '../model/secret.ts';

/**
 * An http(s) address for logs and records: origin and path. User and password are left out,
 * and so is the query, which may hold a signature that lets anyone read. Whatever else it is, a
 * path on the host for example, stays unchanged.
 */
export function shownUrl(address: string | URL): string {
  const url = typeof address === 'string' ? URL.parse(address) : address;
  if (url === null) return withoutSecretParts(String(address));
  if (!/^https?:$/.test(url.protocol)) return String(address);
  return url.pathname === '/' ? url.origin : `${url.origin}${url.pathname}`;
}

/**
 * What looks like an address and is none, as `shownText` reads it; a path on the host stays
 * unchanged.
 */
function withoutSecretParts(text: string): string {
  const scheme = /^https?:\/\//i.exec(text)?.[0];
  if (scheme === undefined) return text;
  // All up to the last sign may be the password: it may hold a slash, which makes it no address.
  const rest = text.slice(Math.max(scheme.length, text.lastIndexOf('@') + 1));
  return `${scheme}${rest.replace(/[?#].*$/s, '')}`;
}

/**
 * The value of an Authorization header for the user of an address; undefined where it names none.
 */
export const basicCredentials = ({ username, password }: URL): string | undefined =>
  username === '' && password === ''
    ? undefined
    : `Basic ${Buffer.from(`${percentDecoded(username)}:${percentDecoded(password)}`).toString('base64')}`;

/** A percent sign that begins no escape stands for itself, as curl has it. */
export function percentDecoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Addresses in a text. A quote ends one, but not in its user or password: no parser of addresses
 * minds it there.
 */
const addresses = /https?:\/\/[/\\]*(?:[^\s/\\?#]*@)?[^\s'"`<>]+/gi;

/** A text in which every http(s) address reads as `shownUrl` has it. */
export const shownUrlsIn = (text: string): string =>
  text.replaceAll(addresses, (address) => shownUrl(address));

/**
 * A text in which no word shows a secret: users, passwords and queries of addresses, of those too
 * that cannot be read, and the values of kernel arguments that are passwords.
 */
export const shownText = (text: string): string =>
  text
    .replaceAll(quotedArgument, `$1=${MASK}`)
    .replaceAll(/:\/\/[/\\]*[^\s/\\?#]*@/g, `://${MASK}@`)
    .replaceAll(/[^\s"'<>]+/g, (word) => shownAddress(shownArgument(word)));

function shownWithoutScheme(word: string): string {
  const at = word.lastIndexOf('@');
  const before = word.slice(0, Math.max(at, 0));
  return before.includes(':') && !before.includes('/') ? `${MASK}${word.slice(at)}` : word;
}

function shownAddress(word: string): string {
  const found = /[a-z][a-z0-9+.-]{0,20}:\/\//i.exec(word);
  // What lacks its scheme is no address, and holds a password all the same.
  if (found === null) return shownWithoutScheme(word);
  const start = found.index + found[0].length;
  const end = word.slice(start).search(/[/?#]/);
  // A password with one of these makes it no address, or another one: then all up to the last sign
  // may be the password.
  const isAddress = word[start + end] === '/' && URL.canParse(word.slice(found.index));
  const at = word.lastIndexOf('@', isAddress && end >= 0 ? start + end : word.length);
  const bare = at < start ? word : `${word.slice(0, start)}${MASK}${word.slice(at)}`;
  const query = bare.slice(start).search(/[?#]/);
  return query < 0 ? bare : `${bare.slice(0, start + query + 1)}${MASK}`;
}

/**
 * Whether a part of an address was meant as its user or password, and reads as something else: curl
 * and Go's programs take the second `@`, and what is behind `#`, `?` or `/`, each in their own way.
 * The path of a server has no sign.
 */
export function isUnescaped(address: string, of: 'server' | 'file'): boolean {
  const [, rest = ''] = /^[a-z][a-z0-9+.-]*:\/\/[/\\]*(.*)$/is.exec(address) ?? [];
  const [authority = ''] = rest.split(/[/?#\\]/, 1);
  const at = authority.indexOf('@');
  const last = rest.lastIndexOf('@');
  if (at >= 0) return last > at;
  const between = rest.slice(authority.length, Math.max(last, 0));
  return last >= 0 && (of === 'server' || !between.startsWith('/') || between.includes('#'));
}

/**
 * Kernel arguments that hold a password: of iSCSI (dracut.cmdline(7), `rd.iscsi.password`, and user
 * and password in `netroot=iscsi:`), of systemd (systemd.system-credentials(7)) and anaconda, and
 * whatever is called one.
 */
const secretArgument =
  /^(?:--append-karg=)?(?:(?!-)[\w.-]{0,64}(?:password|passwd|passphrase|token|rootpw|secret|set_credential|set_credential_binary)[\w.-]{0,64}=(?<value>.+)|netroot=iscsi:(?<user>[^@]+)@.*)$/is;

/** The same with a value in quotes, which has blanks. */
const quotedArgument =
  /((?:password|passwd|passphrase|token|rootpw|secret|set_credential|set_credential_binary)[\w.-]{0,64})=(?:"[^"]*"|'[^']*')/gi;

const secretInArgument = (word: string): string | undefined => {
  const { value, user } = secretArgument.exec(word)?.groups ?? {};
  return value ?? user;
};

function shownArgument(word: string): string {
  const secret = secretInArgument(word);
  return secret === undefined ? word : word.replace(secret, () => MASK);
}

/** The parts of some words that must not be shown: of addresses, and of kernel arguments. */
export const hiddenInWords = (words: readonly string[]): readonly string[] => [
  ...words.flatMap((word) => secretInArgument(word) ?? []),
  ...words.flatMap((word) => word.match(addresses) ?? []).flatMap(hiddenIn),
];

function hiddenIn(address: string): readonly string[] {
  const [, credentials = ''] = /^https?:\/\/[/\\]*([^/\\?#]*)@/i.exec(address) ?? [];
  const [, query = ''] = /\?([^#]*)/.exec(address) ?? [];
  const [, password = ''] = /:(.*)/s.exec(credentials) ?? [];
  const parts = [credentials, password, percentDecoded(password), query];
  return [...new Set(parts)].filter((part) => part !== '');
}

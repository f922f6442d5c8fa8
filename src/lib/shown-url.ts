import { MASK } from '../model/secret.ts';

/**
 * An http(s) URL for logs and records: origin and path. Drops user and password, and also the
 * query, which may hold a signature that lets anyone read. Any other text, such as a path on the
 * host, stays unchanged.
 */
export function shownUrl(address: string | URL): string {
  const url = typeof address === 'string' ? URL.parse(address) : address;
  if (url === null) return withoutSecretParts(String(address));
  if (!/^https?:$/.test(url.protocol)) return String(address);
  return url.pathname === '/' ? url.origin : `${url.origin}${url.pathname}`;
}

/**
 * Masks a text that looks like a URL but is invalid, as in `shownText`; a path on the host stays
 * unchanged.
 */
function withoutSecretParts(text: string): string {
  const scheme = /^https?:\/\//i.exec(text)?.[0];
  if (scheme === undefined) return text;
  // All text up to the last `@` may be the password: it may contain a slash, which makes the URL
  // invalid.
  const rest = text.slice(Math.max(scheme.length, text.lastIndexOf('@') + 1));
  return `${scheme}${rest.replace(/[?#].*$/s, '')}`;
}

/** The value of an Authorization header for the user of a URL; undefined without a user. */
export const basicCredentials = ({ username, password }: URL): string | undefined =>
  username === '' && password === ''
    ? undefined
    : `Basic ${Buffer.from(`${percentDecoded(username)}:${percentDecoded(password)}`).toString('base64')}`;

/** Decodes percent escapes. A percent sign outside of an escape stays, as in curl. */
export function percentDecoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * URLs in a text. A quote ends a URL, except in its user or password: parsers of URLs allow it
 * there.
 */
const addresses = /https?:\/\/[/\\]*(?:[^\s/\\?#]*@)?[^\s'"`<>]+/gi;

/** Punctuation of the sentence around a URL: at the end of a word it belongs to no URL. */
const punctuation = ',;:).';

/** A text with `shownUrl` applied to every http(s) URL. */
export const shownUrlsIn = (text: string): string =>
  text.replaceAll(addresses, (word) => beforePunctuation(word, shownUrl));

/** Shows a word without its punctuation, and keeps that. */
function beforePunctuation(word: string, show: (address: string) => string): string {
  let end = word.length;
  while (end > 0 && punctuation.includes(word.charAt(end - 1))) end -= 1;
  return `${show(word.slice(0, end))}${word.slice(end)}`;
}

/**
 * A text without the users and passwords of its URLs; all else stays, also in JSON. The name of an
 * image before its digest is no user.
 */
export const withoutUsers = (text: string): string =>
  text.replaceAll(/:\/\/[^\s/"']{1,512}@(?!sha256:[\da-f]{64})/g, `://${MASK}@`);

/**
 * A text without secrets in any word: users, passwords and queries of URLs, also of invalid ones,
 * and the values of kernel arguments that are passwords.
 */
export const shownText = (text: string): string =>
  text
    .replaceAll(quotedArgument, `$1=${MASK}`)
    .replaceAll(/:\/\/[/\\]*[^\s/\\?#]*@/g, `://${MASK}@`)
    .replaceAll(/[^\s"'<>]+/g, (word) => beforePunctuation(shownArgument(word), shownAddress));

function shownWithoutScheme(word: string): string {
  const at = word.lastIndexOf('@');
  const before = word.slice(0, Math.max(at, 0));
  return before.includes(':') && !before.includes('/') ? `${MASK}${word.slice(at)}` : word;
}

function shownAddress(word: string): string {
  const found = /[a-z][a-z0-9+.-]{0,20}:\/\//i.exec(word);
  // Without its scheme it is not a URL, but may hold a password.
  if (found === null) return shownWithoutScheme(word);
  const start = found.index + found[0].length;
  const end = word.slice(start).search(/[/?#]/);
  // A password with one of these characters makes the URL invalid, or changes its meaning: then all
  // text up to the last `@` may be the password.
  const isAddress = word[start + end] === '/' && URL.canParse(word.slice(found.index));
  const at = word.lastIndexOf('@', isAddress && end >= 0 ? start + end : word.length);
  const bare = at < start ? word : `${word.slice(0, start)}${MASK}${word.slice(at)}`;
  const query = bare.slice(start).search(/[?#]/);
  return query < 0 ? bare : `${bare.slice(0, start + query + 1)}${MASK}`;
}

/**
 * Whether a URL has an unescaped character in its user or password, which changes the URL's
 * meaning: curl and Go's programs each treat a second `@`, and text after `#`, `?` or `/`, in their
 * own way. The path of a server has no `@`.
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
 * Kernel arguments that hold a password: for iSCSI (dracut.cmdline(7), `rd.iscsi.password`, and
 * user and password in `netroot=iscsi:` or `root=iscsi:`), CIFS (`cifspass`), systemd
 * (systemd.system-credentials(7)) and anaconda, and any argument with such a name. An option of
 * coreos-installer may hold several, and may be in one word with them.
 */
const secretArgument =
  /(?<!\S)(?:--[\w-]+=)?["']?(?:(?!-)[\w.-]{0,64}(?:password|passwd|passphrase|token|rootpw|cifspass|secret|set_credential|set_credential_binary)[\w.-]{0,64}=(?<value>"[^"]*"|'[^']*'|\S+)|(?:net)?root=iscsi:(?<user>[^@\s]+)@)/gi;

/** The same arguments with a value in quotes, which may have blanks. */
const quotedArgument =
  /((?:password|passwd|passphrase|token|rootpw|cifspass|secret|set_credential|set_credential_binary)[\w.-]{0,64})=(?:"[^"]*"|'[^']*')/gi;

/** Their values without quotes. */
const secretsInArguments = (text: string): readonly string[] =>
  [...text.matchAll(secretArgument)]
    .map(({ groups: { value, user } = {} }) => (value ?? user ?? '').replaceAll(/^["']|["']$/g, ''))
    .filter((secret) => secret !== '');

/** A secret may also be a part of the name before it. */
const shownArgument = (word: string): string =>
  word.replace(secretArgument, (argument, value: string | undefined, user: string | undefined) =>
    value === undefined
      ? `${argument.slice(0, -`${user}@`.length)}${MASK}@`
      : argument.slice(0, -value.length) + MASK,
  );

/** The secret parts of some words: of URLs, and of kernel arguments. */
export const hiddenInWords = (words: readonly string[]): readonly string[] => [
  ...words.flatMap(secretsInArguments),
  ...words.flatMap((word) => word.match(addresses) ?? []).flatMap(hiddenIn),
];

function hiddenIn(address: string): readonly string[] {
  const [, credentials = ''] = /^https?:\/\/[/\\]*([^/\\?#]*)@/i.exec(address) ?? [];
  const [, query = ''] = /\?([^#]*)/.exec(address) ?? [];
  const [, password = ''] = /:(.*)/s.exec(credentials) ?? [];
  const parts = [credentials, password, percentDecoded(password), query];
  return [...new Set(parts)].filter((part) => part !== '');
}

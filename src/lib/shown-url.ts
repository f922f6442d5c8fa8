/**
 * An http(s) address as it may be shown and kept: origin and path. User and password are left out,
 * and so is the query, which may hold a signature that lets anyone read. Whatever else it is, a path
 * on the host for example, stays as it is.
 */
export function shownUrl(address: string | URL): string {
  const url = typeof address === 'string' ? URL.parse(address) : address;
  if (url === null) return withoutSecretParts(String(address));
  if (!/^https?:$/.test(url.protocol)) return String(address);
  return url.pathname === '/' ? url.origin : `${url.origin}${url.pathname}`;
}

/** What looks like an address and is none; a path on the host stays as it is. */
const withoutSecretParts = (text: string): string =>
  /^https?:\/\//i.test(text) ? text.replace(/\/\/[^/?#]*@/, '//').replace(/[?#].*$/s, '') : text;

/** The value of an Authorization header for the user of an address; undefined where it names none. */
export const basicCredentials = ({ username, password }: URL): string | undefined =>
  username === '' && password === ''
    ? undefined
    : `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;

/** A percent sign that begins no escape stands for itself, as curl has it. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A text in which every http(s) address reads as `shownUrl` has it. */
export const shownUrlsIn = (text: string): string =>
  text.replaceAll(/https?:\/\/[^\s'"`<>]+/gi, (address) => shownUrl(address));

/** The parts of the addresses in some words that must not be shown. */
export const hiddenInUrls = (words: readonly string[]): readonly string[] =>
  words.flatMap((word) =>
    [...word.matchAll(/https?:\/\/[^\s'"`<>]+/gi)].flatMap(([address]) => hiddenIn(address)),
  );

function hiddenIn(address: string): readonly string[] {
  const [, credentials = ''] = /^https?:\/\/([^/?#]*)@/i.exec(address) ?? [];
  const [, query = ''] = /\?([^#]*)/.exec(address) ?? [];
  const [, password = ''] = /:(.*)/s.exec(credentials) ?? [];
  return [credentials, password, query].filter((part) => part !== '');
}

import type { FindingRule } from '../finding.ts';
import { decodeDataUrl } from '../resource.ts';
import type { ConfigReferences, HttpHeader, Proxy, Resource, Tls, Verification } from '../types.ts';
import type { SpecMinor } from '../version.ts';
import type { Place } from './place.ts';

/** Content of a file, or a key file. */
export function validateResource(resource: Resource, place: Place): void {
  validateFetch(resource, place);
  if (resource.verification?.hash !== undefined && resource.source === undefined) {
    place.at('verification', 'hash').report('hash-without-source');
  }
}

/** Another config or a certificate authority. Spec 3.0 does not require a source besides a hash. */
export function validateReference(resource: Resource, place: Place): void {
  if (place.minor >= 1) validateResource(resource, place);
  else validateFetch(resource, place);
}

function validateFetch(resource: Resource, place: Place): void {
  const { compression, httpHeaders = [], source } = resource;
  const isKnown = compression === undefined || compression === '' || compression === 'gzip';
  if (!isKnown) place.at('compression').report('compression-unknown');
  place.at('source').report(sourceViolation(source, place.minor));
  if (httpHeaders.length === 0) return;
  const scheme = source === undefined || source === '' ? undefined : urlScheme(source);
  if (scheme !== 'http' && scheme !== 'https') place.at('httpHeaders').report('headers-need-http');
}

/** A header of the request for a resource. No value is legal: it removes a header in a merge. */
export function validateHttpHeader({ name, value }: HttpHeader, place: Place): void {
  if (name === '') place.at('name').report('header-name-empty');
  if (value === '') place.at('value').report('header-value-empty');
}

const digestLengths: Readonly<Record<string, { since: number; length: number }>> = {
  sha256: { since: 1, length: 64 },
  sha512: { since: 0, length: 128 },
};

/** Only the length of the digest is checked; a digest that is not hexadecimal matches nothing. */
export function validateVerification({ hash }: Verification, place: Place): void {
  if (hash !== undefined) place.at('hash').report(hashViolation(hash, place.minor));
}

function hashViolation(hash: string, minor: number): FindingRule | undefined {
  const hyphen = hash.indexOf('-');
  if (hyphen < 0) return 'hash-malformed';
  const name = hash.slice(0, hyphen);
  const known = Object.hasOwn(digestLengths, name) ? digestLengths[name] : undefined;
  if (known === undefined || known.since > minor) return 'hash-function-unknown';
  return hash.length - hyphen - 1 === known.length ? undefined : 'hash-length';
}

/** Configs to merge need a source, but for spec 3.0. */
export function validateConfigReferences({ merge = [] }: ConfigReferences, place: Place): void {
  if (place.minor === 0) return;
  requireSources(merge, place.at('merge'));
}

/** Certificate authorities need a source in every spec. */
export function validateTls({ certificateAuthorities = [] }: Tls, place: Place): void {
  requireSources(certificateAuthorities, place.at('certificateAuthorities'));
}

/** Findings about a source are reported with the resource itself. */
function requireSources(resources: readonly Resource[], place: Place): void {
  for (const [index, { source }] of resources.entries()) {
    const violation = requiredSourceViolation(source, place.minor);
    if (violation === 'source-required') place.at(index).report(violation);
  }
}

/** Proxies. */
export function validateProxy({ httpProxy, httpsProxy }: Proxy, place: Place): void {
  if (httpProxy !== undefined) place.at('httpProxy').report(proxyViolation(httpProxy));
  if (httpsProxy === undefined) return;
  const violation = proxyViolation(httpsProxy);
  const isPlain = violation === undefined && urlScheme(httpsProxy) === 'http';
  place.at('httpsProxy').report(isPlain ? 'proxy-insecure' : violation);
}

function proxyViolation(proxy: string): FindingRule | undefined {
  const scheme = urlScheme(proxy);
  if (scheme === undefined) return 'url-invalid';
  return scheme === 'http' || scheme === 'https' ? undefined : 'proxy-scheme';
}

/** The parts of a URL that the rules look at. */
interface UrlParts {
  /** In lower case, without the colon; empty for a relative reference. */
  readonly scheme: string;
  /** What follows the scheme, without query and fragment. */
  readonly rest: string;
  readonly query: string;
}

const BROKEN_ESCAPE = /%(?![0-9a-fA-F]{2})/u;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/u;
const USERINFO = /^[A-Za-z0-9\-._~!$&'()*+,;=:@%]*$/u;
/** A name or an address literal. Only bytes beyond ASCII, and the percent sign, may be escaped. */
const HOST_NAME =
  /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"\u{80}-\u{10ffff}]|%25|%[89a-fA-F][0-9a-fA-F])*$/u;
/** What may be in brackets: the zone of an IPv6 address takes any escape. */
const ADDRESS = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:<>"\u{80}-\u{10ffff}]|%[0-9a-fA-F]{2})*$/u;
const OPTIONAL_PORT = /^(?::\d*)?$/u;

/**
 * Takes a URL apart by the rules of Go's `net/url`, which Ignition uses: more lenient than the WHATWG
 * rules of the platform's `URL`, so that no config is refused here that a first boot would take.
 */
function splitUrl(url: string): UrlParts | undefined {
  if (CONTROL_CHARACTER.test(url)) return undefined;
  const [absolute, fragment] = cut(url, '#');
  if (BROKEN_ESCAPE.test(fragment) || absolute.startsWith(':')) return undefined;
  const prefix = /^[A-Za-z][A-Za-z0-9+.-]*:/u.exec(absolute)?.[0] ?? '';
  const [rest, query] = cut(absolute.slice(prefix.length), '?');
  const parts = { scheme: prefix.slice(0, -1).toLowerCase(), rest, query };
  const isOpaque = prefix !== '' && !rest.startsWith('/');
  return isOpaque ? parts : checkedHierarchy(parts);
}

/** The parts if authority and path are well formed. */
function checkedHierarchy(parts: UrlParts): UrlParts | undefined {
  const { scheme, rest } = parts;
  if (scheme === '' && rest.split('/', 1)[0]?.includes(':') === true) return undefined;
  if (!rest.startsWith('//')) return BROKEN_ESCAPE.test(rest) ? undefined : parts;
  const slash = rest.indexOf('/', 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  if (slash >= 0 && BROKEN_ESCAPE.test(rest.slice(slash))) return undefined;
  const at = authority.lastIndexOf('@');
  const userinfo = authority.slice(0, Math.max(at, 0));
  const isSound =
    USERINFO.test(userinfo) && !BROKEN_ESCAPE.test(userinfo) && isHost(authority.slice(at + 1));
  return isSound ? parts : undefined;
}

/** Whether this is a host, perhaps with a port. Colons in a name are accepted before the last one. */
function isHost(host: string): boolean {
  if (host.startsWith('[')) {
    const end = host.lastIndexOf(']');
    return end > 0 && ADDRESS.test(host.slice(1, end)) && OPTIONAL_PORT.test(host.slice(end + 1));
  }
  const colon = host.lastIndexOf(':');
  const name = colon < 0 ? host : host.slice(0, colon);
  const port = colon < 0 ? '' : host.slice(colon);
  return HOST_NAME.test(name) && !name.includes('[') && OPTIONAL_PORT.test(port);
}

function cut(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The scheme of a URL in lower case, or nothing for what is no URL. */
export function urlScheme(url: string): string | undefined {
  return splitUrl(url)?.scheme;
}

/** The rule that the source of a resource breaks, if any. An empty source is legal. */
export function sourceViolation(
  source: string | undefined,
  minor: SpecMinor,
): FindingRule | undefined {
  if (source === undefined || source === '') return undefined;
  return requiredSourceViolation(source, minor);
}

/** As {@link sourceViolation}, where a source must be there. */
export function requiredSourceViolation(
  source: string | undefined,
  minor: SpecMinor,
): FindingRule | undefined {
  if (source === undefined || source === '') return 'source-required';
  const url = splitUrl(source);
  if (url === undefined) return 'url-invalid';
  const check = Object.hasOwn(schemes, url.scheme) ? schemes[url.scheme] : undefined;
  if (check === undefined || check.since > minor) return 'url-scheme';
  return check.faultOf?.(url, source);
}

/** The schemes that Ignition fetches from, the spec that added them, and their further rules. */
const schemes: Readonly<
  Record<
    string,
    { since: SpecMinor; faultOf?: (url: UrlParts, source: string) => FindingRule | undefined }
  >
> = {
  http: { since: 0 },
  https: { since: 0 },
  tftp: { since: 0 },
  s3: { since: 0, faultOf: s3VersionViolation },
  data: { since: 0, faultOf: (_, source) => dataUrlViolation(source) },
  gs: { since: 2 },
  arn: { since: 4, faultOf: arnViolation },
};

function s3VersionViolation({ query }: UrlParts): FindingRule | undefined {
  // The ampersand keeps a leading question mark, which the parser would drop.
  return new URLSearchParams(`&${query}`).get('versionId') === '' ? 'url-s3-version' : undefined;
}

/** `arn:partition:s3:region:account:resource`, the resource a bucket and a key, or an access point. */
function arnViolation(url: UrlParts): FindingRule | undefined {
  const [, service, , , ...resource] = url.rest.split(':');
  const slashes = url.rest.split('/').length - 1;
  const needed = resource.join(':').startsWith('accesspoint/') ? 2 : 1;
  if (service !== 's3' || resource.length === 0 || slashes < needed) return 'url-s3-arn';
  return s3VersionViolation(url);
}

function dataUrlViolation(source: string): FindingRule | undefined {
  try {
    decodeDataUrl(source);
    return undefined;
  } catch {
    return 'data-url-invalid';
  }
}

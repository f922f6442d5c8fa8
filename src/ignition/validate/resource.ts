import type { FindingRule } from '../finding.ts';
import type { ConfigReferences, HttpHeader, Proxy, Resource, Tls, Verification } from '../types.ts';
import type { Place } from './place.ts';
import { requiredSourceFault, sourceFault, urlScheme } from './url.ts';

/** Content of a file, or a key file. */
export function validateResource(resource: Resource, place: Place): void {
  validateFetch(resource, place);
  if (resource.verification?.hash !== undefined && resource.source === undefined) {
    place.at('verification', 'hash').report('hash-without-source');
  }
}

/** Another config or a certificate authority. Spec 3.0 does not ask for a source beside a hash. */
export function validateReference(resource: Resource, place: Place): void {
  if (place.minor >= 1) validateResource(resource, place);
  else validateFetch(resource, place);
}

function validateFetch(resource: Resource, place: Place): void {
  const { compression, httpHeaders = [], source } = resource;
  const isKnown = compression === undefined || compression === '' || compression === 'gzip';
  if (!isKnown) place.at('compression').report('compression-unknown');
  place.at('source').report(sourceFault(source, place.minor));
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
  if (hash !== undefined) place.at('hash').report(hashFault(hash, place.minor));
}

function hashFault(hash: string, minor: number): FindingRule | undefined {
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

/** Faults of a source that is there are reported with the resource itself. */
function requireSources(resources: readonly Resource[], place: Place): void {
  for (const [index, { source }] of resources.entries()) {
    const fault = requiredSourceFault(source, place.minor);
    if (fault === 'source-required') place.at(index).report(fault);
  }
}

/** Proxies. */
export function validateProxy({ httpProxy, httpsProxy }: Proxy, place: Place): void {
  if (httpProxy !== undefined) place.at('httpProxy').report(proxyFault(httpProxy));
  if (httpsProxy === undefined) return;
  const fault = proxyFault(httpsProxy);
  const isPlain = fault === undefined && urlScheme(httpsProxy) === 'http';
  place.at('httpsProxy').report(isPlain ? 'proxy-insecure' : fault);
}

function proxyFault(proxy: string): FindingRule | undefined {
  const scheme = urlScheme(proxy);
  if (scheme === undefined) return 'url-invalid';
  return scheme === 'http' || scheme === 'https' ? undefined : 'proxy-scheme';
}

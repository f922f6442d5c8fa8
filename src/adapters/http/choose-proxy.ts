import { domainToASCII } from 'node:url';
import { canonicalAddress, isInBlock } from '../../lib/address.ts';
import { exceptionsIn, type Proxies } from '../../lib/proxies.ts';

/** The proxy for a URL; undefined for a direct connection. */
export function proxyFor(url: URL, proxies: Proxies): string | undefined {
  const proxy = url.protocol === 'https:' ? proxies.https : proxies.http;
  return proxy === '' || needsNoProxy(url, proxies.no) ? undefined : proxy;
}

/**
 * Whether a list of exceptions matches a URL, by Go's rules (golang.org/x/net/http/httpproxy): `*`
 * matches all; an IP address or a CIDR block matches addresses in any spelling; `domain` matches
 * itself and its subdomains; `.domain` matches only subdomains; each with an optional port.
 * Loopback never needs a proxy.
 */
function needsNoProxy(url: URL, list: string): boolean {
  const name = bareName(url.hostname);
  const target = {
    name,
    address: canonicalAddress(name),
    port: url.port || (url.protocol === 'https:' ? '443' : '80'),
  };
  if (name === 'localhost' || /^(?:127\.|::1$)/.test(target.address ?? '')) return true;
  return exceptionsIn(list).some((entry) => isNamedBy(entry, target));
}

/** A host without the brackets of IPv6 and the final dot of a fully qualified name. */
const bareName = (host: string): string =>
  host
    .replace(/^\[([^\]]*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();

/** A name in the form of a URL: bücher.example is xn--bcher-kva.example. */
const nameInDns = (name: string): string =>
  /[\u0080-\uffff]/.test(name) ? domainToASCII(name) : name;

function isNamedBy(
  entry: string,
  target: { readonly name: string; readonly address: string | undefined; readonly port: string },
): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return target.address !== undefined && isInBlock(target.address, entry);
  // An entry with two colons and without brackets is IPv6, and has no port.
  const [, host = entry, port] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (port !== undefined && Number(port) !== Number(target.port)) return false;
  const name = nameInDns(bareName(host));
  const address = canonicalAddress(name);
  if (address !== undefined || target.address !== undefined) return address === target.address;
  const domain = name.replace(/^\*(?=\.)/, '');
  return (
    target.name.endsWith(domain.startsWith('.') ? domain : `.${domain}`) || target.name === domain
  );
}

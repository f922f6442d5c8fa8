import { BlockList, isIP } from 'node:net';

/** The proxies of the configuration, `proxy.*`. Empty text means none. */
export interface Proxies {
  /** For http:// addresses. */
  readonly http: string;
  /** For https:// addresses. */
  readonly https: string;
  /** Addresses that need no proxy, comma separated. */
  readonly no: string;
}

/** The proxy for an address, or undefined when it is to be reached directly. */
export function proxyFor(url: URL, proxies: Proxies): string | undefined {
  const proxy = url.protocol === 'https:' ? proxies.https : proxies.http;
  return proxy === '' || needsNoProxy(url, proxies.no) ? undefined : proxy;
}

/**
 * Whether a list of exceptions names an address, by Go's rules (golang.org/x/net/http/httpproxy):
 * `*` for all; an IP address or a CIDR block for addresses; `domain` for itself and what is below;
 * `.domain` for what is below alone; each with an optional port. Loopback never needs a proxy.
 */
function needsNoProxy(url: URL, list: string): boolean {
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
    .replace(/\.$/, '');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  if (isLoopback(host)) return true;
  return list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && isNamedBy(entry, { host, port }));
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);

function isNamedBy(
  entry: string,
  target: { readonly host: string; readonly port: string },
): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isInBlock(entry, target.host);
  const { name, port } = splitPort(entry);
  if (port !== undefined && port !== target.port) return false;
  if (isIP(name) !== 0) return name === target.host;
  if (name.startsWith('*.')) return target.host.endsWith(name.slice(1));
  if (name.startsWith('.')) return target.host.endsWith(name);
  return target.host === name || target.host.endsWith(`.${name}`);
}

function splitPort(entry: string): { readonly name: string; readonly port: string | undefined } {
  if (isIP(entry) === 6) return { name: entry, port: undefined };
  const found = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(entry);
  if (found !== null) return { name: found[1] ?? found[2] ?? '', port: found[3] };
  return { name: entry.replace(/^\[|\]$/g, ''), port: undefined };
}

function isInBlock(block: string, host: string): boolean {
  const [network = '', bits = ''] = block.split('/');
  const family = isIP(host);
  if (family === 0 || isIP(network) !== family || !/^\d+$/.test(bits)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  try {
    list.addSubnet(network, Number(bits), type);
  } catch {
    return false;
  }
  return list.check(host, type);
}

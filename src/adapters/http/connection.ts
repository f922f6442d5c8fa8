import type { LookupFunction } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Dispatcher } from 'undici';
import { canonicalAddress, isInBlock } from '../../lib/address.ts';
import { type Proxies, exceptionsIn } from '../../lib/proxies.ts';
import type { Trust } from './tls.ts';
import type { OpenDispatcher, DispatcherOptions } from './dispatcher.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { type Millis, seconds } from '../../model/duration.ts';

/** Timeouts of a connection. */
export interface ConnectionTimeouts {
  readonly connect: Millis;
  /** Until the first byte of an answer. */
  readonly headers: Millis;
  /** Between two chunks of a body. */
  readonly idle: Millis;
}

/** The timeouts of every call; tests set shorter ones. */
const defaultTimeouts: ConnectionTimeouts = {
  connect: seconds(10),
  headers: seconds(30),
  idle: seconds(60),
};

/** Options for connecting to servers. */
export interface ConnectionOptions extends Trust {
  readonly proxies?: Proxies;
  readonly timeouts?: ConnectionTimeouts;
  /** Resolves names; default: the process's resolver. */
  readonly lookup?: LookupFunction;
}

/** Open connections with one trust and one set of proxies. */
export interface Connection {
  readonly timeouts: ConnectionTimeouts;
  readonly dispatcherFor: (url: URL) => Promise<Dispatcher>;
  /** The proxy for a URL, without credentials. */
  readonly proxyOf: (url: URL) => string | undefined;
  readonly close: () => Promise<void>;
}

const noProxies: Proxies = { http: '', https: '', no: '' };

/** Connections open on demand and are kept for further calls. */
export function connection(options: ConnectionOptions = {}): Connection {
  const { proxies = noProxies, timeouts = defaultTimeouts, lookup } = options;
  const made = new Map<string, Promise<OpenDispatcher>>();
  return {
    timeouts,
    proxyOf: (url) => {
      const proxy = proxyFor(url, proxies);
      return proxy === undefined ? undefined : shownUrl(proxy);
    },
    dispatcherFor: async (url) => {
      const proxy = proxyFor(url, proxies);
      const { protocol } = url;
      const key = `${protocol} ${proxy ?? 'direct'}`;
      const opened = made.get(key) ?? open(options, { protocol, proxy, lookup });
      made.set(key, opened);
      return (await opened).dispatcher;
    },
    close: async () => {
      for (const one of await Promise.allSettled(made.values())) {
        if (one.status === 'fulfilled') await one.value.close();
      }
    },
  };
}

/**
 * Loaded on demand: TLS takes as long to load as all the rest, and many services, clients and
 * commands do not need it.
 */
async function open(
  options: ConnectionOptions,
  to: Pick<DispatcherOptions, 'protocol' | 'proxy' | 'lookup'>,
): Promise<OpenDispatcher> {
  const { openDispatcher } = await import('./dispatcher.ts');
  const isSecure = [to.protocol, to.proxy].some((address) => address?.startsWith('https:'));
  const tls = isSecure ? (await import('./tls.ts')).tlsOptionsFor(options) : {};
  const { timeouts = defaultTimeouts } = options;
  return openDispatcher({ ...to, tls, proxyTls: tls, timeout: timeouts.connect });
}

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

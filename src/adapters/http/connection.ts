import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { type Proxies } from '../../lib/proxies.ts';
import { proxyFor } from './choose-proxy.ts';
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

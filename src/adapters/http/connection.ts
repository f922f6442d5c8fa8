import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, ProxyAgent } from './undici.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { type Proxies, proxyFor } from './proxies.ts';
import { secureContextFor, type Trust } from './trust.ts';

/** How long a connection may do nothing. */
export interface Patience {
  readonly connect: Millis;
  /** Until the answer begins. */
  readonly headers: Millis;
  /** Between two pieces of a body. */
  readonly idle: Millis;
}

/** The patience of every call unless a test has less. */
export const usualPatience: Patience = {
  connect: seconds(10),
  headers: seconds(30),
  idle: seconds(60),
};

/** How addresses are reached. */
export interface ConnectionOptions extends Trust {
  readonly proxies?: Proxies;
  readonly patience?: Patience;
  /** Finds the addresses of names; the process's own way unless given. */
  readonly lookup?: LookupFunction;
}

/** Open connections to whatever is asked for, of one trust and one set of proxies. */
export interface Connection {
  readonly patience: Patience;
  readonly dispatcherFor: (url: URL) => Dispatcher;
  readonly close: () => Promise<void>;
}

const noProxies: Proxies = { http: '', https: '', no: '' };

/** Connections are made when they are needed and kept for further calls. */
export function connection(options: ConnectionOptions = {}): Connection {
  const { proxies = noProxies, patience = usualPatience, lookup } = options;
  const made = new Map<string, Dispatcher>();
  const common = {
    connectTimeout: patience.connect,
    headersTimeout: patience.headers,
    bodyTimeout: patience.idle,
    allowH2: false,
  };
  return {
    patience,
    dispatcherFor: (url) => {
      const proxy = proxyFor(url, proxies);
      const usesTls = url.protocol === 'https:' || proxy?.startsWith('https:') === true;
      const key = `${usesTls ? 'tls' : 'plain'} ${proxy ?? 'direct'}`;
      const known = made.get(key);
      if (known !== undefined) return known;
      const tls = usesTls ? tlsFor(options) : {};
      const dispatcher =
        proxy === undefined
          ? new Agent({
              ...common,
              connect: { ...tls, ...(lookup && { lookup }), timeout: patience.connect },
            })
          : new ProxyAgent({ ...common, uri: proxy, requestTls: tls, proxyTls: tls });
      made.set(key, dispatcher);
      return dispatcher;
    },
    close: async () => {
      await Promise.all([...made.values()].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

const tlsFor = (trust: Trust): object => ({
  secureContext: secureContextFor(trust),
  rejectUnauthorized: trust.isInsecure !== true,
});

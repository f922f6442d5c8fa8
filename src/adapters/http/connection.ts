import { lookup as systemLookup } from 'node:dns';
import { Agent } from 'node:http';
import type { LookupFunction, Socket } from 'node:net';
import { type Proxies, proxyFor } from './proxies.ts';
import type { RetryNotice } from './retry.ts';
import type { Trust } from './tls.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

/** Timeouts of a connection. */
export interface Timeouts {
  readonly connect: Millis;
  /** Until the answer begins. */
  readonly headers: Millis;
  /** Between two chunks of a body. */
  readonly idle: Millis;
}

/** The timeouts of every call; tests set shorter ones. */
const defaultTimeouts: Timeouts = {
  connect: seconds(10),
  headers: seconds(30),
  idle: seconds(60),
};

/** How addresses are reached. */
export interface ConnectionOptions extends Trust {
  readonly proxies?: Proxies;
  readonly timeouts?: Timeouts;
  /** Finds the addresses of names; the process's own way unless given. */
  readonly lookup?: LookupFunction;
}

/** Open connections to whatever is asked for, of one trust and one set of proxies. */
export interface Connection {
  readonly timeouts: Timeouts;
  readonly agentFor: (url: URL) => Promise<Agent>;
  /** The proxy that an address is reached by, without credentials. */
  readonly proxyOf: (url: URL) => string | undefined;
  /** Finds the addresses of names in this way from now on; what is open stays. */
  readonly resolveBy: (lookup: LookupFunction) => void;
  readonly close: () => Promise<void>;
}

const noProxies: Proxies = { http: '', https: '', no: '' };

/** Connections are made when they are needed and kept for further calls. */
export function connection(options: ConnectionOptions = {}): Connection {
  const { proxies = noProxies, timeouts = defaultTimeouts } = options;
  const made = new Map<string, Promise<Agent>>();
  let lookup = options.lookup ?? systemLookup;
  const resolved = {
    ...options,
    lookup: (...asked) => lookup(...asked),
  } satisfies ConnectionOptions;
  return {
    timeouts,
    proxyOf: (url) => {
      const proxy = proxyFor(url, proxies);
      return proxy === undefined ? undefined : shownUrl(proxy);
    },
    resolveBy: (other) => {
      lookup = other;
    },
    agentFor: (url) => {
      const proxy = proxyFor(url, proxies);
      const key = `${url.protocol} ${proxy ?? 'direct'}`;
      const agent = made.get(key) ?? makeAgent(resolved, url, proxy).then(withoutIdlers);
      made.set(key, agent);
      return agent;
    },
    close: async () => {
      for (const agent of await Promise.allSettled(made.values())) {
        if (agent.status === 'fulfilled') agent.value.destroy();
      }
    },
  };
}

async function makeAgent(
  options: ConnectionOptions & { readonly lookup: LookupFunction },
  url: URL,
  proxy: string | undefined,
): Promise<Agent> {
  const { lookup, timeouts = defaultTimeouts } = options;
  const common = { ...agentOptions, lookup };
  const proxied = proxy === undefined ? common : { ...common, proxyEnv: { HTTP_PROXY: proxy } };
  if (url.protocol !== 'https:' && proxy?.startsWith('https:') !== true) return new Agent(proxied);
  // TLS takes as long to load as everything else here, and a service may well do without.
  const { connectOverTls, directAgent, tlsOptionsFor, tunnelAgent } = await import('./tls.ts');
  if (proxy === undefined) return directAgent(options, common);
  if (url.protocol === 'https:') {
    const tls = tlsOptionsFor(options);
    const tunnel = { proxy, proxyTls: tls, timeout: timeouts.connect, lookup };
    return tunnelAgent({ ...agentOptions, ...tls }, tunnel);
  }
  const agent = new Agent(proxied);
  agent.createConnection = () => connectOverTls(options, proxy, lookup);
  return agent;
}

/** What every agent has in common. */
export const agentOptions = { keepAlive: true, keepAliveMsecs: seconds(60) } as const;

/** A connection that nobody used for so long may be forgotten on the way. */
const longestIdle = seconds(4);

/** An agent that closes connections which nobody uses. */
export function withoutIdlers<T extends Agent>(agent: T): T {
  // Runs behind Node's own listener, which keeps the socket, maybe for less time.
  agent.on('free', (socket: Socket) => {
    if (!socket.timeout || socket.timeout > longestIdle) socket.setTimeout(longestIdle);
  });
  return agent;
}

/** What everything that makes requests is given. */
export interface CallerOptions {
  /** Proxies, trust and timeouts of every request. */
  readonly connection?: ConnectionOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Called when a request was written. */
  readonly onSent?: () => void;
  /** Called before each retry, with the request. */
  readonly onRetry?: (notice: RetryNotice & { readonly what: string }) => void;
}

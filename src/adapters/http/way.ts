import type { LookupFunction, Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { TlsOptions } from './tls.ts';
import { basicCredentials } from '../../lib/shown-url.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { userAgent } from '../../model/version.ts';

/** How servers of one protocol are reached. */
export interface WayOptions {
  /** Of the servers; a proxy opens tunnels to those of `https:` (RFC 9110, CONNECT). */
  readonly protocol: string;
  readonly proxy?: string | undefined;
  /** What TLS to a server is opened with. */
  readonly tls: TlsOptions;
  /** What TLS to a proxy that speaks it itself is opened with. */
  readonly proxyTls: TlsOptions;
  readonly lookup?: LookupFunction | undefined;
  /** Until a connection is open; with a proxy, until each of both is. */
  readonly timeout: Millis;
  /** Until the kernel asks a peer that is silent. */
  readonly keepAliveDelay?: Millis;
}

/** Connections of one kind. */
export interface Way {
  readonly dispatcher: Dispatcher;
  readonly close: () => Promise<void>;
}

/** A connection that nobody used for so long may be forgotten on the way. */
const longestIdle = seconds(4);

/** Opens nothing before the first request. */
export function way(options: WayOptions): Way {
  const { protocol, proxy, tls, proxyTls, lookup, timeout, keepAliveDelay } = options;
  const sockets = new Set<Socket>();
  const settings = { keepAliveTimeout: longestIdle, keepAliveMaxTimeout: longestIdle } as const;
  const reach = {
    timeout,
    allowH2: false,
    keepAliveInitialDelay: keepAliveDelay ?? seconds(60),
    ...(lookup === undefined ? {} : { lookup }),
  };
  const connector = (more: TlsOptions): buildConnector.connector => {
    const connect = buildConnector({ ...reach, ...more }) as (
      ...args: Parameters<buildConnector.connector>
    ) => Socket;
    // The name of a server is that of its address, or is given, whatever a Host header says.
    return (asked, callback) => {
      const { servername: _, ...to } = asked;
      const socket = connect(to, callback);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    };
  };
  const dispatcher = ((): Dispatcher => {
    if (proxy === undefined) return new Agent({ ...settings, connect: connector(tls) });
    const { origin, hostname } = new URL(proxy);
    const token = basicCredentials(new URL(proxy));
    if (protocol === 'https:') {
      return new ProxyAgent({
        ...settings,
        uri: origin,
        headers: { 'User-Agent': userAgent },
        ...(token === undefined ? {} : { token }),
        requestTls: { ...reach, ...tls },
        // A proxy may take a connection and never answer.
        clientFactory: (to) =>
          new Pool(to, {
            ...settings,
            headersTimeout: timeout,
            connect: connector(proxyTls),
          }),
      });
    }
    const toProxy = new Agent({ ...settings, connect: connector(proxyTls) });
    return toProxy.compose((dispatch) => (request, handler) => {
      const server = new URL(String(request.origin));
      const headers = {
        ...(request.headers as Readonly<Record<string, string>>),
        Host: server.host,
        ...(token === undefined ? {} : { 'Proxy-Authorization': token }),
      };
      const path = `${server.origin}${request.path}`;
      const forwarded = { ...request, origin, path, headers, servername: hostname };
      return dispatch(forwarded, handler);
    });
  })();
  return {
    dispatcher,
    close: async () => {
      await dispatcher.destroy();
      // Those that are not open yet, too: they would keep the process from ending.
      for (const socket of sockets) socket.destroy();
    },
  };
}

import type { LookupFunction, Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { TlsOptions } from './tls.ts';
import { basicCredentials } from '../../lib/shown-url.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { userAgent } from '../../model/version.ts';

/** Options for connections to servers of one protocol. */
export interface DispatcherOptions {
  /** Protocol of the servers; a proxy opens tunnels to `https:` servers (RFC 9110, CONNECT). */
  readonly protocol: string;
  readonly proxy?: string | undefined;
  /** TLS options for the server. */
  readonly tls: TlsOptions;
  /** TLS options for a proxy that speaks TLS itself. */
  readonly proxyTls: TlsOptions;
  readonly lookup?: LookupFunction | undefined;
  /** Limit for opening a connection; with a proxy, for each of the two. */
  readonly timeout: Millis;
  /** Silence after which the kernel probes a peer. */
  readonly keepAliveDelay?: Millis;
}

/** A dispatcher of undici for servers of one protocol, by one proxy or none. */
export interface OpenDispatcher {
  readonly dispatcher: Dispatcher;
  readonly close: () => Promise<void>;
}

/** A network device may forget a connection that was idle for longer. */
const longestIdle = seconds(4);

/** Makes connections on demand; opens none before the first request. */
export function openDispatcher(options: DispatcherOptions): OpenDispatcher {
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
    // The TLS server name comes from the URL or from the options, never from a Host header.
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
        // A proxy may accept a connection and never answer.
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
      // Also destroys connections that are not open yet: they would keep the process from ending.
      for (const socket of sockets) socket.destroy();
    },
  };
}

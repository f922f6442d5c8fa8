import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { hostInUrl } from '../lib/address.ts';
import type { ListenAddress } from '../lib/listen-address.ts';
import { type Millis, seconds } from '../model/duration.ts';

/** What a server holds at most for all its clients together. */
export interface ServerLimits {
  /** Connections at once. One more takes the place of the oldest that has asked for nothing. */
  readonly connections: number;
  /** Bytes that wait for readers, all together; the reader for whom most wait is let go. */
  readonly waitingBytes: number;
  /**
   * Time for a whole request to arrive; 10 s where it is not given. 0: whoever reads the bodies
   * keeps the time.
   */
  readonly requestTimeout?: Millis;
}

/** Certificate and key of a server, PEM. */
export interface ServerPair {
  readonly cert: string;
  readonly key: string;
}

/** A server with limits, and the one who keeps them while answers last. */
export interface LimitedServer<S extends Server = Server> {
  readonly server: S;
  /**
   * Lets go of the slowest readers; to be called after something was written to an answer that
   * lasts.
   */
  readonly relieve: () => void;
}

/**
 * Makes an unbound server for answers to GET: it reads no body, and a request has 10 s to arrive.
 * Two Host headers are 400: a proxy between may have judged by the other one (RFC 9112, 3.2).
 */
export function limitedServer(limits: ServerLimits, answer: RequestListener): LimitedServer {
  const { listener, relieve, guard } = withLimits(limits, answer);
  return { server: guard(createServer(timesOf(limits), listener)), relieve };
}

/** The same over TLS 1.2 and 1.3; `setSecureContext` of the server changes the certificate. */
export function limitedTlsServer(
  limits: ServerLimits,
  pair: ServerPair,
  answer: RequestListener,
): LimitedServer<TlsServer> {
  const { listener, relieve, guard } = withLimits(limits, answer);
  const tls = { ...pair, minVersion: 'TLSv1.2', handshakeTimeout: seconds(10) } as const;
  return { server: guard(createTlsServer({ ...timesOf(limits), ...tls }, listener)), relieve };
}

/** A server at work. */
export interface ListeningServer {
  /** Without a path. */
  readonly url: string;
  /** Takes no new request, gives those at work a second, and ends. */
  readonly close: () => Promise<void>;
}

/**
 * Binds a server to its address.
 * @throws Error of the system where the address cannot be taken
 */
export async function listening(
  server: Server,
  { host, port }: ListenAddress,
  scheme = 'http',
): Promise<ListeningServer> {
  server.listen(port, host);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `${scheme}://${hostInUrl(host ?? '127.0.0.1')}:${bound}`,
    close: async () => {
      server.close();
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), seconds(1));
      await once(server, 'close');
      clearTimeout(late);
    },
  };
}

const timesOf = ({ requestTimeout = seconds(10) }: ServerLimits) => ({
  requestTimeout,
  headersTimeout: seconds(10),
  keepAliveTimeout: seconds(5),
  connectionsCheckingInterval: seconds(1),
});

/**
 * A connection by its other end: over TLS, a request has another socket than the one that was
 * accepted.
 */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function withLimits(limits: ServerLimits, answer: RequestListener) {
  const sockets = new Map<string, Socket>();
  const answers = new Map<string, Set<ServerResponse>>();
  const relieve = (): void => {
    const waiting = [...answers]
      .map(([peer, open]) => ({
        peer,
        open,
        bytes: [...open].reduce((all, { writableLength }) => all + writableLength, 0),
      }))
      .sort((one, other) => one.bytes - other.bytes);
    let sum = waiting.reduce((total, { bytes }) => total + bytes, 0);
    for (
      let slowest = waiting.pop();
      sum > limits.waitingBytes && slowest;
      slowest = waiting.pop()
    ) {
      sum -= slowest.bytes;
      for (const response of slowest.open) response.destroy();
      sockets.get(slowest.peer)?.destroy();
    }
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const peer = peerOf(socket);
    const open = answers.get(peer) ?? new Set();
    if (socket.destroyed) return;
    if (open.size >= mostPipelined) {
      socket.destroy();
      return;
    }
    answers.set(peer, open.add(response));
    response.once('close', () => open.delete(response));
    if (hostsIn(request) === 1) answer(request, response);
    else response.writeHead(400, { connection: 'close' }).end();
    relieve();
  };
  const guard = <S extends Server>(server: S): S => {
    // Whoever reads nothing for so long is gone.
    server.setTimeout(seconds(60), (socket) => socket.destroy());
    server.on('connection', (socket) => {
      const peer = peerOf(socket);
      sockets.set(peer, socket);
      socket.once('close', () => {
        sockets.delete(peer);
        answers.delete(peer);
      });
      if (sockets.size <= limits.connections) return;
      const oldest = [...sockets].find(([one]) => !answers.get(one)?.size);
      (oldest?.[1] ?? socket).destroy();
    });
    return server;
  };
  return { listener, relieve, guard };
}

/**
 * Requests that one connection may have sent before the first of them is answered; a thousand fit
 * into what is read at once.
 */
const mostPipelined = 4;

const hostsIn = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;

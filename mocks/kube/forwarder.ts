import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './program.ts';

/** Effect of a move of the address to another server on open connections. */
type MovedConnections =
  /**
   * As with an address that another host takes over: silence, and a reset once the client sends
   * data.
   */
  | 'lost'
  /** As with a draining load balancer: they stay with their server. */
  | 'kept'
  /** Reset at once. */
  | 'reset';

/** Represents the address by which hosts reach the API servers, and the network to it. */
export interface Forwarder {
  readonly url: string;
  readonly port: number;
  /** The server of new connections. */
  readonly target: () => number;
  /**
   * Drops all bytes in both directions, and hides the ends of connections. The kernel accepts new
   * connections without an answer; a real network would not accept them either.
   */
  readonly partition: () => void;
  /** Delivers the held bytes, as after a retransmission. */
  readonly heal: () => void;
  /** Delays every byte by half the round trip, as a long line does. */
  readonly slow: (roundTripMillis: number) => void;
  /** Resets every connection; new connections work. */
  readonly reset: () => void;
  readonly moveTo: (server: { readonly port: number }, connections?: MovedConnections) => void;
  readonly close: () => Promise<void>;
}

interface Link {
  readonly client: Socket;
  /** Undefined while a partition prevents the connection. */
  server?: Socket;
  /** Whether the address has moved away: the client's next data is answered by a reset. */
  isLost: boolean;
  /** Whether one side closed during a partition, and the other does not know it. */
  isBroken: boolean;
}

/** The mutable state of a forwarder. */
interface Network {
  target: number;
  isPartitioned: boolean;
  roundTripMillis: number;
  readonly links: Set<Link>;
}

/** Listens on a free loopback port and passes bytes on to a server. */
export async function startForwarder(server: { readonly port: number }): Promise<Forwarder> {
  const network: Network = {
    target: server.port,
    isPartitioned: false,
    roundTripMillis: 0,
    links: new Set(),
  };
  const port = await freePort();
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) =>
    accept(network, client),
  );
  listener.listen(port, '127.0.0.1');
  await once(listener, 'listening');
  const resetAll = () => network.links.forEach((link) => breakOff(network, link));
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    target: () => network.target,
    partition: () => {
      network.isPartitioned = true;
      for (const { client, server: upstream } of network.links) {
        client.pause();
        upstream?.pause();
      }
    },
    heal: () => {
      network.isPartitioned = false;
      network.links.forEach((link) => resume(network, link));
    },
    slow: (roundTripMillis) => {
      network.roundTripMillis = roundTripMillis;
    },
    reset: resetAll,
    moveTo: ({ port: next }, connections = 'lost') => {
      network.target = next;
      if (connections === 'reset') resetAll();
      if (connections === 'lost')
        network.links.forEach((link) => {
          link.isLost = true;
        });
    },
    close: async () => {
      resetAll();
      if (!listener.listening) return;
      listener.close();
      await once(listener, 'close');
    },
  };
}

function accept(network: Network, client: Socket): void {
  const link: Link = { client, isLost: false, isBroken: false };
  network.links.add(link);
  client.on('data', (bytes) => {
    if (link.isLost) breakOff(network, link);
    else if (link.server !== undefined) pass(network, { from: client, to: link.server, bytes });
  });
  client.on('end', () => onTheWay(network, () => link.server?.end()));
  watchEnd(network, link, client);
  resume(network, link);
}

/** Lets bytes of a link pass; connects to its server first if needed. */
function resume(network: Network, link: Link): void {
  if (network.isPartitioned) return;
  if (link.isBroken) {
    breakOff(network, link);
    return;
  }
  link.server ??= openServerSide(network, link);
  link.client.resume();
  link.server.resume();
}

function openServerSide(network: Network, link: Link): Socket {
  const server = connect({ port: network.target, host: '127.0.0.1', allowHalfOpen: true });
  server.setNoDelay(true);
  link.client.setNoDelay(true);
  server.on('data', (bytes) => {
    if (!link.isLost) pass(network, { from: server, to: link.client, bytes });
  });
  server.on('end', () => {
    if (!link.isLost) onTheWay(network, () => link.client.end());
  });
  watchEnd(network, link, server);
  return server;
}

interface Passage {
  readonly from: Socket;
  readonly to: Socket;
  readonly bytes: Buffer;
}

/** Delivers something on the other side after the delay. Items in one direction arrive in order. */
function onTheWay({ roundTripMillis }: Network, arrive: () => void): void {
  if (roundTripMillis === 0) arrive();
  else setTimeout(arrive, roundTripMillis / 2);
}

function pass(network: Network, passage: Passage): void {
  onTheWay(network, () => arrived(network, passage));
}

function arrived(network: Network, { from, to, bytes }: Passage): void {
  if (to.destroyed || to.write(bytes)) return;
  from.pause();
  to.once('drain', () => {
    if (!network.isPartitioned) from.resume();
  });
}

/** An error is followed by a close, so only the close is handled. */
function watchEnd(network: Network, link: Link, socket: Socket): void {
  socket.on('error', () => {
    link.isBroken = true;
  });
  socket.on('close', () => {
    if (network.isPartitioned) {
      link.isBroken = true;
      return;
    }
    // The server that lost the address does not learn of the end, nor does the client learn about
    // that server.
    if (link.isLost && socket === link.server) return;
    if (link.isBroken || socket === link.client) breakOff(network, link);
  });
}

function breakOff(network: Network, link: Link): void {
  network.links.delete(link);
  link.client.resetAndDestroy();
  link.server?.resetAndDestroy();
}

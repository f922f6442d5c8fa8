import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { seconds } from '../model/duration.ts';

/** What a server holds at most for all its clients together. */
export interface ServerLimits {
  /** Connections at once. One more takes the place of the oldest that has asked for nothing. */
  readonly connections: number;
  /** Bytes that wait for readers, all together; the reader for whom most wait is let go. */
  readonly waitingBytes: number;
}

/** A server with limits, and the one who keeps them while answers last. */
export interface LimitedServer {
  readonly server: Server;
  /** Lets go of the slowest readers; to be called after something was written to an answer that lasts. */
  readonly relieve: () => void;
}

/**
 * Makes an unbound server for answers to GET: it reads no body, and a request has 10 s to arrive. Two
 * Host headers are 400: a proxy between may have judged by the other one (RFC 9112, 3.2).
 */
export function limitedServer(limits: ServerLimits, answer: RequestListener): LimitedServer {
  const sockets = new Set<Socket>();
  const answers = new Map<Socket, Set<ServerResponse>>();
  const relieve = (): void => {
    const waiting = [...answers]
      .map(([socket, open]) => ({
        ...{ socket, open },
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
      slowest.socket.destroy();
    }
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const open = answers.get(socket) ?? new Set();
    if (socket.destroyed) return;
    if (open.size >= mostPipelined) {
      socket.destroy();
      return;
    }
    answers.set(socket, open.add(response));
    response.once('close', () => open.delete(response));
    if (hostsIn(request) === 1) answer(request, response);
    else response.writeHead(400, { connection: 'close' }).end();
    relieve();
  };
  const times = { requestTimeout: seconds(10), headersTimeout: seconds(10) };
  const checks = { keepAliveTimeout: seconds(5), connectionsCheckingInterval: seconds(1) };
  const server = createServer({ ...times, ...checks }, listener);
  // Whoever reads nothing for so long is gone.
  server.setTimeout(seconds(60), (socket) => socket.destroy());
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      answers.delete(socket);
    });
    if (sockets.size <= limits.connections) return;
    const oldest = [...sockets].find((one) => !answers.get(one)?.size);
    (oldest ?? socket).destroy();
  });
  return { server, relieve };
}

/** Requests that one connection may have sent before the first of them is answered; a thousand fit into what is read at once. */
const mostPipelined = 4;

const hostsIn = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;

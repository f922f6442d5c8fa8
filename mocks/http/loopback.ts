import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';

/** A server on 127.0.0.1. */
export interface Loopback {
  readonly url: string;
  readonly port: number;
  /** Closes the listening socket and every connection for a time: connections are refused. */
  readonly refuse: (milliseconds: number) => void;
  readonly close: () => Promise<void>;
}

/** Answers a request; the bindings are the plain Node request and response. */
export type Answer = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/** Serves on a port of 127.0.0.1; port 0 takes a free one. */
export async function serveLoopback(answer: Answer, port = 0): Promise<Loopback> {
  const server = createAdaptorServer({
    fetch: (request, env) => answer(request, env as HttpBindings),
  }) as Server;
  const taken = await listen(server, port);
  let isClosed = false;
  let reopening: NodeJS.Timeout | undefined;
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    refuse: (milliseconds) => {
      if (isClosed || reopening !== undefined) return;
      server.close();
      server.closeAllConnections();
      reopening = setTimeout(() => {
        reopening = undefined;
        void listen(server, taken);
      }, milliseconds);
    },
    close: async () => {
      isClosed = true;
      clearTimeout(reopening);
      server.closeAllConnections();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

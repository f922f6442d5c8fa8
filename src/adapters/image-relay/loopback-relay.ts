import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ImageRelay } from '../../ports/image-relay.ts';
import { answering, pathOf, type RelayMeans } from './answering.ts';

const loopback = '127.0.0.1';

/** Hands images on over http on the loopback interface, at a port that is free. */
export function loopbackRelay(means: RelayMeans): ImageRelay {
  return {
    serve: async (source, { signal }) => {
      signal.throwIfAborted();
      const closed = new AbortController();
      const { answer, outcome } = answering(means, source, closed.signal);
      const server = createServer(answer);
      const port = await listen(server);
      const close = async (): Promise<void> => {
        closed.abort(new Error('the relay is closed'));
        if (!server.listening) return;
        const ended = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await ended;
      };
      signal.addEventListener('abort', () => void close(), { once: true });
      return { url: `http://${loopback}:${port}${pathOf(source)}`, outcome, close };
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, loopback);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

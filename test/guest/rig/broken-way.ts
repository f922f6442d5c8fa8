import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a registry that fails. */
export interface BrokenWay extends AsyncDisposable {
  /** HOST:PORT on loopback. */
  readonly address: string;
}

/**
 * Leads to an address until so many bytes came from there, then cuts every connection that carries
 * more. `dies` lets no new one in either, as a registry that is gone.
 */
export async function breakAfter(
  address: string,
  bytes: number,
  { dies }: { readonly dies: boolean },
): Promise<BrokenWay> {
  const port = Number(address.split(':')[1]);
  const open = new Set<Socket>();
  let left = bytes;
  const server = createServer((client) => {
    const registry = connect(port, '127.0.0.1');
    for (const socket of [client, registry]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        registry.destroy();
        open.delete(socket);
      });
    }
    client.pipe(registry);
    registry.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left >= 0) {
        client.write(chunk);
        return;
      }
      client.destroy();
      if (dies) server.close();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

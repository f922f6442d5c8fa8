import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the kernel takes for outgoing connections, so that a restarted server finds its own free. */
const lowest = 10_000;
const highest = 29_999;
const ATTEMPTS = 200;
const given = new Set<number>();

/** A loopback port from 10000 to 29999 that nobody listens on and that was not given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(lowest, highest + 1);
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
  throw new Error(`no free port from ${lowest} to ${highest} after ${ATTEMPTS} attempts`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { limitedServer, type ServerLimits } from '../../src/adapters/http-server.ts';

/** A server on a free port, and connections to it as bytes. */
async function listening(
  limits: ServerLimits,
  answer: (response: ServerResponse) => void = (response) => void response.end('ok'),
) {
  const { server, relieve } = limitedServer(limits, (_, response) => {
    answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const open = async (text: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  return {
    relieve,
    open,
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

const firstLine = async (socket: Socket): Promise<string> => {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString().split('\r\n')[0] ?? '';
};

const roomy = { connections: 8, waitingBytes: 1024 ** 2 };
const request = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

describe('a server of ours', () => {
  it.each([
    [request, '200 OK'],
    [request.replace('\r\n\r\n', '\r\nHost: evil.example\r\n\r\n'), '400 Bad Request'],
    [request.replace('\r\n\r\n', '\r\nhOST: 127.0.0.1\r\n\r\n'), '400 Bad Request'],
    ['GET / HTTP/1.1\r\n\r\n', '400 Bad Request'],
  ])('answers %j with %s', async (text, status) => {
    using own = await listening(roomy);
    expect(await firstLine(await own.open(text))).toBe(`HTTP/1.1 ${status}`);
  });

  it('answers a request while as many half requests as it takes are open: the oldest goes', async () => {
    using own = await listening({ ...roomy, connections: 4 });
    const halves: Socket[] = [];
    for (let count = 0; count < 4; count += 1) halves.push(await own.open('GET / HT'));
    const gone = once(halves[0]!, 'close');
    expect(await firstLine(await own.open(request))).toBe('HTTP/1.1 200 OK');
    await gone;
    expect(halves.slice(1).map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  it('keeps who is being answered, and refuses the new one where all are', async () => {
    const answers: ServerResponse[] = [];
    using own = await listening({ ...roomy, connections: 2 }, (response) => {
      answers.push(response.writeHead(200));
      response.write('first');
    });
    const [one, two] = [await own.open(request), await own.open(request)];
    await Promise.all([firstLine(one), firstLine(two)]);
    await once(await own.open(request), 'close');
    expect([answers.length, one.destroyed, two.destroyed]).toEqual([2, false, false]);
  });

  it('lets go of those who read nothing before all together hold too much, and of nobody who reads', async () => {
    const answers: ServerResponse[] = [];
    using own = await listening({ connections: 64, waitingBytes: 4 * 1024 ** 2 }, (response) => {
      answers.push(response.writeHead(200));
      response.flushHeaders();
    });
    const reader = await own.open(request);
    let read = 0;
    reader.on('data', (chunk: Buffer) => void (read += chunk.length));
    for (let count = 0; count < 20; count += 1) (await own.open(request)).pause();
    await expect.poll(() => answers).toHaveLength(21);
    const chunk = Buffer.alloc(128 * 1024);
    const open = (): readonly ServerResponse[] => answers.filter(({ destroyed }) => !destroyed);
    const held = (): number => open().reduce((sum, one) => sum + one.writableLength, 0);
    let written = 0;
    while (open().length > 6) {
      for (const answer of open()) answer.write(chunk);
      own.relieve();
      expect(held()).toBeLessThanOrEqual(4 * 1024 ** 2);
      written += chunk.length;
      await expect.poll(() => read).toBeGreaterThanOrEqual(written);
    }
    expect(reader.destroyed).toBe(false);
  });

  it('makes no answers for whoever sends a thousand requests and reads none', async () => {
    const answers: ServerResponse[] = [];
    using own = await listening(roomy, (response) => {
      answers.push(response.writeHead(200));
      response.write('x'.repeat(1000));
    });
    const flood = await own.open(request.repeat(1000));
    await once(flood, 'close');
    expect(answers.length).toBeLessThanOrEqual(4);
    expect(await firstLine(await own.open(request))).toBe('HTTP/1.1 200 OK');
  });

  it('counts what waits behind an unread answer, and lets go of its connection', async () => {
    const sockets: (Socket | null)[] = [];
    using own = await listening(roomy, (response) => {
      sockets.push(response.req.socket);
      response.write('x'.repeat(600 * 1024));
    });
    const socket = await own.open(request.repeat(3));
    socket.pause();
    await expect.poll(() => sockets[0]?.destroyed).toBe(true);
  });
});

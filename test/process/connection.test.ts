import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, singleHostWords } from '../../mocks/lab/single-host.ts';

const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');

it.each(['worker', 'bootstrap'] as const)(
  'a %s asks the next thing over the connection of the first report',
  async (role) => {
    await using host = await openSingleHost({
      ...{ role, isControlPlaneDone: true, token: 't' },
      write: { seconds: 0.2, lineMillis: 20 },
    });
    const ports: (number | undefined)[] = [];
    const service = createServer((request, response) => {
      ports.push(request.socket.remotePort);
      request.resume();
      request.on('end', () => response.writeHead(ports.length < 3 ? 200 : 403).end('{}'));
    });
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    const agent = startAgent({
      bundle,
      args: [...singleHostWords(role, `http://127.0.0.1:${port}`)],
      env: host.environment,
      logFile: join(host.folder, 'agent.log'),
    });
    await agent.ended;
    service.close();
    expect(ports.length).toBeGreaterThan(1);
    expect(ports[1]).toBe(ports[0]);
  },
);

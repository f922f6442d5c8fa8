import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { serviceOf } from '../../src/cli/watch.ts';
import { livePage } from '../../src/page/server.ts';
import { emptyPage } from '../../src/page/state.ts';

const id = '11111111-1111-4111-8111-111111111111';

describe('the watched service', () => {
  it.each([
    ['v2', '/api/assisted-install/v2'],
    ['v1', '/api/assisted-install/v1'],
    ['bm-inventory-v1', '/api/bm-inventory/v1'],
  ])('is requested with the path of service.api %s', async (api, base) => {
    const control = new AbortController();
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(404).end();
      control.abort(new Error('seen'));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const argv = ['--url', url, '--cluster-id', id, '--service.api', api];
    try {
      await using service = await serviceOf({ argv, environment: {} });
      const page = livePage(emptyPage('Installation', service.name, 0));
      await expect(service.follow(page, control.signal)).rejects.toThrow('seen');
    } finally {
      server.close();
    }
    expect(asked).toEqual([`${base}/clusters/${id}?exclude-hosts=false`]);
  });
});

// What comes of the answers of the inventory service.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inTurn, json, makeCertificates, startServer } from './real/http-server.ts';
import { host, inventoryStand } from './real/inventory-stand.ts';

const { signal } = new AbortController();

const stand = inventoryStand();

describe('answers', () => {
  it.each([
    [400, 'inventory.rejected', 1],
    [403, 'inventory.denied', 1],
    [404, 'inventory.not-found', 11],
    [405, 'inventory.rejected', 1],
    [423, 'inventory.unreachable', 11],
    [302, 'inventory.unreadable', 1],
  ])('%i is %s, after %i attempts', async (status, code, attempts) => {
    stand.server.answering((_, response) => {
      response.writeHead(status, { 'content-type': 'application/octet-stream' });
      response.end('{"code":"x","reason":"the reason"}');
    });
    await expect(stand.v2().hostIgnition('worker', signal)).rejects.toMatchObject({
      code,
      context: { status, attempts },
    });
    expect(stand.server.seen).toHaveLength(attempts);
  });

  it('a certificate that is not trusted is shown once', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'bootwright-untrusted-'));
    const secure = await startServer(json(200, {}), makeCertificates(directory));
    try {
      const asking = stand.v2({ url: secure.url }).hostIgnition('worker', signal);
      await expect(asking).rejects.toMatchObject({
        code: 'inventory.untrusted',
        context: { attempts: 1 },
      });
    } finally {
      await secure.close();
      await rm(directory, { recursive: true });
    }
  });

  it('a refusal names the status in which the service installs no host', async () => {
    const reason = "Can't set progress <Installing> to host in status <cancelled>";
    stand.server.answering(json(409, { kind: 'Error', id: 409, href: '', code: '409', reason }));
    const report = { stage: 'Installing', info: 'master' } as const;
    await expect(stand.v2().report(host, report, signal)).rejects.toMatchObject({
      code: 'inventory.refused',
      context: { hostStatus: 'cancelled' },
    });
  });

  it('a connection that breaks is tried again', async () => {
    stand.server.answering(
      inTurn(
        (_, response) => {
          response.socket?.destroy();
        },
        (_, response) => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{"id":', () => response.socket?.destroy());
        },
        json(200, { hosts: [] }),
      ),
    );
    await expect(stand.v2().enabledHosts(signal)).resolves.toEqual([]);
    expect(stand.server.seen).toHaveLength(3);
  });

  it('hosts come with what is read of them', async () => {
    const inventory = JSON.stringify({
      interfaces: [{ ipv4_addresses: ['10.0.0.5/24'], ipv6_addresses: ['fd00::5/64'] }, {}],
    });
    const progress = { current_stage: 'Done', progress_info: 'x' };
    const wire = { id: 'a', role: 'master', status: 'installed', progress, inventory, more: 1 };
    stand.server.answering(json(200, [{ ...wire, infra_env_id: 'I', requested_hostname: 'm0' }]));
    await expect(stand.v2().hosts('master', signal)).resolves.toEqual([
      {
        id: 'a',
        infraEnvId: 'I',
        name: 'm0',
        role: 'master',
        status: 'installed',
        stage: 'Done',
        addresses: ['10.0.0.5', 'fd00::5'],
      },
    ]);
  });
});

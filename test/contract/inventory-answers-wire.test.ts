// What comes of the answers of the inventory service.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seconds } from '../../src/model/duration.ts';
import { quickClock } from '../support/quick-clock.ts';
import { impatient, inTurn, json, makeCertificates, startServer } from './real/http-server.ts';
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

  it('500 is tried again until the call has taken its time', async () => {
    stand.server.answering(json(500, { code: 500, message: 'out of order' }));
    const notices: number[] = [];
    const inventory = stand.v2({
      callLimit: seconds(60),
      onRetry: ({ attempt, what }) => {
        expect(what).toBe('GET /api/assisted-install/v2/clusters/C');
        notices.push(attempt);
      },
    });
    const failure = await inventory.enabledHosts(signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'inventory.unreachable', context: { status: 500 } });
    expect((failure as Error).message).toContain('out of order');
    expect(notices.length).toBeGreaterThan(5);
    // The call may take its time between a notice and the attempt that it announces.
    expect([notices.length, notices.length + 1]).toContain(stand.server.seen.length);
  });

  it('a report gives up sooner than another call', async () => {
    stand.server.answering(json(503, {}));
    const clock = quickClock();
    const before = clock.now();
    const failing = stand
      .v2({ clock, reportLimit: seconds(20) })
      .report(host, { stage: 'Installing', info: '' }, signal);
    await expect(failing).rejects.toMatchObject({ code: 'inventory.unreachable' });
    expect(clock.now() - before).toBeLessThan(seconds(40));
  });

  it('a service that takes a report and says nothing is unreachable, within its limit', async () => {
    stand.server.answering(() => undefined);
    const failing = stand
      .v2({ reportLimit: seconds(15) })
      .report(host, { stage: 'Installing', info: '' }, signal);
    await expect(failing).rejects.toMatchObject({
      code: 'inventory.unreachable',
      context: { attempts: 1 },
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

  it('that never come are tried again', async () => {
    stand.server.answering(inTurn(() => undefined, json(200, { hosts: [] })));
    const inventory = stand.v2({ connection: impatient });
    await expect(inventory.enabledHosts(signal)).resolves.toEqual([]);
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

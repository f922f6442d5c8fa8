// What goes over the wire to the inventory service, and what comes of its answers.
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InventoryOptions } from '../../src/adapters/http/inventory-client.ts';
import { inventoryV1 } from '../../src/adapters/http/inventory-v1.ts';
import { inventoryV2 } from '../../src/adapters/http/inventory-v2.ts';
import { seconds } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import type { Inventory } from '../../src/ports/inventory.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import { inTurn, json, startServer, type TestServer } from './real/http-server.ts';

const host = { infraEnvId: 'I', hostId: 'H' };
const signal = new AbortController().signal;
const ok = json(200, {});
const patience = { connect: 500, headers: 300, idle: 300 };

let server: TestServer;
beforeEach(async () => {
  server = await startServer(ok);
});
afterEach(() => server.close());

const v2 = (more: Partial<InventoryOptions> = {}): Inventory =>
  inventoryV2({
    url: server.url,
    token: new Secret('token'),
    clusterId: 'C',
    ...host,
    connection: { patience },
    clock: quickClock(),
    random: fakeRandom(),
    ...more,
  });

describe('requests of version 2', () => {
  it.each<[string, (inventory: Inventory) => Promise<unknown>, string, string, boolean]>([
    [
      'a report',
      (inventory) => inventory.report(host, { stage: 'Installing', info: '<m> & "x"' }, signal),
      'PUT /api/assisted-install/v2/infra-envs/I/hosts/H/progress',
      '{"current_stage":"Installing","progress_info":"<m> & \\"x\\""}\n',
      true,
    ],
    [
      'a report without info',
      (inventory) => inventory.report(host, { stage: 'Rebooting', info: '' }, signal),
      'PUT /api/assisted-install/v2/infra-envs/I/hosts/H/progress',
      '{"current_stage":"Rebooting"}\n',
      true,
    ],
    [
      'the Ignition of the host',
      (inventory) => inventory.hostIgnition('worker', signal),
      'GET /api/assisted-install/v2/infra-env/I/hosts/H/downloads/ignition',
      '',
      true,
    ],
    [
      'a file of the cluster',
      (inventory) => inventory.clusterFile('bootstrap.ign', signal),
      'GET /api/assisted-install/v2/clusters/C/downloads/files?file_name=bootstrap.ign',
      '',
      true,
    ],
    [
      'the cluster',
      (inventory) => inventory.cluster(signal),
      'GET /api/assisted-install/v2/clusters/C?exclude-hosts=true',
      '',
      false,
    ],
    [
      'hosts',
      (inventory) => inventory.hosts('master', signal),
      'GET /api/assisted-install/v2/clusters/C/hosts?role=master',
      '',
      false,
    ],
    [
      'the state of logs',
      (inventory) => inventory.logsState(host, 'requested', signal),
      'PUT /api/assisted-install/v2/infra-envs/I/hosts/H/logs-progress',
      '{"logs_state":"requested"}\n',
      false,
    ],
    [
      'every enabled host',
      (inventory) => inventory.enabledHosts(signal),
      'GET /api/assisted-install/v2/clusters/C?exclude-hosts=false',
      '',
      true,
    ],
    [
      'the kubeconfig',
      (inventory) => inventory.kubeconfig(signal),
      'GET /api/assisted-install/v2/clusters/C/downloads/credentials?file_name=kubeconfig-noingress',
      '',
      true,
    ],
    [
      'the state of the logs of the cluster',
      (inventory) => inventory.clusterLogsState('requested', signal),
      'PUT /api/assisted-install/v2/clusters/C/logs-progress',
      '{"logs_state":"requested"}\n',
      true,
    ],
    [
      'a report for another host',
      (inventory) =>
        inventory.report(
          { infraEnvId: 'J', hostId: 'K' },
          { stage: 'Configuring', info: '' },
          signal,
        ),
      'PUT /api/assisted-install/v2/infra-envs/J/hosts/K/progress',
      '{"current_stage":"Configuring"}\n',
      true,
    ],
  ])('%s', async (...[, call, line, body, hasRequestId]) => {
    server.answering(json(200, line.includes('/hosts?') ? [] : { id: 'C' }));
    await call(v2());
    const [seen] = server.seen;
    expect(`${seen?.method} ${seen?.path}`).toBe(line);
    expect(seen?.body).toBe(body);
    expect(seen?.headers).toMatchObject({
      'x-secret-key': 'token',
      accept: line.includes('/downloads/') ? 'application/octet-stream' : 'application/json',
      ...(body === '' ? {} : { 'content-length': `${Buffer.byteLength(body)}` }),
    });
    expect(seen?.headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    expect(seen?.headers['x-request-id'] !== undefined).toBe(hasRequestId);
  });

  it('carry an empty token when there is none, and keep a prefix of the URL', async () => {
    const { report } = inventoryV2({
      url: `${server.url}/proxied/`,
      clusterId: 'C',
      ...host,
      clock: quickClock(),
      random: fakeRandom(),
    });
    await report(host, { stage: 'Installing', info: '' }, signal);
    expect(server.seen[0]?.headers['x-secret-key']).toBe('');
    expect(server.seen[0]?.path).toMatch(/^\/proxied\/api\/assisted-install\/v2\/infra-envs/);
  });

  it('of one call have one request id, and those of another call another', async () => {
    server.answering(inTurn(json(500, {}), ok));
    const inventory = v2();
    await inventory.report(host, { stage: 'Installing', info: '' }, signal);
    await inventory.report(host, { stage: 'Rebooting', info: '' }, signal);
    const ids = server.seen.map(({ headers }) => headers['x-request-id']);
    expect(ids).toHaveLength(3);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(server.seen[0]?.body).toBe(server.seen[1]?.body);
  });
});

describe('the logs of the controller', () => {
  const archive = Uint8Array.from([0x1f, 0x8b, 0x08, 0x00, 0x0d, 0x0a, 0x2d, 0x2d]);

  it('are a form with one file', async () => {
    await v2().uploadControllerLogs(archive, signal);
    const [seen] = server.seen;
    expect(`${seen?.method} ${seen?.path}`).toBe(
      'POST /api/assisted-install/v2/clusters/C/logs?logs_type=controller',
    );
    expect(seen?.headers).toMatchObject({
      'x-secret-key': 'token',
      'x-request-id': expect.any(String) as string,
      accept: 'application/json',
    });
    const type = seen?.headers['content-type'] ?? '';
    const boundary = /^multipart\/form-data; boundary=([\w-]+)$/.exec(type)?.[1];
    expect(seen?.body).toBe(
      [
        `--${String(boundary)}`,
        'Content-Disposition: form-data; name="upfile"; filename="controller_logs.tar.gz"',
        'Content-Type: application/x-gzip',
        '',
        Buffer.from(archive).toString(),
        `--${String(boundary)}--`,
        '',
      ].join('\r\n'),
    );
  });

  it('are sent once more as they were', async () => {
    server.answering(inTurn(json(503, {}), json(204, {})));
    await v2().uploadControllerLogs(archive, signal);
    expect(server.seen).toHaveLength(2);
    expect(server.seen[1]).toEqual(server.seen[0]);
  });
});

describe('requests of version 1', () => {
  it('report and ask for the Ignition of a role', async () => {
    const inventory = inventoryV1(
      { url: server.url, clusterId: 'C', ...host, clock: quickClock(), random: fakeRandom() },
      '/api/bm-inventory/v1',
    );
    await inventory.report(host, { stage: 'Installing', info: '' }, signal);
    await inventory.hostIgnition('worker', signal);
    await inventory.hostIgnition('bootstrap', signal);
    await inventory.report({ infraEnvId: 'C', hostId: 'K' }, { stage: 'Joined', info: '' }, signal);
    await inventory.clusterFile('bootstrap.ign', signal);
    await inventory.kubeconfig(signal);
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PUT /api/bm-inventory/v1/clusters/C/hosts/H/progress',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=worker.ign',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=master.ign',
      'PUT /api/bm-inventory/v1/clusters/C/hosts/K/progress',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=bootstrap.ign',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=kubeconfig-noingress',
    ]);
  });

  it('are not made for what version 1 has not', async () => {
    const inventory = inventoryV1(
      { url: server.url, clusterId: 'C', ...host, clock: quickClock(), random: fakeRandom() },
      '/api/assisted-install/v1',
    );
    await inventory.logsState(host, 'requested', signal);
    await inventory.clusterLogsState('requested', signal);
    await inventory.uploadControllerLogs(new Uint8Array(), signal);
    expect(server.seen).toEqual([]);
  });

  it('filter hosts by role themselves; the bootstrap host is a master', async () => {
    server.answering(
      json(200, [
        { id: 'b', role: 'bootstrap' },
        { id: 'w', role: 'worker' },
      ]),
    );
    const inventory = inventoryV1(
      { url: server.url, clusterId: 'C', ...host, clock: quickClock(), random: fakeRandom() },
      '/api/assisted-install/v1',
    );
    expect((await inventory.hosts('master', signal)).map(({ id }) => id)).toEqual(['b']);
  });
});

describe('answers', () => {
  it.each([
    [400, 'inventory.rejected', 1],
    [401, 'inventory.denied', 1],
    [403, 'inventory.denied', 1],
    [404, 'inventory.not-found', 11],
    [405, 'inventory.rejected', 1],
    [409, 'inventory.refused', 1],
    [423, 'inventory.unreachable', 11],
    [302, 'inventory.unreadable', 1],
  ])('%i is %s, after %i attempts', async (status, code, attempts) => {
    server.answering((_, response) => {
      response.writeHead(status, { 'content-type': 'application/octet-stream' });
      response.end('{"code":"x","reason":"the reason"}');
    });
    await expect(v2().hostIgnition('worker', signal)).rejects.toMatchObject({
      code,
      context: { status, attempts },
    });
    expect(server.seen).toHaveLength(attempts);
  });

  it('500 is tried again until the call has taken its time', async () => {
    server.answering(json(500, { code: 500, message: 'out of order' }));
    const notices: number[] = [];
    const inventory = v2({
      callLimit: seconds(60),
      onRetry: ({ attempt, what }) => {
        expect(what).toBe('GET /api/assisted-install/v2/clusters/C');
        notices.push(attempt);
      },
    });
    const failure = await inventory.cluster(signal).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'inventory.unreachable', context: { status: 500 } });
    expect((failure as Error).message).toContain('out of order');
    expect(notices.length).toBeGreaterThan(5);
    // The call may take its time between a notice and the attempt that it announces.
    expect([notices.length, notices.length + 1]).toContain(server.seen.length);
  });

  it('a report gives up sooner than another call', async () => {
    server.answering(json(503, {}));
    const clock = quickClock();
    const before = clock.now();
    const failing = v2({ clock, reportLimit: seconds(20) }).report(
      host,
      { stage: 'Installing', info: '' },
      signal,
    );
    await expect(failing).rejects.toMatchObject({ code: 'inventory.unreachable' });
    expect(clock.now() - before).toBeLessThan(seconds(40));
  });

  it('a service that takes a report and says nothing is unreachable, within its limit', async () => {
    server.answering(() => undefined);
    const slow = { patience: { ...patience, headers: 60_000 } };
    const failing = v2({ connection: slow, reportLimit: seconds(15) }).report(
      host,
      { stage: 'Installing', info: '' },
      signal,
    );
    await expect(failing).rejects.toMatchObject({
      code: 'inventory.unreachable',
      context: { attempts: 1 },
    });
  });

  it('a connection that breaks is tried again', async () => {
    server.answering(
      inTurn(
        (_, response) => {
          response.socket?.destroy();
        },
        (_, response) => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{"id":');
          setTimeout(() => response.socket?.destroy(), 20);
        },
        json(200, { id: 'C' }),
      ),
    );
    await expect(v2().cluster(signal)).resolves.toEqual({ id: 'C', kind: 'Cluster' });
    expect(server.seen).toHaveLength(3);
  });

  it('that never come are tried again', async () => {
    server.answering(inTurn(() => undefined, json(200, { id: 'C' })));
    await expect(v2().cluster(signal)).resolves.toMatchObject({ id: 'C' });
  });

  it('of another kind than expected say so, once', async () => {
    server.answering((_, response) => {
      response.end('<html><title>Log in</title></html>');
    });
    await expect(v2().cluster(signal)).rejects.toMatchObject({ code: 'inventory.unreadable' });
    expect(server.seen).toHaveLength(1);
  });

  it('hosts come with what is read of them', async () => {
    const inventory = JSON.stringify({
      interfaces: [{ ipv4_addresses: ['10.0.0.5/24'], ipv6_addresses: ['fd00::5/64'] }, {}],
    });
    const progress = { current_stage: 'Done', progress_info: 'x' };
    const wire = { id: 'a', role: 'master', status: 'installed', progress, inventory, more: 1 };
    server.answering(json(200, [{ ...wire, infra_env_id: 'I', requested_hostname: 'm0' }]));
    await expect(v2().hosts('master', signal)).resolves.toEqual([
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

describe('a download', () => {
  it('that is cut says so', async () => {
    server.answering((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x'.repeat(40));
      setTimeout(() => response.socket?.destroy(), 20);
    });
    const { body, bytes } = await v2().hostIgnition('worker', signal);
    expect(bytes).toBe(100);
    await expect(text(body)).rejects.toMatchObject({
      code: 'web.cut',
      context: { received: 40, bytes: 100 },
    });
  });

  it('that stalls says so', async () => {
    server.answering((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x');
    });
    const { body } = await v2().hostIgnition('worker', signal);
    await expect(text(body)).rejects.toMatchObject({ code: 'web.cut', context: { received: 1 } });
  });

  it('stops with the reason of the signal', async () => {
    server.answering((_, response) => {
      response.writeHead(200);
      response.write('x');
    });
    const controller = new AbortController();
    const { body } = await v2().hostIgnition('worker', controller.signal);
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 20);
    await expect(text(body)).rejects.toBe(reason);
  });

  it('outlives the limit of the call that opened it', async () => {
    server.answering((_, response) => {
      response.write('first ');
      setTimeout(() => response.end('last'), 250);
    });
    const inventory = v2({ callLimit: seconds(10), clock: quickClock(200) });
    const { body } = await inventory.hostIgnition('worker', signal);
    await expect(text(body)).resolves.toBe('first last');
  });
});

it('nobody there: unreachable, with the words of the fault', async () => {
  await server.close();
  const failing = v2({ callLimit: seconds(20) }).cluster(signal);
  await expect(failing).rejects.toMatchObject({
    code: 'inventory.unreachable',
    context: { fault: 'ECONNREFUSED' },
  });
  server = await startServer(ok);
});

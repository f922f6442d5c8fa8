// What goes over the wire to the inventory service.
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { inventoryOf } from '../../src/adapters/http/inventory.ts';
import { seconds } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import { userAgent } from '../../src/model/version.ts';
import type { Inventory } from '../../src/ports/inventory.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import { inTurn, json, type Responder } from './real/http-server.ts';
import { host, inventoryStand, ok } from './real/inventory-stand.ts';

const { signal } = new AbortController();
const stand = inventoryStand();

describe('a token that the service rejects', () => {
  const byToken =
    (valid: string): Responder =>
    (seen, response) =>
      seen.headers['x-secret-key'] === valid ? ok(seen, response) : json(401, {})(seen, response);

  it('is read again after each 401, and the renewed one is sent from then on', async () => {
    stand.server.answering(byToken('new'));
    let read = 0;
    const readToken = (): Promise<Secret> => {
      read += 1;
      return Promise.resolve(new Secret(read < 2 ? 'token' : 'new'));
    };
    const inventory = stand.v2({ readToken });
    const report = (): Promise<void> =>
      inventory.report(host, { stage: 'Rebooting', info: '' }, signal);
    await expect(report()).rejects.toMatchObject({ code: 'inventory.denied' });
    await report();
    await report();
    expect(read).toBe(2);
    expect(stand.server.seen.map(({ headers }) => headers['x-secret-key'])).toEqual([
      ...['token', 'token', 'new', 'new'],
    ]);
  });

  it('is denied where nobody has another one', async () => {
    stand.server.answering(byToken('new'));
    const inventory = stand.v2({ readToken: () => Promise.resolve(undefined) });
    await expect(inventory.logsState(host, 'requested', signal)).rejects.toMatchObject({
      code: 'inventory.denied',
    });
    expect(stand.server.seen).toHaveLength(1);
  });
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
    stand.server.answering(json(200, line.includes('/hosts?') ? [] : { id: 'C' }));
    await call(stand.v2());
    const [seen] = stand.server.seen;
    expect(`${seen?.method} ${seen?.path}`).toBe(line);
    expect(seen?.body).toBe(body);
    expect(seen?.headers).toMatchObject({
      'x-secret-key': 'token',
      'user-agent': userAgent,
      accept: line.includes('/downloads/') ? 'application/octet-stream' : 'application/json',
      ...(body === '' ? {} : { 'content-length': `${Buffer.byteLength(body)}` }),
    });
    expect(seen?.headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    expect(seen?.headers['x-request-id'] !== undefined).toBe(hasRequestId);
  });

  it('carry an empty token when there is none, and keep a prefix of the URL', async () => {
    const { report } = inventoryOf('v2', {
      url: `${stand.server.url}/proxied/`,
      clusterId: 'C',
      ...host,
      clock: quickClock(),
      random: fakeRandom(),
    });
    await report(host, { stage: 'Installing', info: '' }, signal);
    expect(stand.server.seen[0]?.headers['x-secret-key']).toBe('');
    expect(stand.server.seen[0]?.path).toMatch(/^\/proxied\/api\/assisted-install\/v2\/infra-envs/);
  });

  it('of one call have one request id, and those of another call another', async () => {
    stand.server.answering(inTurn(json(500, {}), ok));
    const inventory = stand.v2();
    await inventory.clusterLogsState('requested', signal);
    await inventory.clusterLogsState('completed', signal);
    const ids = stand.server.seen.map(({ headers }) => headers['x-request-id']);
    expect(ids).toHaveLength(3);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(stand.server.seen[0]?.body).toBe(stand.server.seen[1]?.body);
  });
});

describe('the logs of the controller', () => {
  const archive = Uint8Array.from([0x1f, 0x8b, 0x08, 0x00, 0x0d, 0x0a, 0x2d, 0x2d]);

  it('are a form with one file', async () => {
    await stand.v2().uploadControllerLogs(archive, signal);
    const [seen] = stand.server.seen;
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
    stand.server.answering(inTurn(json(503, {}), json(204, {})));
    await stand.v2().uploadControllerLogs(archive, signal);
    expect(stand.server.seen).toHaveLength(2);
    expect(stand.server.seen[1]).toEqual(stand.server.seen[0]);
  });
});

describe('requests of version 1', () => {
  const version1 = (api: 'v1' | 'bm-inventory-v1'): Inventory =>
    inventoryOf(api, {
      url: stand.server.url,
      clusterId: 'C',
      ...host,
      clock: quickClock(),
      random: fakeRandom(),
    });

  it('report and ask for the Ignition of a role', async () => {
    const inventory = version1('bm-inventory-v1');
    await inventory.report(host, { stage: 'Installing', info: '' }, signal);
    await inventory.hostIgnition('worker', signal);
    await inventory.hostIgnition('bootstrap', signal);
    await inventory.report({ infraEnvId: 'C', hostId: 'K' }, { stage: 'Joined', info: '' }, signal);
    await inventory.clusterFile('bootstrap.ign', signal);
    await inventory.kubeconfig(signal);
    expect(stand.server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PUT /api/bm-inventory/v1/clusters/C/hosts/H/progress',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=worker.ign',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=master.ign',
      'PUT /api/bm-inventory/v1/clusters/C/hosts/K/progress',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=bootstrap.ign',
      'GET /api/bm-inventory/v1/clusters/C/downloads/files?file_name=kubeconfig-noingress',
    ]);
  });

  it('are made once for each poll of a wait, whose service fails', async () => {
    stand.server.answering(json(503, {}));
    const inventory = version1('v1');
    const polls = [
      inventory.cluster,
      (end: AbortSignal) => inventory.hosts('master', end),
      (end: AbortSignal) => inventory.namedHosts('master', end),
    ];
    for (const poll of polls)
      await expect(poll(signal)).rejects.toMatchObject({ code: 'inventory.unreachable' });
    expect(stand.server.seen).toHaveLength(polls.length);
  });

  it('are not made for what version 1 has not', async () => {
    const inventory = version1('v1');
    await inventory.logsState(host, 'requested', signal);
    await inventory.clusterLogsState('requested', signal);
    await inventory.uploadControllerLogs(new Uint8Array(), signal);
    expect(stand.server.seen).toEqual([]);
  });

  it('filter hosts by role themselves; the bootstrap host is a master', async () => {
    stand.server.answering(
      json(200, [
        { id: 'b', role: 'bootstrap' },
        { id: 'w', role: 'worker' },
      ]),
    );
    const inventory = version1('v1');
    expect((await inventory.hosts('master', signal)).map(({ id }) => id)).toEqual(['b']);
  });
});

describe('answers', () => {
  it('a refusal names the status in which the service installs no host', async () => {
    const reason = "Can't set progress <Installing> to host in status <cancelled>";
    stand.server.answering(json(409, { kind: 'Error', id: 409, href: '', code: '409', reason }));
    const report = { stage: 'Installing', info: 'master' } as const;
    await expect(stand.v2().report(host, report, signal)).rejects.toMatchObject({
      code: 'inventory.refused',
      context: { hostStatus: 'cancelled' },
    });
  });

  it.each([
    [423, 'inventory.unreachable', 11],
    [302, 'inventory.unreadable', 1],
  ])('of %i are %s, after %i attempts', async (status, code, attempts) => {
    stand.server.answering((_, response) => void response.writeHead(status).end());
    await expect(stand.v2().hostIgnition('worker', signal)).rejects.toMatchObject({
      code,
      context: { status, attempts },
    });
  });
});

describe('a download', () => {
  it('outlives the limit of the call that opened it', async () => {
    const clock = quickClock(200);
    const late = Promise.withResolvers<undefined>();
    stand.server.answering((_, response) => {
      response.write('first ');
      void late.promise.then(() => response.end('last'));
    });
    const inventory = stand.v2({ callLimit: seconds(10), clock });
    const { body } = await inventory.hostIgnition('worker', signal);
    await clock.sleep(seconds(20), signal);
    late.resolve(undefined);
    await expect(text(body)).resolves.toBe('first last');
  });
});

// Requests to the inventory service on the wire.
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { inventoryOf } from '../../src/adapters/http/inventory.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import { userAgent } from '../../src/model/version.ts';
import type { InstallationView, Inventory } from '../../src/ports/inventory.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { quickClock } from '../support/quick-clock.ts';
import { inTurn, json, type Responder } from './real/http-server.ts';
import { host, inventoryStand, ok } from './real/inventory-stand.ts';

const { signal } = new AbortController();
const stand = inventoryStand();
const cluster = { id: 'C', status: 'installing' };

describe('a token that the service rejects', () => {
  const byToken =
    (valid: string): Responder =>
    (seen, response) =>
      seen.headers['x-secret-key'] === valid ? ok(seen, response) : json(401, {})(seen, response);

  it('is read again after each 401, and the new one is used afterwards', async () => {
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

  it('is denied when no other token is available', async () => {
    stand.server.answering(byToken('new'));
    const inventory = stand.v2({ readToken: () => Promise.resolve(undefined) });
    await expect(inventory.logsState(host, 'requested', signal)).rejects.toMatchObject({
      code: 'inventory.denied',
    });
    expect(stand.server.seen).toHaveLength(1);
  });
});

it('an answer of a failing service points to the service, not to the network', async () => {
  stand.server.answering(json(503, {}));
  const inventory = stand.v2({ callLimit: seconds(1) });
  await expect(inventory.cluster(signal)).rejects.toMatchObject({
    code: 'inventory.unreachable',
    hint: expect.stringMatching(
      /^check the service .* proxy or load balancer before it$/,
    ) as string,
  });
});

describe('requests of version 2', () => {
  const infraEnv = 'infra-envs/I/hosts/H';
  const cvo = { name: 'cvo', version: '', status: 'available', statusInfo: '' } as const;

  it.each<[string, (inventory: Inventory) => Promise<unknown>, string?]>([
    [
      `PUT ${infraEnv}/progress`,
      (of) => of.report(host, { stage: 'Installing', info: '<m> & "x"' }, signal),
      '{"current_stage":"Installing","progress_info":"<m> & \\"x\\""}',
    ],
    [
      'PUT infra-envs/J/hosts/K/progress',
      (of) => of.report({ infraEnvId: 'J', hostId: 'K' }, { stage: 'Done', info: '' }, signal),
      '{"current_stage":"Done"}',
    ],
    ['GET infra-env/I/hosts/H/downloads/ignition', (of) => of.hostIgnition('worker', signal)],
    [
      'GET clusters/C/downloads/files?file_name=bootstrap.ign',
      (of) => of.clusterFile('bootstrap.ign', signal),
    ],
    [
      'GET clusters/C/downloads/credentials?file_name=kubeconfig-noingress',
      (of) => of.kubeconfig(signal),
    ],
    ['GET clusters/C?exclude-hosts=true', (of) => of.cluster(signal)],
    ['GET clusters/C?exclude-hosts=false', (of) => of.enabledHosts(signal)],
    ['GET clusters/C/hosts?role=master', (of) => of.hosts('master', signal)],
    [
      `PUT ${infraEnv}/logs-progress`,
      (of) => of.logsState(host, 'requested', signal),
      '{"logs_state":"requested"}',
    ],
    [
      'PUT clusters/C/logs-progress',
      (of) => of.clusterLogsState('requested', signal),
      '{"logs_state":"requested"}',
    ],
    [
      'PUT clusters/C/progress',
      (of) => of.reportFinalizing('Adding router ca', signal),
      '{"finalizing_stage":"Adding router ca"}',
    ],
    [
      'PUT clusters/C/monitored-operators',
      (of) => of.reportOperator({ ...cvo, version: '4.20.1', statusInfo: '80%' }, signal),
      '{"name":"cvo","status":"available","version":"4.20.1","status_info":"80%"}',
    ],
    [
      'PUT clusters/C/monitored-operators',
      (of) => of.reportOperator(cvo, signal),
      '{"name":"cvo","status":"available"}',
    ],
    [
      'POST clusters/C/uploads/ingress-cert',
      (of) => of.uploadIngressCa('-----BEGIN\nx\n', signal),
      '"-----BEGIN\\nx\\n"',
    ],
    [
      'POST clusters/C/actions/complete-installation',
      (of) => of.complete({ isSuccess: true, error: '' }, signal),
      '{"is_success":true}',
    ],
    [
      'POST clusters/C/actions/complete-installation',
      (of) => of.complete({ isSuccess: false, error: 'late', data: { R: [] } }, signal),
      '{"is_success":false,"error_info":"late","data":{"R":[]}}',
    ],
  ])('%s', async (line, call, body) => {
    const isWithoutId = /hosts=true|role=|hosts\/H\/logs-progress/.test(line);
    stand.server.answering(json(200, line.includes('/hosts?') ? [] : { id: 'C' }));
    await call(stand.v2());
    const [seen] = stand.server.seen;
    expect(`${seen?.method} ${seen?.path}`).toBe(line.replace(' ', ' /api/assisted-install/v2/'));
    expect(seen?.body).toBe(body === undefined ? '' : `${body}\n`);
    expect(seen?.headers).toMatchObject({
      'x-secret-key': 'token',
      'user-agent': userAgent,
      accept: line.includes('/downloads/') ? 'application/octet-stream' : 'application/json',
    });
    expect(seen?.headers['content-type']).toBe(body && 'application/json');
    expect(seen?.headers['x-request-id'] === undefined).toBe(isWithoutId);
  });

  it('carry an empty token without one, and keep the path of the URL', async () => {
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

  it('have the same request id for the retries of one call only', async () => {
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

  it('return the same object for an unchanged host', async () => {
    const answers = [
      ['a', 'b'],
      ['b', 'c'],
    ].map((ids) =>
      json(
        200,
        ids.map((id) => ({ id })),
      ),
    );
    stand.server.answering(inTurn(...answers));
    const inventory = stand.v2();
    const before = await inventory.hosts('master', signal);
    const after = await inventory.hosts('master', signal);
    expect(after.map((one) => before.indexOf(one))).toEqual([1, -1]);
  });
});

describe('an upload of controller logs', () => {
  const archive = Uint8Array.from([0x1f, 0x8b, 0x08, 0x00, 0x0d, 0x0a, 0x2d, 0x2d]);

  it('is a form with one file', async () => {
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

  it('use the paths of version 1', async () => {
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

  it('are not retried within a poll', async () => {
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

  it('are not sent for features that version 1 lacks', async () => {
    const inventory = version1('v1');
    await inventory.logsState(host, 'requested', signal);
    await inventory.clusterLogsState('requested', signal);
    await inventory.uploadControllerLogs(new Uint8Array(), signal);
    expect(stand.server.seen).toEqual([]);
  });

  it('filter hosts by role in the client and count the bootstrap host as a master', async () => {
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

describe('responses', () => {
  it('of a refusal carry the host status', async () => {
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

it('a redirect names what the URL has to begin with, not the path of one call', async () => {
  const location = 'https://svc.example:8443/api/assisted-install/v2/clusters/C?exclude-hosts=true';
  stand.server.answering((_, response) => void response.writeHead(301, { location }).end());
  await expect(stand.v2().cluster(signal)).rejects.toMatchObject({
    message: expect.stringMatching(
      /clusters\/C; if that is the service, its URL begins with https:\/\/svc\.example:8443$/,
    ) as string,
  });
});

describe('a download', () => {
  it('may take longer than the limit of the call that opened it', async () => {
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

describe('requests of the controller', () => {
  it('are retried at most 16 times', async () => {
    stand.server.answering(json(503, {}));
    const call = stand.v2({ clock: quickClock(100) }).reportFinalizing('Done', signal);
    await expect(call).rejects.toMatchObject({ code: 'inventory.unreachable' });
    expect(stand.server.seen.length).toBeLessThanOrEqual(16);
    expect(stand.server.seen.length).toBeGreaterThan(5);
  });

  it('list the operators again after 20 seconds and after a report', async () => {
    stand.server.answering(json(200, []));
    const clock = fakeClock({ auto: false });
    const port = stand.v2({ clock });
    const asked = () => stand.server.seen.filter(({ method }) => method === 'GET').length;
    await port.operators(signal);
    await clock.advance(seconds(20));
    await port.operators(signal);
    expect(asked()).toBe(1);
    await clock.advance(1);
    await port.operators(signal);
    expect(asked()).toBe(2);
    const report = { name: 'cvo', version: '', status: 'available', statusInfo: '' } as const;
    await port.reportOperator(report, signal);
    await port.operators(signal);
    expect(asked()).toBe(3);
  });

  it('do not return operators from before a report', async () => {
    const cvo = (status: string) => [{ operator_type: 'builtin', name: 'cvo', status }];
    const old = Promise.withResolvers<undefined>();
    let reads = 0;
    stand.server.answering(async (seen, response) => {
      if (seen.method !== 'GET') return json(200, {})(seen, response);
      reads += 1;
      const status = reads === 1 ? 'progressing' : 'available';
      if (reads === 1) await old.promise;
      return json(200, cvo(status))(seen, response);
    });
    const port = stand.v2({ clock: fakeClock({ auto: false }) });
    const asked = port.operators(signal);
    await expect.poll(() => reads, { interval: 2 }).toBe(1);
    const report = { name: 'cvo', version: '', status: 'available', statusInfo: '' } as const;
    await port.reportOperator(report, signal);
    old.resolve(undefined);
    expect(await asked).toMatchObject([{ status: 'available' }]);
    expect(await port.operators(signal)).toMatchObject([{ status: 'available' }]);
    expect(reads).toBe(2);
  });
});

describe('following the cluster', () => {
  beforeEach(() => stand.server.answering(json(200, cluster)));

  /** Follows until the test ends; returns the views so far. */
  function following(port: Inventory, until: AbortSignal): readonly InstallationView[] {
    const views: InstallationView[] = [];
    void port.follow((view) => views.push(view), until);
    return views;
  }

  it('sends one request every 20 seconds for all followers, each with its own id', async () => {
    const clock = fakeClock({ auto: false });
    const port = stand.v2({ clock });
    const stop = new AbortController();
    const [one, other] = [following(port, stop.signal), following(port, stop.signal)];
    for (let round = 1; round <= 4; round += 1) {
      await expect.poll(() => [one.length, other.length]).toEqual([round, round]);
      await clock.advance(seconds(20) - 1);
      expect(stand.server.seen).toHaveLength(round);
      await clock.advance(1);
    }
    await expect.poll(() => one.length).toBe(5);
    stop.abort();
    await clock.advance(minutes(5));
    expect(stand.server.seen).toHaveLength(5);
    const [first, second] = stand.server.seen;
    expect(first?.path).toBe('/api/assisted-install/v2/clusters/C?exclude-hosts=false');
    expect(first?.headers['x-request-id']).not.toBe(second?.headers['x-request-id']);
  });

  it('refreshes early, but at least five seconds after the last request', async () => {
    const clock = fakeClock({ auto: false });
    const port = stand.v2({ clock });
    const stop = new AbortController();
    const views = following(port, stop.signal);
    await expect.poll(() => views.length).toBe(1);
    port.refresh();
    port.refresh();
    await clock.advance(seconds(5) - 1);
    expect(stand.server.seen).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => views.length).toBe(2);
    await clock.advance(seconds(8));
    port.refresh();
    await expect.poll(() => views.length).toBe(3);
    await clock.advance(seconds(20) - 1);
    expect(stand.server.seen).toHaveLength(3);
    stop.abort();
  });

  it('shows the known view to a new follower without an early request', async () => {
    const clock = fakeClock({ auto: false });
    const port = stand.v2({ clock });
    const first = new AbortController();
    const before = following(port, first.signal);
    await expect.poll(() => before.length).toBe(1);
    first.abort();
    const second = new AbortController();
    const after = following(port, second.signal);
    expect(after).toEqual(before);
    await clock.advance(seconds(20) - 1);
    expect(stand.server.seen).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => after.length).toBe(2);
    second.abort();
  });

  it.each([
    [401, 'inventory.denied'],
    [404, 'inventory.not-found'],
    [500, 'inventory.unreachable'],
  ])(
    'shows the error of status %i with the last known cluster until the next response',
    async (...row) => {
      const [status, code] = row;
      stand.server.answering(inTurn(json(200, cluster), json(status, {}), json(200, cluster)));
      const clock = fakeClock({ auto: false });
      const stop = new AbortController();
      const views = following(stand.v2({ clock }), stop.signal);
      for (let round = 1; round <= 3; round += 1) {
        if (round > 1) await clock.advance(seconds(20));
        await expect.poll(() => views.length).toBe(round);
      }
      expect(views.map(({ cluster: seen, lastError }) => [seen?.id, lastError?.code])).toEqual([
        ['C', undefined],
        ['C', code],
        ['C', undefined],
      ]);
      stop.abort();
    },
  );
});

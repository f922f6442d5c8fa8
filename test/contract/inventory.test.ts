import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inventoryV1 } from '../../src/adapters/http/inventory-v1.ts';
import { inventoryV2 } from '../../src/adapters/http/inventory-v2.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import type { Inventory } from '../../src/ports/inventory.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { quickClock } from '../support/quick-clock.ts';
import { json, type Responder, startServer, type TestServer } from './real/http-server.ts';

const host = { infraEnvId: 'infra-env-1', hostId: 'host-1' };
const signal = new AbortController().signal;

const wireHosts = [
  { id: 'a', role: 'master', status: 'installing', requested_hostname: 'm0', infra_env_id: 'i' },
  { id: 'w', role: 'worker', status: 'installing', requested_hostname: 'w0', infra_env_id: 'i' },
];

/** A service that is small, and does not look at what it is told. */
const service: Responder = ({ method, path }, response) => {
  const { pathname, searchParams } = new URL(path, 'http://service');
  const file = searchParams.get('file_name');
  if (method === 'PUT') {
    response.writeHead(pathname.endsWith('logs-progress') ? 204 : 200).end();
  } else if (pathname.endsWith('/downloads/ignition') || file === 'master.ign') {
    response.end('{"ignition":{}}');
  } else if (file === 'bootstrap.ign') {
    response.end('bootstrap');
  } else if (pathname.endsWith('/downloads/files')) {
    response.writeHead(409, { 'content-type': 'application/octet-stream' });
    response.end('{"kind":"Error","id":409,"href":"","code":"409","reason":"no such object"}');
  } else if (pathname.endsWith('/hosts')) {
    const role = searchParams.get('role');
    void json(
      200,
      wireHosts.filter((one) => role === null || one.role === role),
    )({ method, path, headers: {}, body: '' }, response);
  } else {
    response.end('{"id":"cluster-1","kind":"AddHostsCluster","platform":{"type":"none"}}');
  }
};

let server: TestServer;
beforeAll(async () => {
  server = await startServer(service);
});
afterAll(() => server.close());

const options = () => ({
  url: server.url,
  clusterId: 'cluster-1',
  ...host,
  clock: quickClock(),
  random: systemRandom,
});

const subjects: readonly [string, () => Inventory][] = [
  ['version 2 of the service', () => inventoryV2(options())],
  ['version 1 of the service', () => inventoryV1(options(), '/api/assisted-install/v1')],
  ['its oldest form', () => inventoryV1(options(), '/api/bm-inventory/v1')],
  [
    'the fake inventory',
    () =>
      fakeInventory({
        cluster: { kind: 'AddHostsCluster', platformType: 'none' },
        hosts: [
          inventoryHost({ id: 'a', infraEnvId: 'i', name: 'm0', status: 'installing' }),
          inventoryHost({ id: 'w', infraEnvId: 'i', name: 'w0', role: 'worker' }),
        ],
        ignition: '{"ignition":{}}',
        files: { 'bootstrap.ign': 'bootstrap' },
      }),
  ],
];

describe.each(subjects)('%s keeps the contract of the inventory port', (_, make) => {
  it('takes reports and states of logs', async () => {
    const inventory = make();
    await inventory.report(host, { stage: 'Installing', info: 'master' }, signal);
    await inventory.report(host, { stage: 'Rebooting', info: '' }, signal);
    await expect(inventory.logsState(host, 'requested', signal)).resolves.toBeUndefined();
  });

  it('gives the Ignition of this host as a stream', async () => {
    const { body, bytes, origin } = await make().hostIgnition('master', signal);
    await expect(text(body)).resolves.toBe('{"ignition":{}}');
    expect([undefined, 15]).toContain(bytes);
    expect(origin).not.toBe('');
  });

  it('gives files of the cluster, and refuses one that is not there', async () => {
    const inventory = make();
    const { body } = await inventory.clusterFile('bootstrap.ign', signal);
    await expect(text(body)).resolves.toBe('bootstrap');
    const missing = inventory.clusterFile('metadata.json', signal);
    await expect(missing).rejects.toMatchObject({
      kind: 'remote',
    });
  });

  it('knows the cluster', async () => {
    await expect(make().cluster(signal)).resolves.toEqual({
      id: 'cluster-1',
      kind: 'AddHostsCluster',
      platformType: 'none',
    });
  });

  it('lists hosts of one role', async () => {
    const inventory = make();
    const masters = await inventory.hosts('master', signal);
    expect(masters.map(({ name, role }) => [name, role])).toEqual([['m0', 'master']]);
    expect(await inventory.hosts('arbiter', signal)).toEqual([]);
  });

  it('stops with the reason of the signal', async () => {
    const reason = new Error('enough');
    const stopped = make().hosts('master', AbortSignal.abort(reason));
    await expect(stopped).rejects.toBe(reason);
  });
});

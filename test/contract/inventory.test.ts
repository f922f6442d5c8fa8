import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterSeed, hostSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { inventoryV1, inventoryV2 } from '../../src/adapters/http/inventory.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import type { Inventory, InventoryHost } from '../../src/ports/inventory.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { quickClock } from '../support/quick-clock.ts';

const signal = new AbortController().signal;

const overrides = '{"platform":{"vsphere":{"vcenters":[]}}}';
const cluster = clusterSeed({
  id: 'b2f4d8f0-0000-4000-8000-000000000001',
  kind: 'AddHostsCluster',
  status: 'installing',
  platform: 'vsphere',
  installConfigOverrides: overrides,
});
const seedOf = (
  last: number,
  seed: Omit<Parameters<typeof hostSeed>[0], 'clusterId' | 'infraEnvId'>,
) =>
  hostSeed({
    id: `b2f4d8f0-0000-4000-8000-00000000001${last}`,
    clusterId: cluster.id,
    // Version 1 of the service has no infra-envs: there the cluster stands for them.
    infraEnvId: cluster.id,
    ...seed,
  });
const m0 = seedOf(0, {
  hostname: 'm0',
  role: 'master',
  isBootstrap: true,
  addresses: ['FD00::0:5/64', '10.0.0.5/24'],
});
const hosts = [
  m0,
  seedOf(1, { hostname: 'W0', role: 'worker', addresses: ['10.0.0.6/24'], stage: 'Installing' }),
  seedOf(2, { hostname: 'd0', isRenamed: true, role: 'master', status: 'disabled', inventory: '' }),
  seedOf(3, { hostname: 'w1', role: 'worker', inventory: 'not JSON' }),
];
const host = { infraEnvId: m0.infraEnvId, hostId: m0.id };
const other = { infraEnvId: cluster.id, hostId: hosts[1]?.id ?? '' };

let server: InventoryServer;
beforeEach(async () => {
  server = await startInventory({ cluster, hosts });
  server.store.setKubeconfig('kind: Config');
});
afterEach(() => server.close());

const options = () => ({
  url: server.url,
  clusterId: cluster.id,
  ...host,
  clock: quickClock(),
  random: systemRandom,
});

const fakeHosts: readonly InventoryHost[] = hosts.map(
  ({ id, infraEnvId, hostname, role, status, stage }, index) =>
    inventoryHost({
      ...{ id, infraEnvId, name: hostname, role, status },
      ...(stage === '' ? {} : { stage }),
      addresses: [['10.0.0.5', 'fd00::5'], ['10.0.0.6'], [], []][index] ?? [],
    }),
);

const subjects: readonly [string, () => Inventory][] = [
  ['version 2 of the service', () => inventoryV2(options())],
  ['version 1 of the service', () => inventoryV1(options(), '/api/assisted-install/v1')],
  ['its oldest form', () => inventoryV1(options(), '/api/bm-inventory/v1')],
  [
    'the fake inventory',
    () =>
      fakeInventory({
        cluster: {
          id: cluster.id,
          kind: 'AddHostsCluster',
          platformType: 'vsphere',
          installConfigOverrides: overrides,
        },
        hosts: fakeHosts,
        ignition: '{"ignition":{}}',
        kubeconfig: 'kind: Config',
        files: { 'bootstrap.ign': '{"ignition":{}}' },
      }),
  ],
];

describe.each(subjects)('%s keeps the contract of the inventory port', (_, make) => {
  it('takes reports and states of logs', async () => {
    const inventory = make();
    await inventory.report(host, { stage: 'Installing', info: 'master' }, signal);
    await inventory.report(host, { stage: 'Rebooting', info: '' }, signal);
    await expect(inventory.logsState(host, 'requested', signal)).resolves.toBeUndefined();
    await expect(inventory.clusterLogsState('requested', signal)).resolves.toBeUndefined();
  });

  it('takes reports for other hosts', async () => {
    const report = { stage: 'Waiting for ignition', info: '' } as const;
    await expect(make().report(other, report, signal)).resolves.toBeUndefined();
  });

  it('takes logs of the controller', async () => {
    const archive = Uint8Array.from([0x1f, 0x8b, 0, 255]);
    await expect(make().uploadControllerLogs(archive, signal)).resolves.toBeUndefined();
  });

  it('gives the Ignition of this host as a stream', async () => {
    const { body, bytes, origin } = await make().hostIgnition('master', signal);
    const content = await text(body);
    expect(JSON.parse(content)).toHaveProperty('ignition');
    expect([undefined, content.length]).toContain(bytes);
    expect(origin).not.toBe('');
  });

  it('gives files of the cluster, and refuses one that is not there', async () => {
    const inventory = make();
    const { body } = await inventory.clusterFile('bootstrap.ign', signal);
    expect(JSON.parse(await text(body))).toHaveProperty('ignition');
    const missing = inventory.clusterFile('custom_manifests.json', signal);
    await expect(missing).rejects.toMatchObject({ kind: 'remote', isFinal: true });
  });

  it('gives the kubeconfig of the cluster', async () => {
    const { body } = await make().kubeconfig(signal);
    await expect(text(body)).resolves.toBe('kind: Config');
  });

  it('knows the cluster', async () => {
    await expect(make().cluster(signal)).resolves.toEqual({
      id: cluster.id,
      kind: 'AddHostsCluster',
      platformType: 'vsphere',
      installConfigOverrides: overrides,
    });
  });

  it('lists hosts of one role, with names where they are asked for', async () => {
    const inventory = make();
    const listed = await inventory.hosts('master', signal);
    const masters = await inventory.namedHosts('master', signal);
    expect(listed.map(({ id }) => id)).toEqual(masters.map(({ id }) => id));
    expect(masters.map(({ name, role }) => [name, role])).toEqual([
      ['m0', 'master'],
      ['d0', 'master'],
    ]);
    expect(await inventory.hosts('arbiter', signal)).toEqual([]);
  });

  it('lists every enabled host with its addresses, none where the inventory is broken', async () => {
    await expect(make().enabledHosts(signal)).resolves.toEqual(
      fakeHosts.filter(({ name }) => name !== 'd0'),
    );
  });

  it('stops with the reason of the signal', async () => {
    const reason = new Error('enough');
    const stopped = make().hosts('master', AbortSignal.abort(reason));
    await expect(stopped).rejects.toBe(reason);
  });
});

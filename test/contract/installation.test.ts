import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clusterSeed, hostSeed, operatorSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import {
  type InstallationConnection,
  inventoryInstallation,
} from '../../src/adapters/http/installation.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { fakeInstallation, installingHost } from '../support/fake-installation.ts';
import { quickClock } from '../support/quick-clock.ts';
import { installationSuite, installingCluster } from './installation-suite.ts';

const { id, name, baseDomain } = installingCluster;
const [m0, w0] = installingCluster.hosts;
const infraEnvId = m0?.infraEnvId ?? '';
const seed = { clusterId: id, infraEnvId } as const;
const cluster = clusterSeed({
  ...{ id, name, baseDomain, platform: 'none', status: 'finalizing' },
  operators: [
    operatorSeed({
      name: 'lso',
      namespace: 'openshift-local-storage',
      subscription: 'local-storage-operator',
    }),
  ],
});
const hosts = [
  hostSeed({
    ...{ ...seed, id: m0?.id ?? '', hostname: 'm0', role: 'master', status: 'installed' },
    ...{ stage: 'Done', addresses: ['10.0.0.5/24'] },
  }),
  hostSeed({
    ...{ ...seed, id: w0?.id ?? '', hostname: 'w0', role: 'worker' },
    ...{ status: 'installing-in-progress', addresses: ['10.0.0.6/24'] },
    ...{ nodeLabels: { 'node.example.com/rack': 'r1' }, pool: 'infra' },
  }),
  hostSeed({ ...seed, hostname: 'd0', role: 'worker', status: 'disabled' }),
];

let server: InventoryServer;
let adapter: InstallationConnection;
beforeEach(async () => {
  server = await startInventory({ cluster, hosts });
  adapter = inventoryInstallation({
    ...{ url: server.url, clusterId: id, infraEnvId, hostId: '' },
    ...{ clock: quickClock(1000), random: systemRandom },
  });
});
afterEach(async () => {
  await adapter.close();
  await server.close();
});

installationSuite('the inventory service', () => ({
  installation: adapter,
  changeStatus: (status) => {
    server.store.setCluster({ ...server.store.cluster(), status });
  },
}));

installationSuite('the fake installation', () => {
  const fake = fakeInstallation({
    ...installingCluster,
    hosts: [...installingCluster.hosts, installingHost({ status: 'disabled' })],
  });
  fake.setOperators([
    {
      ...{ name: 'lso', type: 'olm', namespace: 'openshift-local-storage' },
      subscription: 'local-storage-operator',
    },
  ]);
  return { installation: fake, changeStatus: (status) => fake.set({ status }) };
});

describe('the end of an installation, by the rules of the service', () => {
  const live = new AbortController().signal;
  const pem = '-----BEGIN CERTIFICATE-----\nTEFC\n-----END CERTIFICATE-----\n';
  const rejected = { code: 'inventory.rejected', context: { status: 400 } };

  it('is reached when hosts, ingress and operators are complete; then no stage is taken', async () => {
    const { store } = server;
    const worker = { infraEnvId, hostId: w0?.id ?? '' };
    await adapter.reportFinalizing('Waiting for cluster operators', live);
    await adapter.uploadIngressCa(pem, live);
    const lso = { name: 'lso', version: '4.20.1', statusInfo: '' } as const;
    await adapter.reportOperator({ ...lso, status: 'available' }, live);
    expect(store.cluster().status).toBe('finalizing');
    store.report(worker.hostId, { stage: 'Done', info: '' }, 'v2');
    expect(store.cluster().status).toBe('installed');
    await expect(adapter.reportFinalizing('Done', live)).rejects.toMatchObject(rejected);
    await adapter.complete({ isSuccess: true, error: '' }, live);
    await adapter.uploadIngressCa(pem, live);
    expect(store.completions()).toEqual([{ isSuccess: true, error: '' }]);
  });

  it('is an error when the controller says so, with what it says', async () => {
    await adapter.complete({ isSuccess: false, error: 'no console', data: { a: 1 } }, live);
    expect(server.store.cluster()).toMatchObject({ status: 'error', statusInfo: 'no console' });
  });

  it('takes no certificates before, no operators that it does not know, and events as they are', async () => {
    server.store.setCluster({ ...cluster, status: 'installing' });
    await expect(adapter.uploadIngressCa(pem, live)).rejects.toMatchObject(rejected);
    const odf = { name: 'odf', version: '', status: 'available', statusInfo: '' } as const;
    await expect(adapter.reportOperator(odf, live)).rejects.toMatchObject({
      code: 'inventory.not-found',
    });
    const event = { name: 'n', category: 'user', severity: 'info', message: 'm' } as const;
    await adapter.addEvent({ ...event, hostId: w0?.id ?? '', infraEnvId }, live);
    expect(server.store.events()).toMatchObject([{ ...event, host_id: w0?.id, cluster_id: id }]);
    const noIds = adapter.addEvent({ ...event, hostId: 'x', infraEnvId }, live);
    await expect(noIds).rejects.toMatchObject(rejected);
  });
});

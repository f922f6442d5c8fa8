// The controller ends an installation at the stand-in of the service, over HTTP.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clusterSeed, hostSeed, operatorSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { type InventoryConnection, inventoryV2 } from '../../src/adapters/http/inventory.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import {
  clusterOperators,
  clusterServiceVersions,
  clusterVersions,
  configMaps,
  subscriptions,
} from '../../src/kube/kinds.ts';
import { completeInstallation } from '../../src/controllers/installation/complete-installation.ts';
import { waitForService } from '../../src/controllers/installation/end.ts';
import { fakeInventory } from '../support/fake-inventory.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import { tryInstallationStep } from '../support/run-installation.ts';

const [clusterId, infraEnvId] = [
  '0123e456-0000-4000-8000-000000000000',
  '0123e456-0000-4000-8000-000000000001',
];
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const available = [{ type: 'Available', status: 'True', message: 'well' }];
const content = Buffer.from('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-lso}\n');

let server: InventoryServer;
let service: InventoryConnection;
const clock = quickClock(1000);
beforeEach(async () => {
  const cluster = clusterSeed({
    id: clusterId,
    platform: 'none',
    status: 'finalizing',
    operators: [
      operatorSeed({ name: 'console', type: 'builtin' }),
      operatorSeed({ name: 'cvo', type: 'builtin' }),
      operatorSeed({ name: 'lso', namespace: 'local', subscription: 'lso-operator' }),
    ],
  });
  const hosts = [
    hostSeed({ clusterId, infraEnvId, hostname: 'm0', role: 'master', status: 'installed' }),
  ];
  server = await startInventory({ cluster, hosts });
  service = inventoryV2({
    url: server.url,
    clusterId,
    infraEnvId,
    hostId: '',
    clock,
    random: systemRandom,
  });
});
afterEach(async () => {
  await service.close();
  await server.close();
});

/** A cluster that has all but its operators of OLM. */
const newCluster = () =>
  fakeKube()
    .put(clusterOperators, { metadata: { name: 'console' }, status: { conditions: available } })
    .put(clusterVersions, { metadata: { name: 'version' }, status: { conditions: available } })
    .put(configMaps, {
      metadata: { name: 'default-ingress-cert', namespace: 'openshift-config-managed' },
      data: { 'ca-bundle.crt': pem },
    });

/** The service gives up a stage once it is in it: its own limit is real time. */
async function giveUp(stage: string): Promise<void> {
  const now = () => server.store.cluster().finalizing?.stage;
  await expect.poll(now, { interval: 1 }).toBe(stage);
  const finalizing = { stage, isTimedOut: true, startedAt: 0 };
  server.store.setCluster({ ...server.store.cluster(), finalizing });
}

it.each([
  ['Succeeded', 'available'],
  ['Installing', 'failed'],
])('a cluster whose operator of OLM is %s is installed with it %s', async (phase, status) => {
  const kube = newCluster()
    .put(subscriptions, {
      metadata: { name: 'lso-operator', namespace: 'local' },
      status: { currentCSV: 'lso.v1' },
    })
    .put(clusterServiceVersions, {
      metadata: { name: 'lso.v1', namespace: 'local' },
      status: { phase },
    });
  const files = {
    'custom_manifests.json': JSON.stringify([{ Name: 'lso', Content: content.toString('base64') }]),
  };
  const { clusterFile } = fakeInventory({ files });
  const ports = { kube, clock, inventory: { ...service, clusterFile } };
  const config = { controller: { checkClusterVersion: true } };
  const stop = new AbortController();
  const completing = tryInstallationStep(completeInstallation, {
    ...ports,
    config,
    signal: stop.signal,
  });
  if (status === 'failed') await giveUp('Waiting for olm operators csv');
  expect((await tryInstallationStep(waitForService, ports)).notes).toEqual([
    'info: the cluster is installed',
  ]);
  stop.abort(new Error('the installation has ended'));
  await completing;
  const { operators, hasIngressCa, finalizing } = server.store.cluster();
  expect(operators.map((one) => one.status)).toEqual(['available', 'available', status]);
  expect(hasIngressCa).toBe(true);
  expect(finalizing?.stage).toMatch(/^(Done|Waiting for olm operators csv)$/);
  expect(kube.objectsOf(configMaps).map(({ metadata }) => metadata.name)).toContain('of-lso');
});

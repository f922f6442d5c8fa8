import { expect } from 'vitest';
import {
  clusterSeed,
  type HostRecord,
  hostSeed,
  operatorSeed,
} from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import type { AuditedRequest, Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { controllerName, controllerNamespace as namespace } from '../../src/cluster/controller.ts';
import { readRequest } from '../../src/cluster/csr/read-request.ts';
import {
  bareMetalHosts,
  certificateSigningRequests,
  clusterRoleBindings,
  configMaps,
  events,
  installPlans,
  jobs,
  nodes,
} from '../../src/kube/kinds.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import {
  defineKind,
  defineOlm,
  putFaults,
  putNode,
  putOlmOperator,
  putOperators,
  putPools,
} from './new-cluster.ts';
import { askFor, bootstrapperBinding, type PivotedCluster, until } from './pivoted-cluster.ts';
import { clusterOf, startProgram } from './cluster-access.ts';

// A whole installation with the program as its job starts it, on a real API server.

/** The service account with the permissions of the controller. */
const account = `system:serviceaccount:${namespace}:${controllerName}`;
const infraEnvId = '7a000000-0000-4000-8000-000000000000';
const cluster = clusterSeed({
  platform: 'baremetal',
  operators: [
    ...clusterSeed().operators,
    operatorSeed({ name: 'lso', namespace: 'openshift-local-storage', subscription: 'lso' }),
  ],
});
const now = Date.now();
const host = (
  hostname: string,
  role: 'master' | 'worker',
  {
    address,
    stage,
    ...wishes
  }: Pick<HostRecord, 'stage' | 'nodeLabels' | 'pool'> & {
    readonly address: string;
  },
) =>
  hostSeed({
    clusterId: cluster.id,
    infraEnvId,
    hostname,
    role,
    stage,
    ...wishes,
    addresses: [`${address}/24`],
    status: 'installing-in-progress',
    stageStartedAt: now,
    stageUpdatedAt: now,
  });
const wishes = { nodeLabels: { team: 'storage' }, pool: 'infra' };
const members = [
  host('m0', 'master', { address: '192.0.2.10', stage: 'Rebooting' }),
  host('m1', 'master', { address: '192.0.2.11', stage: 'Joined' }),
  host('m2', 'master', { address: '192.0.2.12', stage: 'Configuring' }),
  host('w0', 'worker', { address: '192.0.2.20', stage: 'Rebooting', ...wishes }),
  host('w1', 'worker', { address: '192.0.2.21', stage: 'Rebooting' }),
];

/** A new cluster with its service and the controller. */
export interface InstallationSite {
  readonly rig: Rig;
  readonly service: InventoryServer;
  /**
   * Starts the command as its job does: credentials as arguments, all other settings as variables.
   */
  readonly start: (variables?: Readonly<Record<string, string>>) => ReturnType<typeof startProgram>;
  /** Its requests to the API server. */
  readonly asked: () => Promise<readonly AuditedRequest[]>;
  readonly close: () => Promise<void>;
}

/** Starts a cluster with everything but the objects of the controller, which `deploy` creates. */
export async function startInstallation(
  deploy: (client: Rig['client']) => Promise<void>,
  seed: Parameters<typeof startInventory>[0] = { cluster, hosts: members },
): Promise<InstallationSite> {
  const rig = await startRig({ isAudited: true });
  const service = await startInventory(seed);
  service.store.setKubeconfig(rig.kubeconfig);
  const manifest = JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'by-operator', namespace: 'default' },
    data: { size: 'small' },
  });
  const content = Buffer.from(manifest).toString('base64');
  const list = [{ Name: 'lso', Content: content }];
  service.store.addClusterFiles({ 'custom_manifests.json': JSON.stringify(list) });
  await deploy(rig.client);
  await defineOlm(rig.client);
  await defineKind(rig.client, bareMetalHosts, 'BareMetalHost');
  await putFaults(rig.client);
  const programs: (() => unknown)[] = [];
  return {
    rig,
    service,
    start: async (variables = {}) => {
      const user = { namespace, serviceAccount: controllerName };
      const program = await startProgram(rig, user, ['controller'], {
        CLUSTER_ID: service.store.cluster().id,
        INVENTORY_URL: service.url,
        OPENSHIFT_VERSION: '4.20.1',
        CHECK_CLUSTER_VERSION: 'true',
        ...variables,
      });
      programs.push(program.kill);
      return program;
    },
    asked: () => rig.audited(account),
    close: async () => {
      for (const kill of programs) kill();
      await service.close();
      await rig.close();
    },
  };
}

/** The event with which the controller names the requests of unknown hosts. */
export const leftEvent = 'certificate-requests-left.unknown-host';

/** Brings the cluster up, and waits for the controller's work, up to its end. */
export async function completesInstallation({
  rig,
  service,
  start,
  asked,
}: InstallationSite): Promise<void> {
  const { client } = rig;
  const gone = async (kind: KubeKind, place: string, name: string): Promise<boolean> =>
    (await client.get({ kind, namespace: place, name })) === undefined;
  const stateOf = async (name: string): Promise<string | undefined> => {
    const object = await client.get({ kind: certificateSigningRequests, name });
    return object && readRequest(object).state;
  };
  const putNodes = async (isReady: boolean): Promise<void> => {
    for (const { hostname, addresses } of members) {
      await putNode(client, { name: hostname, addresses, isReady });
    }
  };
  const stages = (): readonly string[] => service.store.hosts().map(({ stage }) => stage);
  const is = (status: string) => () => Promise.resolve(service.store.cluster().status === status);

  const { ended, log } = await start();
  const ready = { kind: events, namespace, name: 'AssistedControllerIsReady' };
  await until(async () => (await client.get(ready)) !== undefined);
  await client.apply(clusterRoleBindings, bootstrapperBinding);
  await withAskers(rig, async (at) => {
    await askFor('client', 'client-of-m0', { at, node: 'm0' });
    await askFor('client', 'client-of-nobody', { at, node: 'm9' });
  });
  await until(async () => (await stateOf('client-of-m0')) === 'approved');
  await until(async () => (await asked()).some((one) => one.resource === 'pods/log'));
  await putNodes(false);
  await until(() => Promise.resolve(stages().every((stage) => stage === 'Joined')));
  await putNodes(true);
  // It has got another lease since its inventory.
  await putNode(client, { name: 'w1', addresses: ['192.0.2.77/24'], isReady: true });
  await withAskers(rig, async (at) => {
    const names = (node: string) => ({ at, node, names: [node, '192.0.2.77'] });
    await askFor('serving', 'serving-of-m1', names('m1'));
    await askFor('serving', 'serving-of-w1', names('w1'));
  });
  await until(async () => (await stateOf('serving-of-w1')) === 'approved');
  expect(await stateOf('serving-of-m1')).toBe('pending');
  await putPools(client);
  await until(is('finalizing'));
  await putOperators(client);
  const place = 'openshift-local-storage';
  await until(
    async () =>
      (await gone(jobs, 'openshift-marketplace', 'unpack')) &&
      gone(installPlans, place, 'install-1'),
  );
  const left = { kind: events, namespace, name: leftEvent };
  const message = async () => (await client.get(left))?.['message'];
  await until(async () => String(await message()).includes('client-of-nobody'));
  await putOlmOperator(client);
  await until(is('installed'));
  expect(log()).toContain('w1 is Done');
  expect(await ended).toEqual([0, null]);
  expect(await stateOf('client-of-nobody')).toBe('pending');
  const w0 = await client.get({ kind: nodes, name: 'w0' });
  expect(w0?.metadata.labels).toMatchObject(wishes.nodeLabels);
  const metal = { kind: bareMetalHosts, namespace: 'openshift-machine-api', name: 'w0' };
  expect((await client.get(metal))?.['spec']).toMatchObject({
    consumerRef: { kind: 'Machine', name: 'worker-0' },
  });
  expect(service.store.controllerLogs()).not.toEqual([]);
  expect(service.store.cluster().operators.map(({ name, status }) => `${name} ${status}`)).toEqual([
    'console available',
    'cvo available',
    'lso available',
  ]);
  const applied = { kind: configMaps, name: 'by-operator', namespace: 'default' };
  expect((await client.get(applied))?.['data']).toEqual({ size: 'small' });
}

/** Runs certificate requests with clients of their own, and closes the clients. */
async function withAskers(
  rig: Rig,
  ask: (at: Pick<PivotedCluster, 'clusterAs'>) => Promise<void>,
): Promise<void> {
  const open: KubeCluster[] = [];
  const clusterAs = async (name: string, groups: readonly string[]): Promise<KubeCluster> => {
    const opened = clusterOf(await rig.kubeconfigFor({ user: { name, groups } }));
    open.push(opened);
    return opened;
  };
  await ask({ clusterAs });
  for (const one of open) await one.close();
}

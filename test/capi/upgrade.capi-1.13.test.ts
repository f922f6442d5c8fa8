// Core 1.14 replaces core 1.13 during an installation, as `clusterctl upgrade apply` does it
// (`cmd/clusterctl/client/cluster/upgrader.go`): no object is created twice, and no host starts
// over.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { bootstrapConfigs, capiMachines, clusters, controlPlanes } from '../../src/capi/api.ts';
import { secrets } from '../../src/kube/kinds.ts';
import { conditionOf, partOf } from '../../src/kube/object.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import {
  clusterObjects,
  clusterSecrets,
  controlPlaneObject,
  devMachines,
  workerObjects,
} from './cluster.ts';
import { bootNext, joinNode, type ScriptedHost } from './hosts.ts';
import { type Manager, startManagers } from './managers.ts';
import { type ManagementNode, startNode } from './node.ts';
import { customResourceDefinitions } from '../kube/cluster-access.ts';
import { type CapiRig, startCapi } from './management.ts';

const cluster = 'upgraded';
const place = { namespace: cluster };
const made = [capiMachines, devMachines, bootstrapConfigs];
const ends = new AsyncDisposableStack();
const masters: ScriptedHost[] = [];
const workers: ScriptedHost[] = [];

let rig: CapiRig;
let managers: readonly Manager[] = [];
let installer: ManagementNode;
let before: Awaited<ReturnType<typeof seen>>;

beforeAll(async () => {
  rig = ends.use(await startCapi());
  await rig.kube.startControllerManager({
    server: rig.guest,
    controllers: ['certificatesigningrequest-signing-controller'],
  });
  const kubeconfig = await rig.kube.kubeconfigFor({ server: rig.guest.url });
  installer = ends.use(await startNode(rig, kubeconfig));
  managers = await startManagers(rig);
  for (const { kill } of managers) ends.defer(kill);
});
afterAll(() => ends.disposeAsync());

const list = (kind: KubeKind) => rig.client.list({ kind, ...place });
const boot = async (hosts: ScriptedHost[], isMaster: boolean): Promise<ScriptedHost> => {
  const host = ends.use(await bootNext(rig, cluster, { hosts, isMaster }));
  hosts.push(host);
  return host;
};
const isTrue = (kind: KubeKind, type: string, name?: string): Promise<true> =>
  rig.hasCondition([kind, cluster, name], type);
const reaches = ({ ref }: ScriptedHost, stage: string): Promise<true> =>
  rig.found({ kind: bootstrapConfigs, ...place }, (config) =>
    config.metadata.uid === ref.hostId && partOf(config, 'status', 'progress', 'stage') === stage
      ? true
      : undefined,
  );
const isRefused = (host: ScriptedHost): Promise<void> =>
  expect(host.ignition('worker')).rejects.toMatchObject({
    code: 'inventory.not-ready',
  });

/** The present state that the upgrade must not change. */
async function seen() {
  const uids = async (kind: KubeKind): Promise<readonly string[]> =>
    (await list(kind)).map(({ metadata: { name, uid } }) => `${name} ${uid}`);
  const machines = await list(capiMachines);
  const v1beta1 = await list({ ...capiMachines, version: 'v1beta1' });
  return {
    uids: (await Promise.all(made.map(uids))).flat(),
    tokens: (await list(secrets))
      .filter(({ metadata: { name } }) => name.endsWith('-agent'))
      .map(({ metadata: { uid }, data }) => ({ uid, data })),
    owners: partOf((await list(controlPlanes))[0], 'metadata', 'ownerReferences'),
    refs: machines.map((machine) => ({
      name: machine.metadata.name,
      owners: partOf(machine, 'metadata', 'ownerReferences'),
      bootstrap: partOf(machine, 'spec', 'bootstrap'),
      infrastructure: partOf(machine, 'spec', 'infrastructureRef'),
    })),
    v1beta1: v1beta1.map((machine) => ({
      name: machine.metadata.name,
      bootstrap: partOf(machine, 'spec', 'bootstrap', 'configRef'),
      ready: conditionOf(machine, 'BootstrapReady').status,
      isReady: partOf(machine, 'status', 'bootstrapReady'),
    })),
  };
}

it('starts an installation with core 1.13', async () => {
  expect(process.env['CLUSTER_API']).toBe('1.13');
  await rig.applyAll([
    ...clusterObjects(cluster, rig.guest.port),
    ...clusterSecrets(cluster),
    controlPlaneObject(cluster),
    ...workerObjects(cluster),
  ]);
  const bootstrap = await boot(masters, true);
  expect(bootstrap.role).toBe('bootstrap');
  await bootstrap.report('Starting installation');
  await bootstrap.report('Writing image to disk', '61%');
  for (let count = 0; count < 2; count += 1) {
    const worker = await boot(workers, false);
    await worker.report('Starting installation');
    await isRefused(worker);
  }
  // Core mirrors a config's status up to a second later.
  before = await vi.waitFor(
    async () => {
      const now = await seen();
      expect(now.v1beta1).toEqual(
        now.v1beta1.map(({ name }) => ({
          name,
          ready: 'True',
          isReady: true,
          bootstrap: expect.objectContaining({
            apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
            kind: 'OpenShiftBootstrapConfig',
          }) as unknown,
        })),
      );
      return now;
    },
    { timeout: 600_000, interval: 100 },
  );
  expect(before.uids).toHaveLength(9);
  expect(before.tokens).toHaveLength(3);
  expect(before.owners).toMatchObject([{ kind: 'Cluster', name: cluster }]);
});

it('accepts reports without core, and creates the next masters after the upgrade to core 1.14', async () => {
  const [bootstrap] = masters;
  const [worker] = workers;
  await rig.core.stop();
  await bootstrap?.report('Waiting for control plane');
  if (bootstrap !== undefined) await reaches(bootstrap, 'Waiting for control plane');
  // Core reports on Machines, so the second master gets all other objects.
  await rig.found({ kind: bootstrapConfigs, ...place }, ({ metadata: { name } }) =>
    before.uids.some((one) => one.startsWith(`${name} `)) ? undefined : true,
  );
  await rig.upgradeCore(async () => {
    if (worker !== undefined) await isRefused(worker);
  });
  // The new core writes each object again once, and logs it.
  await rig.found({ kind: customResourceDefinitions }, (definition) => {
    const { name, annotations } = definition.metadata;
    const migrated = annotations?.['crd-migration.cluster.x-k8s.io/observed-generation'];
    const isMigrated = migrated === String(partOf(definition, 'metadata', 'generation'));
    return name === 'machines.cluster.x-k8s.io' && isMigrated ? true : undefined;
  });
  for (let count = 0; count < 2; count += 1) await boot(masters, true);
  expect(masters.map(({ role }) => role)).toEqual(['bootstrap', 'master', 'master']);
});

it('completes with the same Machines and tokens and without a restarted host', async () => {
  const [bootstrap, ...others] = masters;
  for (const [at, { machine }] of masters.entries())
    await rig.client.mergeStatus(
      { kind: devMachines, ...place, name: machine },
      { addresses: [{ type: 'Hostname', address: `node-${at}` }] },
    );
  await isTrue(controlPlanes, 'HostsValid');
  for (const master of others) {
    await master.report('Starting installation');
    await master.ignition('master');
    await master.report('Rebooting');
    await joinNode(rig, cluster, master);
    await bootstrap?.reportFor(master, 'Done');
  }
  await bootstrap?.report('Waiting for bootkube');
  await bootstrap?.report('Rebooting');
  await isTrue(clusters, 'ControlPlaneInitialized');
  await isTrue(controlPlanes, 'ConfigServerAvailable');
  const after = await seen();
  expect(after.uids).toHaveLength(15);
  expect(after.uids).toEqual(expect.arrayContaining([...before.uids]));
  expect(after.owners).toEqual(before.owners);
  expect(after.refs).toEqual(expect.arrayContaining([...before.refs]));
  expect(after.tokens).toEqual(expect.arrayContaining([...before.tokens]));
  expect(after.v1beta1).toEqual(expect.arrayContaining([...before.v1beta1]));
  expect(installer.runs()).toEqual(['manifests', 'ignition-configs']);
  for (const worker of workers) {
    await worker.ignition('worker');
    await worker.report('Rebooting');
  }
  for (const host of [...masters.slice(0, 1), ...workers]) await joinNode(rig, cluster, host);
  for (const { machine } of [...masters, ...workers]) await isTrue(capiMachines, 'Ready', machine);
  await isTrue(clusters, 'Available');
  const configs = await list(bootstrapConfigs);
  expect(configs.map((one) => partOf(one, 'status', 'progress', 'attempt'))).toEqual(
    Array.from({ length: 5 }, () => 1),
  );
  for (const { metadata, ...config } of configs)
    expect(config['status']).toMatchObject({
      ready: true,
      initialization: { dataSecretCreated: true },
      dataSecretName: metadata.name,
    });
  expect((await list(controlPlanes))[0]?.['status']).toMatchObject({
    initialization: { controlPlaneInitialized: true },
    initialized: true,
    ready: true,
    replicas: 3,
    readyReplicas: 3,
  });
  for (const manager of managers) expect(await manager.refused()).toEqual([]);
});

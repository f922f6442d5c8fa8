import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clusterSeed,
  type HostRecord,
  hostSeed,
  operatorSeed,
} from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { readSigningRequest } from '../../src/cluster/csr/signing-request.ts';
import { nodeBootstrapper } from '../../src/cluster/csr/verify.ts';
import {
  bareMetalHosts,
  certificateSigningRequests,
  clusterRoleBindings,
  configMaps,
  events,
  installPlans,
  jobs,
  machineOSConfigs,
  nodes,
  services,
} from '../../src/cluster/kinds.ts';
import { etcdCluster, isOverridden } from '../../src/cluster/etcd.ts';
import { recordRef } from '../../src/steps/cluster/left-record.ts';
import { leftImage } from '../layering/left-images.ts';
import {
  controllerRules,
  controllerNamespaceRules,
} from '../../src/steps/controller/permissions.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import {
  defineKind,
  defineOlm,
  deploy,
  putFaults,
  putLeftWork,
  putNode,
  putOlmOperator,
  putOperators,
  putPool,
  putService,
} from './new-cluster.ts';
import { askFor, type PivotedCluster, until } from './pivoted-cluster.ts';
import { clusterOf } from './rig.ts';

const top = resolve(import.meta.dirname, '../..');
const namespace = 'assisted-installer';
const account = `system:serviceaccount:${namespace}:assisted-installer-controller`;
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
    ...{ clusterId: cluster.id, infraEnvId, hostname, role, stage, ...wishes },
    addresses: [`${address}/24`],
    ...{ status: 'installing-in-progress', stageStartedAt: now, stageUpdatedAt: now },
  });
const wishes = { nodeLabels: { team: 'storage' }, pool: 'infra' };
const members = [
  host('m0', 'master', { address: '192.0.2.10', stage: 'Rebooting' }),
  host('m1', 'master', { address: '192.0.2.11', stage: 'Joined' }),
  host('m2', 'master', { address: '192.0.2.12', stage: 'Configuring' }),
  host('w0', 'worker', { address: '192.0.2.20', stage: 'Rebooting', ...wishes }),
  host('w1', 'worker', { address: '192.0.2.21', stage: 'Rebooting' }),
];

let rig: Rig;
let service: InventoryServer;
const programs: ChildProcess[] = [];

/** Starts the command as its job does: no argument but the credentials, all else from variables. */
async function start(): Promise<{ readonly ended: Promise<unknown>; readonly log: () => string }> {
  const file = join(rig.folder, 'controller.kubeconfig');
  const user = { namespace, serviceAccount: 'assisted-installer-controller' };
  await writeFile(file, await rig.kubeconfigFor({ user }));
  const argv = [join(top, 'src/main.ts'), 'controller', '--kubeconfig', file];
  const env = {
    ...{ PATH: process.env['PATH'], HOME: process.env['HOME'] },
    ...{ CLUSTER_ID: cluster.id, INVENTORY_URL: service.url, OPENSHIFT_VERSION: '4.20.1' },
    CHECK_CLUSTER_VERSION: 'true',
  };
  const program = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  programs.push(program);
  let seen = '';
  program.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  return { log: () => seen, ended: once(program, 'exit') };
}

async function etcd(): Promise<KubeObject> {
  const found = await rig.client.get(etcdCluster);
  if (found === undefined) throw new TypeError('there is no etcd/cluster');
  return found;
}

const gone = async (kind: KubeKind, namespace: string, name: string): Promise<boolean> =>
  (await rig.client.get({ kind, namespace, name })) === undefined;

/** Whoever asks for certificates. */
const open: KubeCluster[] = [];
const at: Pick<PivotedCluster, 'clusterAs'> = {
  clusterAs: async (name, groups) => {
    const cluster = clusterOf(await rig.kubeconfigFor({ user: { name, groups } }));
    open.push(cluster);
    return cluster;
  },
};

const rbac = 'rbac.authorization.k8s.io';
const bootstrapperBinding = {
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'bootstrapper' },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
  subjects: [{ kind: 'User', name: nodeBootstrapper.username, apiGroup: rbac }],
};

async function stateOf(name: string): Promise<string | undefined> {
  const object = await rig.client.get({ kind: certificateSigningRequests, name });
  return object && readSigningRequest(object)?.state;
}

async function putNodes(isReady: boolean): Promise<void> {
  for (const { hostname, addresses } of members) {
    await putNode(rig.client, { name: hostname, addresses, isReady });
  }
}

const stagesOf = (): Readonly<Record<string, string>> =>
  Object.fromEntries(service.store.hosts().map(({ hostname, stage }) => [hostname, stage]));

beforeAll(async () => {
  rig = await startRig({ isAudited: true });
  service = await startInventory({ cluster, hosts: members });
  service.store.setKubeconfig(rig.kubeconfig);
  const manifest = JSON.stringify({
    ...{
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'by-operator', namespace: 'default' },
    },
    data: { size: 'small' },
  });
  const content = Buffer.from(manifest).toString('base64');
  const list = [{ Name: 'lso', Content: content }];
  service.store.addClusterFiles({ 'custom_manifests.json': JSON.stringify(list) });
  await deploy(rig.client);
  await defineOlm(rig.client);
  await defineKind(rig.client, bareMetalHosts, 'BareMetalHost');
  await putFaults(rig.client);
  await putLeftWork(rig.client);
});
afterAll(async () => {
  for (const program of programs) program.kill('SIGKILL');
  for (const one of open) await one.close();
  await service.close();
  await rig.close();
});

/** What an installation that goes well does not show. */
const elsewhere: ReadonlySet<string> = new Set([
  // Looked up by the admission of OpenShift when the pod of the job is made, and of Kubernetes when a request is approved.
  'security.openshift.io securitycontextconstraints use',
  'certificates.k8s.io signers approve',
  // When another writes a request at the same time.
  'certificates.k8s.io certificatesigningrequests get',
  // By the admission of OpenShift and of our API server, when a MachineOSBuild is given its owner.
  'machineconfiguration.openshift.io machineosbuilds delete',
  'machineconfiguration.openshift.io machineosconfigs/finalizers update',
  // When a user has made the MachineOSConfig already.
  'machineconfiguration.openshift.io machineosconfigs patch',
  // When more requests are left after a minute.
  ' events patch',
]);

describe('the controller on a real API server', () => {
  it('completes an installation with its own permissions', async () => {
    const { ended, log } = await start();
    await until(async () => {
      const event = { kind: events, namespace, name: 'AssistedControllerIsReady' };
      return (await rig.client.get(event)) !== undefined;
    });
    await rig.client.apply(clusterRoleBindings, bootstrapperBinding);
    await askFor('client', 'client-of-m0', { at, node: 'm0' });
    await askFor('client', 'client-of-nobody', { at, node: 'm9' });
    await until(async () => (await stateOf('client-of-m0')) === 'approved');
    await until(async () =>
      (await rig.audited(account)).some((one) => one.resource === 'pods/log'),
    );
    await putNodes(false);
    await until(() =>
      Promise.resolve(!Object.values(stagesOf()).some((stage) => stage !== 'Joined')),
    );
    await putNodes(true);
    await putPool(rig.client);
    await until(() => gone(services, 'default', 'thief'));
    await putService(rig.client, 'openshift-dns', 'dns-default');
    await until(() => Promise.resolve(service.store.cluster().status === 'finalizing'));
    await putOperators(rig.client);
    const place = 'openshift-local-storage';
    await until(
      async () =>
        (await gone(jobs, 'openshift-marketplace', 'unpack')) &&
        gone(installPlans, place, 'install-1'),
    );
    await putOlmOperator(rig.client);
    await until(() => Promise.resolve(service.store.cluster().status === 'installed'));
    expect(log()).toContain('w1 is Done');
    expect(await ended).toEqual([0, null]);
    expect(await stateOf('client-of-nobody')).toBe('pending');
    const w0 = await rig.client.get({ kind: nodes, name: 'w0' });
    expect(w0?.metadata.labels).toMatchObject(wishes.nodeLabels);
    const metal = { kind: bareMetalHosts, namespace: 'openshift-machine-api', name: 'w0' };
    expect((await rig.client.get(metal))?.['spec']).toMatchObject({
      consumerRef: { kind: 'Machine', name: 'worker-0' },
    });
    expect(isOverridden(await etcd())).toBe(false);
    const osConfig = { kind: machineOSConfigs, name: leftImage.pool };
    expect((await rig.client.get(osConfig))?.['status']).toMatchObject({
      currentImagePullSpec: leftImage.image,
    });
    expect(await rig.client.get(recordRef)).toBeUndefined();
    expect(service.store.controllerLogs()).not.toEqual([]);
    expect(
      service.store.cluster().operators.map(({ name, status }) => `${name} ${status}`),
    ).toEqual(['console available', 'cvo available', 'lso available']);
    const applied = { kind: configMaps, name: 'by-operator', namespace: 'default' };
    expect((await rig.client.get(applied))?.['data']).toEqual({ size: 'small' });
  });

  it('was refused nothing, and may do nothing that it did not', async () => {
    const asked = await rig.audited(account);
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
    const used = new Set(asked.map(({ group, resource, verb }) => `${group} ${resource} ${verb}`));
    const granted = [...controllerRules, ...controllerNamespaceRules].flatMap(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${group} ${resource} ${verb}`)),
        ),
    );
    expect(granted.filter((one) => !used.has(one) && !elsewhere.has(one))).toEqual([]);
  });
});

// An installation with the real core: managers with the rights of their own accounts, machines in
// memory, and hosts that make the agent's requests with the agent's own client.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  bootstrapConfigs,
  capiMachines,
  capiNames,
  clusters,
  controlPlanes,
  type ControlPlaneSpec,
  ownNames,
} from '../../src/capi/api.ts';
import {
  clusterOperators,
  clusterVersions,
  configMaps,
  namespaces,
  nodes,
  pods,
  secrets,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import { conditionOf, partOf, textAt } from '../../src/kube/object.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import {
  clusterObjects,
  clusterSecrets,
  controlPlaneObject,
  devMachines,
  workerObjects,
} from './cluster.ts';
import type { ServerControl } from '../../mocks/kube/program.ts';
import { customResourceDefinitions, hostClient, openDefinition } from '../kube/cluster-access.ts';
import {
  bootHost,
  bootNext,
  isOfControlPlane,
  joinNode,
  type ScriptedHost,
  textIn,
} from './hosts.ts';
import { type Manager, startManagers } from './managers.ts';
import { type ManagementNode, startNode } from './node.ts';
import { type CapiRig, type Management, startManagement } from './management.ts';

/** The management cluster of the cluster, before it is moved to another. */
let rig: CapiRig;
let infrastructure: ServerControl;
let managers: readonly Manager[] = [];
let kubeconfig: string;
let installer: ManagementNode;

const ends = new AsyncDisposableStack();

/** Applies the operators of an OpenShift cluster, each progressing or not. */
async function applyOperators(
  client: CapiRig['guest']['client'],
  progressing: Readonly<Record<string, string>>,
): Promise<void> {
  const conditions = [{ type: 'Available', status: 'True' }];
  const objectOf = (kind: string, name: string, more: readonly object[]) => ({
    apiVersion: 'config.openshift.io/v1',
    kind,
    metadata: { name },
    status: { conditions: [...conditions, ...more] },
  });
  for (const definition of [
    openDefinition(clusterVersions, 'ClusterVersion', { scope: 'Cluster' }),
    openDefinition(clusterOperators, 'ClusterOperator', { scope: 'Cluster' }),
  ])
    await client.apply(customResourceDefinitions, definition);
  // The API server serves a new kind a moment after it accepted its definition.
  const apply = (kind: KubeKind, object: KubeObject) =>
    vi.waitFor(() => client.apply(kind, object), { timeout: 600_000, interval: 200 });
  await apply(clusterVersions, objectOf('ClusterVersion', 'version', []));
  for (const [name, status] of Object.entries(progressing)) {
    const more = [{ type: 'Progressing', status, message: 'rolls out' }];
    await apply(clusterOperators, objectOf('ClusterOperator', name, more));
  }
}

/** Starts both providers in the management cluster. */
async function startOurs(): Promise<void> {
  installer = ends.use(await startNode(rig, kubeconfig));
  managers = await startManagers(rig);
  for (const { kill } of managers) ends.defer(kill);
}

beforeAll(async () => {
  const management = ends.use(await startManagement());
  infrastructure = await management.startInfrastructure();
  rig = { ...management, guest: await management.kube.startGuest() };
  await rig.kube.startControllerManager({
    server: rig.guest,
    controllers: ['certificatesigningrequest-signing-controller'],
  });
  kubeconfig = await rig.kube.kubeconfigFor({ server: rig.guest.url });
  await startOurs();
});
afterAll(() => ends.disposeAsync());

describe('three masters and two workers', () => {
  const cluster = 'one';
  const place = { namespace: cluster };
  const masters: ScriptedHost[] = [];
  const workers: ScriptedHost[] = [];
  /** Managers of the management cluster from which the cluster was moved. */
  let former: readonly Manager[] = [];

  const isTrue = (kind: KubeKind, type: string, name?: string): Promise<true> =>
    rig.hasCondition([kind, cluster, name], type);
  const boot = (hosts: readonly ScriptedHost[], isMaster: boolean): Promise<ScriptedHost> =>
    bootNext(rig, cluster, { hosts, isMaster });

  /** Installs a master of a running cluster, from its boot to its node. */
  const installLater = async (master: ScriptedHost): Promise<void> => {
    await master.report('Starting installation');
    await master.ignition('master');
    await master.report('Rebooting');
    await joinNode(rig, cluster, master);
    await isTrue(capiMachines, 'Ready', master.machine);
  };

  afterAll(async () => {
    for (const host of [...masters, ...workers]) await host[Symbol.asyncDispose]();
  });

  it('creates the bootstrap host first and runs the installer once', async () => {
    await rig.applyAll(clusterObjects(cluster, rig.guest.port));
    await rig.applyAll(clusterSecrets(cluster));
    await rig.applyAll([controlPlaneObject(cluster), ...workerObjects(cluster)]);
    const bootstrap = await boot([], true);
    masters.push(bootstrap);
    expect(bootstrap.role).toBe('bootstrap');
    expect(installer.runs()).toEqual(['manifests', 'ignition-configs']);
    expect(
      (await rig.client.list({ kind: capiMachines, ...place })).filter(isOfControlPlane),
    ).toHaveLength(1);
    const signal = AbortSignal.timeout(600_000);
    const file = await textIn(await bootstrap.inventory.clusterFile('bootstrap.ign', signal));
    expect(file).toContain('99_role-master.yaml');
  });

  it('boots workers before the control plane exists and refuses their Ignition', async () => {
    for (let count = 0; count < 2; count += 1) workers.push(await boot(workers, false));
    const [worker] = workers;
    await worker?.report('Starting installation');
    await expect(worker?.ignition('worker')).rejects.toMatchObject({ code: 'inventory.not-ready' });
  });

  it('shows the report of a host in its config, its Machine, the control plane and the Cluster', async () => {
    const [bootstrap] = masters;
    await bootstrap?.report('Starting installation');
    await bootstrap?.report('Installing');
    const shown = (kind: KubeKind, type: string, text: string) =>
      rig.found({ kind, ...place }, (object) =>
        JSON.stringify(conditionOf(object, type)).includes(text) ? true : undefined,
      );
    const all = [
      shown(bootstrapConfigs, 'Ready', '61%'),
      shown(capiMachines, 'BootstrapConfigReady', '61%'),
      shown(controlPlanes, 'Available', '61%'),
      shown(clusters, 'ControlPlaneAvailable', '61%'),
    ];
    await bootstrap?.report('Writing image to disk', '61%');
    await Promise.all(all);
  });

  it('creates the other masters once the bootstrap host waits for the control plane', async () => {
    const [bootstrap] = masters;
    await bootstrap?.report('Waiting for control plane');
    for (let count = 0; count < 2; count += 1) masters.push(await boot(masters, true));
    expect(masters.slice(1).map(({ role }) => role)).toEqual(['master', 'master']);
    await isTrue(clusters, 'ControlPlaneInitialized');
    const published = await rig.client.get({
      kind: secrets,
      ...place,
      name: `${cluster}-kubeconfig`,
    });
    expect(published).toMatchObject({ type: 'cluster.x-k8s.io/secret' });
  });

  it('installs the masters and accepts the reports of the bootstrap host for them', async () => {
    const [bootstrap, ...others] = masters;
    for (const master of others) {
      await master.report('Starting installation');
      const text = await master.ignition('master');
      expect(text).toContain('/config/master');
      await master.report('Writing image to disk', '100%');
      await master.report('Rebooting');
      await bootstrap?.reportFor(master, 'Configuring');
      // Before its node is Ready: from then on the provider itself may have reported more.
      await bootstrap?.reportFor(master, 'Joined');
      await joinNode(rig, cluster, master);
      await bootstrap?.reportFor(master, 'Done');
      await isTrue(capiMachines, 'Ready', master.machine);
    }
    await bootstrap?.report('Waiting for bootkube');
    await bootstrap?.report('Waiting for controller');
    await bootstrap?.report('Rebooting');
    await isTrue(controlPlanes, 'BootstrapComplete');
    await isTrue(controlPlanes, 'ConfigServerAvailable');
    await isTrue(clusters, 'ControlPlaneAvailable');
  });

  it('serves the Ignition of workers once the control plane is available', async () => {
    for (const worker of workers) {
      const text = await worker.ignition('worker');
      expect(text).toContain('/config/worker');
      await worker.report('Writing image to disk', '100%');
      await worker.report('Rebooting');
    }
  });

  it('marks rebooted hosts as Ready by their nodes', async () => {
    const [bootstrap] = masters;
    if (bootstrap !== undefined) await joinNode(rig, cluster, bootstrap);
    for (const worker of workers) await joinNode(rig, cluster, worker);
    for (const { machine } of [...workers, ...masters])
      await isTrue(capiMachines, 'Ready', machine);
    await isTrue(clusters, 'Available');
  });

  it('sets Installed once the cluster operators have settled', async () => {
    const why = (wanted: string) =>
      rig.found({ kind: controlPlanes, ...place }, (object) =>
        conditionOf(object, 'Installed').message.includes(wanted) ? true : undefined,
      );
    const { client } = rig.guest;
    await applyOperators(client, { dns: 'False', etcd: 'True' });
    await why('ClusterOperator etcd is progressing');
    await applyOperators(client, { etcd: 'False' });
    await isTrue(controlPlanes, 'Installed');
  });

  it('exports metrics of the hosts per stage and of the managers', async () => {
    const [bootstrap = '', controlPlane = ''] = await Promise.all(
      managers.map(({ metrics }) => metrics()),
    );
    expect(bootstrap).toMatch(/^bootwright_hosts\{stage="Done"\} [2-5]$/m);
    expect(bootstrap).toMatch(/^bootwright_host_report_seconds_count [1-9]/m);
    expect(controlPlane).toMatch(/^bootwright_installer_runs_total\{result="made"\} 1$/m);
    expect(controlPlane).toContain('bootwright_queue_keys{controller="control-plane/reconcile"');
  });

  it('publishes the kubeconfig of the installer', async () => {
    const ref = { kind: secrets, ...place, name: `${cluster}-kubeconfig` };
    const value = textAt(await rig.client.get(ref), 'data', 'value');
    expect(Buffer.from(value, 'base64').toString()).toBe(kubeconfig);
    expect(await hostClient(kubeconfig).list({ kind: nodes })).toHaveLength(5);
  });

  it('replaces a master that a MachineHealthCheck has marked', async () => {
    const [, failing] = masters;
    if (failing === undefined) throw new Error('no master');
    await showEtcd(
      rig,
      masters.filter((one) => one !== failing),
    );
    const ref = { kind: capiMachines, ...place, name: failing.machine };
    const uid = (await rig.client.get(ref))?.metadata.uid;
    await rig.apply({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'MachineHealthCheck',
      metadata: { name: 'masters', ...place },
      spec: {
        clusterName: cluster,
        selector: { matchLabels: { 'cluster.x-k8s.io/control-plane': '' } },
        checks: { nodeStartupTimeoutSeconds: 0 },
      },
    });
    await rig.client.merge(ref, { metadata: { annotations: { [capiNames.remediate]: '' } } });
    const follower = await rig.found({ kind: capiMachines, ...place }, ({ metadata }) => {
      const record = metadata.annotations?.[ownNames.remediationFor];
      return record === undefined
        ? undefined
        : { name: metadata.name, record: JSON.parse(record) as object, uid: metadata.uid };
    });
    expect(follower).toMatchObject({ record: { machine: failing.machine, uid, retry: 0 } });
    expect(follower.uid).not.toBe(uid);
    expect(
      (await rig.client.list({ kind: capiMachines, ...place })).filter(isOfControlPlane),
    ).toHaveLength(3);
    await failing[Symbol.asyncDispose]();
    const next = await bootHost(rig, { cluster, machine: follower.name });
    masters.splice(1, 1, next);
    expect(next.role).toBe('master');
    await installLater(next);
    await rig.found({ kind: controlPlanes, ...place }, ({ metadata }) =>
      metadata.annotations?.[ownNames.remediation] === undefined ? true : undefined,
    );
  });

  it('survives clusterctl move without creating or generating anything again', async () => {
    const from = rig;
    former = managers;
    const fileOf = async ({ kube }: Management): Promise<string> => {
      const file = join(kube.folder, 'admin.kubeconfig');
      await writeFile(file, await kube.kubeconfigFor({ server: kube.url }), { mode: 0o600 });
      return file;
    };
    const names = async (): Promise<readonly string[]> =>
      (await rig.client.list({ kind: capiMachines, ...place }))
        .map(({ metadata }) => metadata.name)
        .toSorted();
    const dataOf = async (): Promise<readonly unknown[]> =>
      (await rig.client.list({ kind: secrets, ...place }))
        .filter(({ metadata: { labels = {} } }) => labels[capiNames.clusterName] === cluster)
        .map(({ metadata: { name }, data }) => ({ name, data }));
    const [machines, data] = [await names(), await dataOf()];
    rig = { ...ends.use(await startManagement()), guest: from.guest };
    await startOurs();
    await rig.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster } });
    const files = ['--kubeconfig', await fileOf(from), '--to-kubeconfig', await fileOf(rig)];
    await promisify(execFile)(
      join(rig.part, 'bin', 'clusterctl'),
      ['move', ...files, '--namespace', cluster],
      { env: { HOME: rig.kube.folder, GOPROXY: 'off', CLUSTERCTL_DISABLE_VERSIONCHECK: 'true' } },
    );
    await infrastructure.kill();
    await rig.startInfrastructure();
    expect(await from.client.list({ kind: clusters, ...place })).toEqual([]);
    for (const machine of machines) await isTrue(capiMachines, 'Ready', machine);
    await isTrue(controlPlanes, 'BootstrapComplete');
    await isTrue(clusters, 'Available');
    expect(await names()).toEqual(machines);
    expect(await dataOf()).toEqual(expect.arrayContaining([...data]));
    expect(installer.runs()).toEqual([]);
  });

  it('scales up to four masters', async () => {
    const ref = { kind: controlPlanes, ...place, name: cluster };
    await rig.client.merge(ref, { spec: { replicas: 4 } });
    const next = await boot(masters, true);
    masters.push(next);
    expect(next.role).toBe('master');
    await installLater(next);
    await rig.found({ kind: controlPlanes, ...place }, (one) =>
      partOf(one, 'status', 'readyReplicas') === 4 ? true : undefined,
    );
    expect(
      (await rig.client.list({ kind: capiMachines, ...place })).filter(isOfControlPlane),
    ).toHaveLength(4);
    await isTrue(clusters, 'ControlPlaneMachinesReady');
  });

  it('requests another release from the operator of the cluster version', async () => {
    const { client } = rig.guest;
    const ref = { kind: controlPlanes, ...place, name: cluster };
    const spec = (await rig.client.get(ref))?.['spec'] as ControlPlaneSpec;
    const version = { kind: clusterVersions, name: 'version' };
    const history = [
      { state: 'Completed', version: spec.distributionVersion, image: spec.releaseImage },
    ];
    await client.merge(version, { status: { history } });
    const releaseImage = `registry.example/release@sha256:${'1'.repeat(64)}`;
    await rig.client.merge(ref, { spec: { releaseImage, distributionVersion: '4.20.1' } });
    await isTrue(controlPlanes, 'Upgrading');
    expect(partOf(await client.get(version), 'spec')).toEqual({
      desiredUpdate: { image: releaseImage, version: '4.20.1', force: false },
    });
  });

  it('deletes a cluster with all its objects', async () => {
    await rig.client.remove({ kind: clusters, ...place, name: cluster });
    await rig.gone({ kind: clusters, ...place, name: cluster });
    for (const kind of [capiMachines, controlPlanes, bootstrapConfigs, devMachines])
      expect(await rig.client.list({ kind, ...place })).toEqual([]);
  });

  it('needs all permissions of the accounts and no others', async () => {
    for (const [index, manager] of managers.entries()) {
      const before = former[index];
      expect([await manager.refused(), await before?.refused()]).toEqual([[], []]);
      const unused = new Set(await before?.unused());
      expect(
        (await manager.unused()).filter(
          (one) => unused.has(one) && !elsewhere.some((it) => it.test(one)),
        ),
      ).toEqual([]);
    }
  });
});

/** Shows the guest's etcd as its operator does: members on these masters, which are ready. */
async function showEtcd(
  { guest: { client } }: CapiRig,
  masters: readonly ScriptedHost[],
): Promise<void> {
  const [namespace, status] = ['openshift-etcd', 'status'];
  await client.create(namespaces, { metadata: { name: namespace } });
  await client.create(serviceAccounts, { metadata: { name: 'default', namespace } });
  const data: Record<string, string> = {};
  for (const [index, { machine }] of masters.entries()) {
    const address = `192.0.2.${index + 1}`;
    data[`a${index}`] = address;
    const addresses = [{ type: 'InternalIP', address }];
    await client.merge({ kind: nodes, name: machine }, { status: { addresses } }, status);
    const name = `etcd-${machine}`;
    await client.create(pods, {
      metadata: { name, namespace, labels: { app: 'etcd' } },
      spec: { nodeName: machine, containers: [{ name: 'etcd', image: 'x' }] },
    });
    const conditions = [{ type: 'Ready', status: 'True' }];
    await client.merge({ kind: pods, namespace, name }, { status: { conditions } }, status);
  }
  await client.create(configMaps, { metadata: { name: 'etcd-endpoints', namespace }, data });
}

/** Rights of the managers that this test does not need. */
const elsewhere: readonly RegExp[] = [
  // The admission of owner references requires it.
  /\/finalizers update$/,
  // The manager replaces the data of a host that has not booted yet and files that are too old, and
  // reads an object of the same name.
  /^ {2}secrets (patch|delete)$/,
  /^ cluster\.x-k8s\.io machines get$/,
  /^ bootstrap\.cluster\.x-k8s\.io openshiftbootstrapconfigs get$/,
  // The kinds depend on the installed provider.
  /^ infrastructure\.cluster\.x-k8s\.io \* /,
];

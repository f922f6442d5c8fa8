// The API server and clusterctl accept the files of this project; then two clusters of the same
// name in two namespaces, with other numbers of masters than three, are installed with the real
// core.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  assetKeys,
  assetsSecretName,
  bootstrapConfigs,
  capiMachines,
  clusters,
  controlPlanes,
} from '../../src/capi/api.ts';
import { secretText } from '../../src/capi/objects.ts';
import { configMaps, namespaces, secrets } from '../../src/kube/kinds.ts';
import { partOf, textAt } from '../../src/kube/object.ts';
import type { Stage } from '../../src/model/stage.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import {
  clusterObjects,
  clusterSecrets,
  controlPlaneObject,
  devClusters,
  workerObjects,
} from './cluster.ts';
import { definitionsSuite } from './definitions-suite.ts';
import { bootNext, joinNode, type ScriptedHost } from './hosts.ts';
import { type Manager, startManagers } from './managers.ts';
import { type ManagementNode, startNode } from './node.ts';
import { type CapiRig, startCapi } from './management.ts';

const cluster = 'shop';
/** One master that bootstraps itself, and four that become five, spread over failure domains. */
const [east, west] = ['east', 'west'] as const;

let rig: CapiRig;
let node: ManagementNode | undefined;
let managers: readonly Manager[] = [];
const hosts: Record<'east' | 'west', ScriptedHost[]> = { east: [], west: [] };

beforeAll(async () => {
  rig = await startCapi();
  await rig.deploy();
});
afterAll(async () => {
  for (const host of [...hosts.east, ...hosts.west]) await host[Symbol.asyncDispose]();
  await Promise.all(managers.map(({ kill }) => kill()));
  await node?.[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

definitionsSuite(() => rig);

const boot = async (namespace: 'east' | 'west', isMaster = true): Promise<ScriptedHost> => {
  const host = await bootNext(rig, namespace, { hosts: hosts[namespace], isMaster });
  hosts[namespace].push(host);
  return host;
};
const reports = async (host: ScriptedHost, ...stages: readonly Stage[]): Promise<void> => {
  for (const stage of stages) await host.report(stage);
};
/** Installs a host, which then sends no more reports: only its node shows it. */
async function install(namespace: string, host: ScriptedHost): Promise<void> {
  await reports(host, 'Starting installation', 'Writing image to disk', 'Rebooting');
  await joinNode(rig, namespace, host);
  await rig.hasCondition([capiMachines, namespace, host.machine], 'Ready');
}
const scale = (kind: KubeKind, namespace: string, to: { name: string; replicas: number }) =>
  rig.client.merge({ kind, namespace, name: to.name }, { spec: { replicas: to.replicas } });
const machineDeployments: KubeKind = { ...clusters, plural: 'machinedeployments' };
const domainsIn = async (namespace: string): Promise<readonly string[]> =>
  (await rig.client.list({ kind: capiMachines, namespace }))
    .map((machine) => textAt(machine, 'spec', 'failureDomain'))
    .toSorted();

describe('two clusters of the same name (W4)', () => {
  beforeAll(async () => {
    const kubeconfig = await rig.kube.kubeconfigFor({ server: rig.guest.url });
    node = await startNode(rig, kubeconfig);
    managers = await startManagers(rig);
  });

  it('have a bootstrap host each', async () => {
    const sizes = [
      { namespace: east, replicas: 1 },
      { namespace: west, replicas: 4 },
    ];
    for (const { namespace, replicas } of sizes) {
      const place = { cluster, namespace };
      await rig.applyAll(clusterObjects(place, rig.guest.port));
      await rig.applyAll(clusterSecrets(place, replicas));
      const failureDomains = ['a', 'b', 'c'].map((name) => ({ name, controlPlane: true }));
      await rig.client.mergeStatus(
        { kind: devClusters, namespace, name: cluster },
        { failureDomains },
      );
      await rig.applyAll([controlPlaneObject(place, { replicas }), ...workerObjects(place, 0)]);
    }
    const [single, first] = [await boot(east), await boot(west)];
    expect([single.role, first.role]).toEqual(['bootstrap', 'bootstrap']);
    // Core checks their APIs every half minute, for both at once.
    await reports(first, 'Starting installation', 'Waiting for control plane');
    await reports(single, 'Starting installation', 'Waiting for bootkube');
  });

  it('install a single master that bootstraps itself', async () => {
    const [single] = hosts.east;
    if (single === undefined) throw new Error('no host');
    await reports(single, 'Writing image to disk', 'Rebooting');
    await rig.hasCondition([controlPlanes, east], 'BootstrapComplete');
    await joinNode(rig, east, single);
    await rig.hasCondition([clusters, east], 'Available');
    await rig.hasCondition([bootstrapConfigs, east], 'Ready');
  });

  it('spread four masters evenly over failure domains', async () => {
    const [first] = hosts.west;
    if (first === undefined) throw new Error('no host');
    for (let count = 1; count < 4; count += 1) await install(west, await boot(west));
    await reports(first, 'Waiting for bootkube', 'Waiting for controller', 'Rebooting');
    await joinNode(rig, west, first);
    await rig.hasCondition([clusters, west], 'Available');
    expect(await domainsIn(west)).toEqual(['a', 'a', 'b', 'c']);
  });

  it('add a worker with the current config server CA, and write nothing in a paused Cluster', async () => {
    await rig.client.merge(
      { kind: clusters, namespace: west, name: cluster },
      { spec: { paused: true } },
    );
    await rig.hasCondition([controlPlanes, west], 'Paused');
    for (const { machine } of hosts.west)
      await rig.hasCondition([bootstrapConfigs, west, machine], 'Paused');
    const before = await writesIn(west);
    await scale(controlPlanes, west, { name: cluster, replicas: 5 });
    const authority = '-----BEGIN CERTIFICATE-----\nof today\n-----END CERTIFICATE-----\n';
    await publishAuthority(authority);
    const assets = { kind: secrets, namespace: east };
    await rig.found(assets, (secret) =>
      secret.metadata.name === assetsSecretName(cluster)
        ? secretText(secret, assetKeys.configServerCa)
        : undefined,
    );
    await scale(machineDeployments, east, { name: 'workers', replicas: 1 });
    const worker = await boot(east, false);
    await reports(worker, 'Starting installation');
    const text = await worker.ignition('worker');
    expect(text).toContain(Buffer.from(authority).toString('base64'));
    await install(east, worker);
    expect(await rig.client.list({ kind: capiMachines, namespace: west })).toHaveLength(4);
    expect(await writesIn(west)).toEqual(before);
  });

  it('add a fifth master once the Cluster is unpaused', async () => {
    await rig.client.merge(
      { kind: clusters, namespace: west, name: cluster },
      { spec: { paused: null } },
    );
    const fifth = await boot(west);
    expect(fifth.role).toBe('master');
    await install(west, fifth);
    await rig.found({ kind: controlPlanes, namespace: west }, (object) =>
      partOf(object, 'status', 'readyReplicas') === 5 ? true : undefined,
    );
    expect(await domainsIn(west)).toEqual(['a', 'a', 'b', 'b', 'c']);
    for (const { refused } of managers) expect(await refused()).toEqual([]);
  });
});

/**
 * Gives the machine-config operator of the installed cluster another authority for its config
 * servers.
 */
async function publishAuthority(bundle: string): Promise<void> {
  const { client } = rig.guest;
  const namespace = 'openshift-machine-config-operator';
  const metadata = { name: 'machine-config-server-ca', namespace };
  await client.create(namespaces, { metadata: { name: namespace } });
  await client.create(configMaps, { metadata, data: { 'ca-bundle.crt': bundle } });
}

/** The providers' writes in a namespace, except the pause of a control plane. */
async function writesIn(namespace: string): Promise<readonly string[]> {
  const all = await Promise.all(
    managers.map(({ provider }) => rig.kube.audited(accountOf(provider))),
  );
  return all
    .flat()
    .filter((one) => one.namespace === namespace && !/^(get|list|watch)$/.test(one.verb))
    .filter(({ resource }) => resource !== 'openshiftcontrolplanes/status')
    .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
}

const accountOf = (provider: string): string =>
  `system:serviceaccount:bootwright-${provider}-system:manager`;

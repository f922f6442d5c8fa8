// Managers that are killed right after a write, and successors, with rights in one namespace and
// definitions of contract v1beta1 only: the resulting cluster is the same.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Forwarder, startForwarder } from '../../mocks/kube/forwarder.ts';
import { bootstrapConfigs, clusters, controlPlanes, capiMachines } from '../../src/capi/api.ts';
import { leases, secrets } from '../../src/kube/kinds.ts';
import { partOf, textAt } from '../../src/kube/object.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import {
  bootstrapConfigTemplates,
  clusterObjects,
  clusterSecrets,
  controlPlaneObject,
  devMachines,
} from './cluster.ts';
import { bootHost } from './hosts.ts';
import { confine, type Manager, startManager } from './managers.ts';
import { type ManagementNode, startNode } from './node.ts';
import { customResourceDefinitions } from '../kube/cluster-access.ts';
import { type CapiRig, startCapi } from './management.ts';

const cluster = 'two';
const place = { namespace: cluster };
const providers = ['bootstrap', 'control-plane'] as const;

let rig: CapiRig;
let node: ManagementNode;
let managers: Record<Manager['provider'], Manager> | undefined;
let startBoth: () => Promise<Record<Manager['provider'], Manager>>;
/** Represents the Service of the inventory. */
let address: Forwarder;

beforeAll(async () => {
  rig = await startCapi();
  await rig.deploy();
  const kubeconfig = await rig.kube.kubeconfigFor({ server: rig.guest.url });
  node = await startNode(rig, kubeconfig);
  address = await startForwarder({ port: 0 });
  const within = cluster;
  await rig.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: cluster } });
  for (const provider of providers) await confine(rig, provider, within);
  startBoth = async () => ({
    bootstrap: await startManager(rig, {
      provider: 'bootstrap',
      inventoryUrl: address.url,
      within,
    }),
    'control-plane': await startManager(rig, { provider: 'control-plane', within }),
  });
  managers = await startBoth();
  address.moveTo(managers.bootstrap.inventory);
  const labels = { 'cluster.x-k8s.io/v1beta2': null };
  for (const { plural, group } of [controlPlanes, bootstrapConfigs, bootstrapConfigTemplates]) {
    const ref = { kind: customResourceDefinitions, name: `${plural}.${group}` };
    await rig.client.merge(ref, { metadata: { labels } });
  }
});
afterAll(async () => {
  await Promise.all(Object.values(managers ?? {}).map(({ kill }) => kill()));
  await address.close();
  await node[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

const names = async (kind: KubeKind): Promise<readonly string[]> =>
  (await rig.client.list({ kind, ...place })).map(({ metadata }) => metadata.name);

/** Kills a manager as soon as an object exists, and starts it again. */
async function killAt(
  provider: Manager['provider'],
  kind: KubeKind,
  isIt: (name: string) => boolean = () => true,
): Promise<void> {
  await rig.found({ kind, ...place }, ({ metadata }) => (isIt(metadata.name) ? true : undefined));
  await managers?.[provider].kill();
  await managers?.[provider].start();
}

const isTrue = (kind: KubeKind, type: string): Promise<true> =>
  rig.hasCondition([kind, cluster], type);

describe('three masters', () => {
  it('are created once, even if a manager is killed', async () => {
    await rig.applyAll(clusterObjects(cluster, rig.guest.port));
    await rig.applyAll([...clusterSecrets(cluster), controlPlaneObject(cluster)]);
    // src/capi/control-plane/crash.test.ts and src/capi/bootstrap cover each write of both.
    await killAt('control-plane', devMachines);
    await killAt('bootstrap', secrets, (name) => name.endsWith('-agent'));
    const machine = await rig.found(
      { kind: capiMachines, ...place },
      ({ metadata }) => metadata.name,
    );
    await using host = await bootHost(rig, { cluster, machine });
    expect(host.role).toBe('bootstrap');
    await host.report('Starting installation');
    await host.report('Waiting for control plane');
    await rig.found({ kind: controlPlanes, ...place }, (object) =>
      (object['status'] as { readonly replicas?: number }).replicas === 3 ? true : undefined,
    );
    const made = await names(capiMachines);
    expect(made).toHaveLength(3);
    expect(await names(devMachines)).toEqual(made);
    expect(await names(bootstrapConfigs)).toEqual(made);
    expect(made).toContain(machine);
  });

  it('stay managed during a rolling update of the managers, and no report is lost', async () => {
    const former = managers;
    const holders = async (): Promise<readonly string[]> => {
      const held = providers.map((one) =>
        rig.client.get({
          kind: leases,
          namespace: `bootwright-${one}-system`,
          name: `bootwright-${one}`,
        }),
      );
      return (await Promise.all(held)).map((lease) => textAt(lease, 'spec', 'holderIdentity'));
    };
    const bootstrap = (await rig.client.get({ kind: controlPlanes, ...place, name: cluster }))?.[
      'status'
    ] as { readonly bootstrapMachine: string };
    const machine = (await names(capiMachines)).find((one) => one !== bootstrap.bootstrapMachine);
    await using host = await bootHost(rig, { cluster, machine: machine ?? '' });
    await host.report('Starting installation');
    const rolled = new AbortController();
    let count = 0;
    const reporting = (async () => {
      while (!rolled.signal.aborted) {
        const percent = `${Math.min((count += 1), 99)}%`;
        const send = () => host.report('Writing image to disk', percent);
        // An ending server may close a connection at the moment of its reuse: an agent sends again.
        await send().catch(send);
        await pause(300); // sleeps: a host reports on its own time
      }
    })();
    reporting.catch(() => undefined);
    /** The service has taken more reports of the host. */
    const takesReports = async (): Promise<void> => {
      const from = count;
      await Promise.race([expect.poll(() => count).toBeGreaterThan(from + 3), reporting]);
    };
    await takesReports();
    const before = await holders();
    managers = await startBoth();
    expect(await holders()).toEqual(before);
    address.moveTo(managers.bootstrap.inventory, 'kept');
    // They end by SIGTERM alone, while the host continues to report.
    for (const { pid } of Object.values(former ?? {})) process.kill(pid(), 'SIGTERM');
    await expect
      .poll(() => Object.values(former ?? {}).some(({ isRunning }) => isRunning()))
      .toBe(false);
    await takesReports();
    await expect
      .poll(async () => (await holders()).filter((one) => one === '' || before.includes(one)))
      .toEqual([]);
    const ref = { kind: controlPlanes, ...place, name: cluster };
    await rig.client.merge(ref, { spec: { replicas: 4 } });
    await rig.found({ kind: controlPlanes, ...place }, (object) =>
      partOf(object, 'status', 'replicas') === 4 ? true : undefined,
    );
    await takesReports();
    rolled.abort();
    await reporting;
    await host.report('Rebooting');
    await rig.found({ kind: bootstrapConfigs, ...place }, (config) =>
      config.metadata.name === machine &&
      partOf(config, 'status', 'progress', 'stage') === 'Rebooting'
        ? true
        : undefined,
    );
    expect(await names(capiMachines)).toHaveLength(4);
    expect(await names(devMachines)).toEqual(await names(capiMachines));
  });

  it('have an API that core considers initialized', async () => {
    await killAt('control-plane', secrets, (name) => name === `${cluster}-kubeconfig`);
    await isTrue(clusters, 'ControlPlaneInitialized');
  });

  it('are deleted with their Cluster', async () => {
    await rig.client.remove({ kind: clusters, ...place, name: cluster });
    await managers?.['control-plane'].kill();
    await managers?.['control-plane'].start();
    await rig.gone({ kind: clusters, ...place, name: cluster });
    for (const kind of [capiMachines, controlPlanes, bootstrapConfigs, devMachines])
      expect(await names(kind)).toEqual([]);
  });

  it.each(providers)('are read by the %s provider in their namespace only', async (provider) => {
    const asked = (await managers?.[provider].asked()) ?? [];
    expect(asked.filter(({ status }) => status === 403)).toEqual([]);
    const own = [cluster, `bootwright-${provider}-system`];
    const elsewhere = asked.filter(({ namespace }) => !own.includes(namespace));
    expect([...new Set(elsewhere.map(({ verb, resource }) => `${verb} ${resource}`))]).toEqual(
      provider === 'bootstrap' ? [] : ['get customresourcedefinitions'],
    );
  });
});

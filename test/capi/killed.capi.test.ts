// Managers that die right after what they write, on definitions of contract v1beta1 alone: the cluster comes out the same.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  assetsSecretName,
  bootstrapConfigs,
  bootstrapConfigTemplates,
  clusters,
  controlPlanes,
  capiMachines,
} from '../../src/capi/api.ts';
import { secrets } from '../../src/cluster/kinds.ts';
import { conditionOf } from '../../src/layering/api/cluster-object.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import { clusterObjects, clusterSecrets, controlPlaneObject, devMachines } from './cluster.ts';
import { bootHost } from './hosts.ts';
import { type Manager, startManager, writeInstaller } from './managers.ts';
import { type CapiRig, customResourceDefinitions, startCapi } from './rig.ts';

const cluster = 'two';
const place = { namespace: cluster };
const paused = 'cluster.x-k8s.io/paused';

let rig: CapiRig;
let managers: Record<Manager['provider'], Manager> | undefined;

beforeAll(async () => {
  rig = await startCapi();
  await rig.deploy();
  const kubeconfig = await rig.kube.kubeconfigFor({ server: rig.guest.url });
  const { program } = await writeInstaller(rig, kubeconfig);
  managers = {
    bootstrap: await startManager(rig, { provider: 'bootstrap' }),
    'control-plane': await startManager(rig, { provider: 'control-plane', installer: program }),
  };
  const labels = { 'cluster.x-k8s.io/v1beta2': null };
  for (const { plural, group } of [controlPlanes, bootstrapConfigs, bootstrapConfigTemplates]) {
    const ref = { kind: customResourceDefinitions, name: `${plural}.${group}` };
    await rig.client.merge(ref, { metadata: { labels } });
  }
});
afterAll(async () => {
  await Promise.all(Object.values(managers ?? {}).map(({ kill }) => kill()));
  await rig[Symbol.asyncDispose]();
});

const put = async (objects: readonly KubeObject[]): Promise<void> => {
  for (const object of objects) await rig.apply(object);
};
const names = async (kind: KubeKind): Promise<readonly string[]> =>
  (await rig.client.list({ kind, ...place })).map(({ metadata }) => metadata.name);

/** Kills a manager as soon as an object is there, and starts it again. */
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
  rig.found({ kind, ...place }, (object) =>
    conditionOf(object, type).status === 'True' ? true : undefined,
  );

describe('three masters', () => {
  it('T8: are not begun while the control plane is paused, whatever the annotation says', async () => {
    await put(clusterObjects(cluster, rig.guest.port));
    await put(clusterSecrets(cluster));
    const object = controlPlaneObject(cluster);
    const metadata = { ...object.metadata, annotations: { [paused]: '' } };
    await put([{ ...object, metadata }]);
    await isTrue(controlPlanes, 'Paused');
    await isTrue(clusters, 'InfrastructureReady');
    expect([await names(capiMachines), await names(devMachines)]).toEqual([[], []]);
    expect(await names(secrets)).not.toContain(assetsSecretName(cluster));
  });

  it('are made once, whenever a manager dies', async () => {
    const ref = { kind: controlPlanes, ...place, name: cluster };
    await rig.client.merge(ref, { metadata: { annotations: { [paused]: null } } });
    await killAt('control-plane', secrets, (name) => name === assetsSecretName(cluster));
    await killAt('control-plane', devMachines);
    await killAt('control-plane', capiMachines);
    await killAt('bootstrap', secrets, (name) => name.endsWith('-agent'));
    const [machine = ''] = await names(capiMachines);
    await killAt('bootstrap', secrets, (name) => name === machine);
    await using host = await bootHost(rig, { cluster, machine });
    expect(host.role).toBe('bootstrap');
    await host.report('Starting installation');
    await host.report('Waiting for control plane');
    await killAt('control-plane', devMachines, (name) => name !== machine);
    await rig.found({ kind: controlPlanes, ...place }, (object) =>
      (object['status'] as { readonly replicas?: number }).replicas === 3 ? true : undefined,
    );
    const made = await names(capiMachines);
    expect(made).toHaveLength(3);
    expect(await names(devMachines)).toEqual(made);
    expect(await names(bootstrapConfigs)).toEqual(made);
    expect(made).toContain(machine);
  });

  it('have an API that core knows', async () => {
    await killAt('control-plane', secrets, (name) => name === `${cluster}-kubeconfig`);
    await isTrue(clusters, 'ControlPlaneInitialized');
  });

  it('go with their cluster', async () => {
    await rig.client.remove({ kind: clusters, ...place, name: cluster });
    await managers?.['control-plane'].kill();
    await managers?.['control-plane'].start();
    await rig.gone({ kind: clusters, ...place, name: cluster });
    for (const kind of [capiMachines, controlPlanes, bootstrapConfigs, devMachines])
      expect(await names(kind)).toEqual([]);
  });
});

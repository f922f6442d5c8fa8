import { writeFileSync } from 'node:fs';
import { etcdConditions } from '../../mocks/cluster/etcd.ts';
import { placeFor } from '../../mocks/host/files.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import { bootstrapIgnition } from '../../mocks/inventory/ignition-files.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import { configMaps, etcds, events, machineConfigs, nodes } from '../../src/kube/kinds.ts';
import type { Config } from '../../src/config/schema.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import { layeredContents, layeredKinds, writeRendered } from './layered.ts';

/** The Ignition config of a bootstrap host. */
export const bootstrapFile = bootstrapIgnition(clusterSeed({}));

/** The Ignition config of a cluster with MachineOSConfigs in its manifests. */
export const layeredBootstrapFile = (config: Config): string =>
  bootstrapIgnition(clusterSeed({}), layeredContents(config));

/** The rendered config of the only node of a cluster. */
const renderedMaster = JSON.stringify({
  ignition: { version: '3.2.0' },
  storage: { files: [{ path: '/etc/rendered', contents: { source: 'data:,by-bootkube' } }] },
});

/** Makes the units of a bootstrap host start a control plane that completes in a moment. */
export function giveControlPlane(machine: Machine): void {
  const write = (path: string, text: string): Promise<void> => {
    writeFileSync(placeFor(machine.files, path), text);
    return Promise.resolve();
  };
  const { units } = machine;
  units.add('bootkube.service', 'approve-csr.service', 'progress.service');
  units.onStart.set('bootkube.service', async (become) => {
    become('active');
    await write('/opt/openshift/master.ign', renderedMaster);
    await writeRendered(write);
    await write('/opt/openshift/.bootkube.done', '');
  });
  units.onStart.set('progress.service', (become) => {
    become('active');
    setImmediate(() => become('inactive'));
  });
}

const node = (name: string, address: string): KubeObject => ({
  metadata: {
    name,
    labels: { 'node-role.kubernetes.io/master': '' },
    annotations: {
      'machineconfiguration.openshift.io/currentConfig': 'rendered-master-1',
      'machineconfiguration.openshift.io/desiredConfig': 'rendered-master-1',
    },
  },
  status: {
    conditions: [{ type: 'Ready', status: 'True' }],
    addresses: [{ type: 'InternalIP', address }],
  },
});

/** A cluster that meets every condition of a bootstrap host's waits. */
export function readyCluster(): FakeKube {
  const installConfig = 'controlPlane:\n  replicas: 3\nplatform:\n  baremetal: {}\n';
  return fakeKube()
    .put(configMaps, {
      metadata: { name: 'cluster-config-v1', namespace: 'kube-system' },
      data: { 'install-config': installConfig },
    })
    .put(configMaps, {
      metadata: { name: 'openshift-install-manifests', namespace: 'openshift-config' },
      data: { invoker: 'assisted-service' },
    })
    .put(nodes, node('master-1', '192.168.126.11'))
    .put(nodes, node('master-2', '192.168.126.12'))
    .put(machineConfigs, { metadata: { name: 'rendered-master-1' } })
    .put(events, {
      metadata: { name: 'AssistedControllerIsReady', namespace: 'assisted-installer' },
    })
    .put(etcds, {
      metadata: { name: 'cluster' },
      spec: { managementState: 'Managed' },
      status: {
        conditions: etcdConditions(
          { members: 2, phase: 'removed-before', hasRemovalCondition: true },
          new Date(0),
        ),
      },
    });
}

/** Kinds that the agent writes. */
const written = [configMaps, etcds, nodes, ...layeredKinds];

/** The objects of these kinds in a cluster, without the members that the API server adds. */
export const clusterWorld = (kube: FakeKube): unknown =>
  written.map((kind) =>
    kube.objectsOf(kind).map((object) => ({
      ...object,
      metadata: { ...object.metadata, uid: undefined, resourceVersion: undefined },
    })),
  );

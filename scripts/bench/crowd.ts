import { installConfig } from '../../mocks/inventory/ignition-files.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { configMaps, namespaces, nodes } from '../../src/cluster/kinds.ts';
import type { KubeRef } from '../../src/ports/kube.ts';

/** Of a node as JSON, with what a kubelet writes into it. */
const nodeBytes = 4600;

/** Requests that are sent at once. */
const atOnce = 20;

/** Gives a cluster what the bootstrap host asks for before it waits for masters. */
export async function makeInstallConfig({ client }: Rig): Promise<void> {
  const namespace = 'kube-system';
  await client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  await client.apply(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-config-v1', namespace },
    data: { 'install-config': installConfig(clusterSeed()) },
  });
}

/** Makes nodes that are not Ready; the first of them are masters. */
export async function makeNodes(rig: Rig, count: number, masters: number): Promise<void> {
  const filling = 'x'.repeat(nodeBytes - 700);
  await forEach(count, async (index) => {
    const role = index < masters ? 'master' : 'worker';
    const labels = { [`node-role.kubernetes.io/${role}`]: '' };
    const metadata = { name: nameOf(index), labels, annotations: { filling } };
    await rig.client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata });
  });
  await beat(rig, count);
}

/** Lets each node's kubelet say once more how it is. */
export async function beat({ client }: Rig, count: number): Promise<void> {
  const status = {
    type: 'Ready',
    status: 'False',
    reason: 'KubeletNotReady',
    message: 'container runtime network not ready: no CNI configuration file',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await forEach(count, async (index) => {
    const conditions = [{ ...status, lastHeartbeatTime: new Date().toISOString() }];
    await client.mergeStatus(nodeRef(index), { conditions });
  });
}

const nameOf = (index: number): string => `node-${String(index).padStart(3, '0')}`;

const nodeRef = (index: number): KubeRef => ({ kind: nodes, name: nameOf(index) });

async function forEach(count: number, work: (index: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < count; first += atOnce) {
    const length = Math.min(atOnce, count - first);
    await Promise.all(Array.from({ length }, (_, index) => work(first + index)));
  }
}

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { configMaps, namespaces, nodes } from '../../src/kube/kinds.ts';
import { taintsOf } from '../../src/cluster/node.ts';
import { cloudTaint } from '../../src/cluster/taint.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { waitForMasters } from '../../src/steps/cluster/wait-for-masters.ts';
import {
  bootkubeHost,
  installConfigMap,
  type NodeSketch,
  nodeObject,
} from '../support/cluster-objects.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { runStep, statusesOf } from '../support/run-step.ts';
import { clusterOf } from './rig.ts';

const networkMissing = 'container runtime network not ready: NetworkReady=false';
const unanswered = 'the API server does not answer';
const facts = { controlPlane: { units: ['bootkube.service'] } };

let kube: Kube;
let cluster: KubeCluster;

beforeAll(async () => {
  kube = await startRig({ crds: [] });
  cluster = clusterOf(kube.kubeconfig);
  await putInstallConfig('vsphere');
});

afterAll(async () => {
  await cluster.close();
  await kube.close();
});

afterEach(async () => {
  for (const { metadata } of await kube.client.list({ kind: nodes })) {
    await kube.client.remove({ kind: nodes, name: metadata.name });
  }
});

async function putInstallConfig(platform: string): Promise<void> {
  await kube.client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'kube-system' },
  });
  const yaml = `controlPlane: {replicas: 3}\nplatform: {${platform}: {}}\n`;
  await kube.client.apply(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...installConfigMap(yaml),
  });
}

/** Registers a node and reports its status, as its kubelet does. */
async function register(sketch: NodeSketch): Promise<void> {
  const { metadata, spec, status } = nodeObject(sketch);
  await kube.client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata, spec });
  await kube.client.mergeStatus({ kind: nodes, name: sketch.name }, status);
}

const becomeReady = (name: string): Promise<unknown> =>
  kube.client.mergeStatus({ kind: nodes, name }, nodeObject({ name })['status']);

const settings = (platformType: string) => ({
  facts,
  kube: cluster,
  host: bootkubeHost(),
  clock: systemClock,
  config: { role: 'bootstrap', service: { url: 'http://svc.example' } } as const,
  inventory: fakeInventory({
    cluster: { platformType },
    hosts: ['m1', 'm2', 'm3'].map((name) => inventoryHost({ id: `id-${name}`, name })),
  }),
});

const until = (is: () => boolean | Promise<boolean>): Promise<void> =>
  expect.poll(is, { interval: 20 }).toBe(true);

describe('the wait for masters against a real API server', () => {
  it('sees masters come, through a crash of the server, and reports each once', async () => {
    const run = settings('vsphere');
    const heard: RunEvent[] = [];
    const end = runStep(waitForMasters, { ...run, heard: (event) => void heard.push(event) });
    await register({ name: 'm1', notReady: networkMissing, taints: ['a', cloudTaint, 'b'] });
    await until(async () => {
      const node = await kube.client.get({ kind: nodes, name: 'm1' });
      return node !== undefined && taintsOf(node).every(({ key }) => key !== cloudTaint);
    });
    await becomeReady('m1');
    await until(() => run.inventory.reports.length === 1);
    await kube.api.kill();
    await until(() => statusesOf(heard).some((status) => status.includes(unanswered)));
    await kube.api.start();
    await register({ name: 'm2' });
    const { events, notes } = await end;
    expect(run.inventory.reports.map(({ host, stage }) => [host.hostId, stage])).toEqual([
      ['id-m1', 'Joined'],
      ['id-m2', 'Joined'],
    ]);
    expect(notes).toContain('info: removed the cloud provider taint from m1');
    expect(statusesOf(events)).toContain(
      '0 of 2 masters ready; m1: NotReady, container network is not ready; no further master has joined yet',
    );
    const left = await kube.client.get({ kind: nodes, name: 'm1' });
    expect(left === undefined ? [] : taintsOf(left).map(({ key }) => key)).toEqual([
      'a',
      'b',
      'node.kubernetes.io/not-ready',
    ]);
  });
});

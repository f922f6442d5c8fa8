import { join } from 'node:path';
import { installConfig } from '../../mocks/inventory/ignition-files.ts';
import { clusterSeed } from '../../mocks/inventory/records.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { followEvents, settingVariable } from '../../mocks/lab/agent.ts';
import { openSingleHost } from '../../mocks/lab/single-host.ts';
import { configMaps, namespaces, nodes } from '../../src/kube/kinds.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { seconds } from '../../src/model/duration.ts';
import { bundlePath } from '../bundle.ts';
import { startRig } from '../api-server.ts';
import { type Figure, forEach, pause, start, type Watched } from './process.ts';

const nodeCount = 500;
const usualMasters = 3;

/** How much memory the bootstrap agent needs at most beside a large cluster. */
export async function measureBootstrapMemory(): Promise<readonly Figure[]> {
  const what = `peak RSS of the bootstrap agent with ${nodeCount} nodes`;
  const [few, all] = [await peakOf(usualMasters), await peakOf(nodeCount)];
  return [
    [`${what}, of which ${usualMasters} are masters`, 'MiB', few, 120],
    [`${what}, all of them labelled as masters`, 'MiB', all, 120],
  ];
}

/** From its start until it has waited for masters while each node changed once. */
async function peakOf(masters: number): Promise<number> {
  await using rig = await startRig({ crds: [] });
  await makeInstallConfig(rig);
  await makeNodes(rig, nodeCount, masters);
  await using stage = await openBootstrapStage(rig.kubeconfig);
  await beat(rig, nodeCount);
  await pause(seconds(2));
  return stage.agent.peakMiB();
}

/**
 * Starts an agent on a host that bootstraps the cluster of a kubeconfig, and waits until it waits.
 */
async function openBootstrapStage(kubeconfig: string) {
  await using ends = new AsyncDisposableStack();
  const host = ends.use(
    await openSingleHost({
      role: 'bootstrap',
      isControlPlaneDone: false,
      // Lines as the real tool prints them: one per second.
      write: { seconds: 2, flushSeconds: 0, lineMillis: 1000 },
      token: 'bench',
    }),
  );
  host.inventory.store.setKubeconfig(kubeconfig);
  const events = join(host.folder, 'events.jsonl');
  const agent = start([bundlePath, ...host.words, ...bootstrapWords], {
    ...host.environment,
    [settingVariable('images.self')]: 'registry.example.test/self:1',
    [settingVariable('log.events')]: events,
  });
  ends.defer(agent.stop);
  await waitsForMasters(agent, events);
  const opened = ends.move();
  return { agent, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const bootstrapWords: readonly string[] = [
  ...['--controller-image', 'registry.example.test/controller:1'],
  ...['--agent-image', 'registry.example.test/agent:1'],
  ...['--mco-image', 'registry.example.test/mco:1'],
  ...['--openshift-version', '4.20.1', '--control-plane-count', '3'],
];

/** Each of these is emitted when everything but the wait has been done. */
const signs: readonly ((event: RunEvent) => boolean)[] = [
  (event) => event.type === 'lane.finished' && event.lane === 'disk',
  (event) => event.type === 'lane.finished' && event.lane === 'control plane',
  (event) =>
    event.type === 'wait.updated' &&
    event.step === 'cluster/wait-for-masters' &&
    event.status.startsWith('0 of 2 masters ready'),
];

/** @throws Error when the agent ends before it waits */
async function waitsForMasters(agent: Watched, events: string): Promise<void> {
  const missing = new Set(signs);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const follower = followEvents(events, (event) => {
    for (const sign of missing) if (sign(event)) missing.delete(sign);
    if (missing.size === 0) resolve(undefined);
  });
  const ended = agent.ended.then(({ stderr }) => {
    throw new Error(`the agent does not wait for masters: ${stderr}`);
  });
  try {
    await Promise.race([promise, ended]);
  } finally {
    ended.catch(() => undefined);
    follower.end();
  }
}

/** Of a node as JSON, with what a kubelet writes into it. */
const nodeBytes = 4600;

/** Gives a cluster what the bootstrap host asks for before it waits for masters. */
async function makeInstallConfig({ client }: Rig): Promise<void> {
  const namespace = 'kube-system';
  const metadata = { name: namespace };
  await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  await client.apply(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-config-v1', namespace },
    data: { 'install-config': installConfig(clusterSeed()) },
  });
}

/** Makes nodes that are not Ready; the first of them are masters. */
async function makeNodes(rig: Rig, count: number, masters: number): Promise<void> {
  const filling = 'x'.repeat(nodeBytes - 700);
  await forEach(Array(count).keys(), async (index) => {
    const role = index < masters ? 'master' : 'worker';
    const labels = { [`node-role.kubernetes.io/${role}`]: '' };
    const metadata = { name: `node-${index}`, labels, annotations: { filling } };
    await rig.client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata });
  });
  await beat(rig, count);
}

/** Lets each node's kubelet say once more how it is. */
async function beat({ client }: Rig, count: number): Promise<void> {
  const status = {
    type: 'Ready',
    status: 'False',
    reason: 'KubeletNotReady',
    message: 'container runtime network not ready: no CNI configuration file',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await forEach(Array(count).keys(), async (index) => {
    const conditions = [{ ...status, lastHeartbeatTime: new Date().toISOString() }];
    await client.mergeStatus({ kind: nodes, name: `node-${index}` }, { conditions });
  });
}

import { etcdNamespace } from '../../src/cluster/etcd-conditions.ts';
import { etcdCluster } from '../../src/cluster/etcd.ts';
import { machineConfigPools, nodes, pods } from '../../src/cluster/kinds.ts';
import { nodeKeys } from '../../src/layering/node-keys.ts';
import type { PodAct } from '../../src/layering/switching/pods.ts';
import { seconds } from '../../src/model/duration.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { type FakeClock, fakeClock } from '../support/fake-clock.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import { bothSite } from './both-pools.ts';
import { nodeObject } from './layered-pool.ts';
import { nodeIn, noted, playedImages, type PlayedNode } from './played-node.ts';
import { unfinishedMasters, wrongWithRestart } from './switch-order.ts';

/** Two pools whose kubelets, daemons and drain controller answer at once. */
export interface PlayedPools {
  readonly kube: FakeKube;
  readonly clock: FakeClock;
  /** Masters first. */
  readonly nodes: readonly PlayedNode[];
  /** Names of nodes in the order of their restarts. */
  readonly restarts: readonly string[];
  /** What nobody may do. */
  readonly incidents: readonly string[];
}

/** Which nodes are played, and what goes wrong with them. */
export interface PlayedOrder {
  readonly masters?: readonly string[];
  readonly workers?: readonly string[];
  /** What no pod gets done. */
  readonly stuck?: PodAct;
  /** A node that does not come back from its restart. */
  readonly lost?: string;
}

/** How long a member of etcd is away when its node has restarted. */
const memberReturnsAfter = seconds(75);

/** Masters, three unless said, and workers on the system of the release, and an etcd that can lose a member. */
export function playedPools(order: PlayedOrder = {}): PlayedPools {
  const { masters = ['m1', 'm2', 'm3'], workers = [] } = order;
  const kube = bothSite.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
  kube.put(etcdCluster.kind, { metadata: { name: 'cluster' } });
  for (const name of masters) kube.put(pods, etcdPod(name, true));
  const played = [
    ...masters.map((name) => join(kube, name, 'master')),
    ...workers.map((name) => join(kube, name, 'worker')),
  ];
  const restarts: string[] = [];
  const incidents: string[] = [];
  const clock = fakeClock();
  const world = { order, kube, clock, played, restarts, incidents };
  return { kube: clusterOf(world), clock, nodes: played, restarts, incidents };
}

interface World {
  readonly order: PlayedOrder;
  readonly kube: FakeKube;
  readonly clock: FakeClock;
  readonly played: readonly PlayedNode[];
  readonly restarts: string[];
  readonly incidents: string[];
}

/** The cluster as the job sees it. */
function clusterOf(world: World): FakeKube {
  const { kube } = world;
  return {
    ...kube,
    patch: async (ref, patch, signal) => {
      if (ref.kind === nodes) begin(world, ref.name);
      if (ref.kind === machineConfigPools && ref.name === 'worker')
        beginWorkers(world, 'their pool');
      const object = await kube.patch(ref, patch, signal);
      if (ref.kind === nodes) drainAsAsked(kube, object);
      return object;
    },
    create: async (selection, object, signal) => {
      const made = await kube.create(selection, object, signal);
      if (selection.kind === pods) runPod(world, made);
      return made;
    },
  };
}

function join(kube: FakeKube, name: string, pool: PlayedNode['pool']): PlayedNode {
  const { renderedConfig } = playedImages[pool];
  const configs = { currentConfig: renderedConfig, desiredConfig: renderedConfig };
  kube.put(nodes, withBoot(nodeObject(name, pool, { ...configs, state: 'Done' }), 0));
  return { name, pool, booted: '', staged: '', recorded: '', starts: 0 };
}

const etcdPod = (node: string, isReady: boolean): KubeObject => ({
  metadata: { name: `etcd-${node}`, namespace: etcdNamespace, labels: { app: 'etcd' } },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});

const withBoot = (node: KubeObject, starts: number): KubeObject => ({
  ...node,
  status: { ...(node['status'] as object), nodeInfo: { bootID: `boot-${starts}` } },
});

const annotated = (node: KubeObject, notes: Readonly<Record<string, string>>): KubeObject => ({
  ...node,
  metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, ...notes } },
});

function begin(world: World, name: string): PlayedNode {
  const node = world.played.find((one) => one.name === name);
  if (node === undefined) throw new RangeError(`there is no node ${name}`);
  if (node.pool === 'worker') beginWorkers(world, name);
  return node;
}

const beginWorkers = ({ kube, incidents }: World, what: string): void =>
  void incidents.push(...unfinishedMasters(kube).map((why) => `${what}: ${why}`));

function drainAsAsked(kube: FakeKube, node: KubeObject): void {
  const asked = noted(node, 'desiredDrain');
  if (asked === noted(node, 'lastAppliedDrain')) return;
  kube.put(nodes, annotated(node, { [nodeKeys.lastAppliedDrain]: asked }));
}

function runPod(world: World, pod: KubeObject): void {
  const { nodeName, containers } = pod['spec'] as {
    readonly nodeName: string;
    readonly containers: readonly [{ readonly args: readonly string[] }];
  };
  const node = begin(world, nodeName);
  if (pod.metadata.labels?.['bootwright.io/act'] === world.order.stuck) return;
  const [, verb, ...words] = containers[0].args;
  const isDone = verb === 'status' ? node.booted === words[1] : isApplied(world, node, words);
  world.kube.put(pods, { ...pod, status: { phase: isDone ? 'Succeeded' : 'Running' } });
}

function isApplied(world: World, node: PlayedNode, words: readonly string[]): boolean {
  const [image = '', option] = words;
  const isRunning = node.booted === image;
  if (!isRunning) node.staged = image;
  if (option === '--record') node.recorded = image;
  return option !== '--reboot' || isRunning || isRestarted(world, node);
}

function isRestarted(world: World, node: PlayedNode): boolean {
  const { kube, order, restarts, incidents } = world;
  const { name } = node;
  incidents.push(...wrongWithRestart(kube, node).map((what) => `${name}: ${what}`));
  restarts.push(name);
  node.starts += 1;
  const isBack = name !== order.lost;
  if (node.pool === 'master') loseMember(world, name);
  if (isBack) comeBack(kube, node);
  else kube.put(nodes, withoutKubelet(nodeIn(kube, name)));
  return isBack;
}

function loseMember({ kube, clock, order }: World, name: string): void {
  kube.put(pods, etcdPod(name, false));
  if (name === order.lost) return;
  const { signal } = new AbortController();
  void clock.sleep(memberReturnsAfter, signal).then(() => void kube.put(pods, etcdPod(name, true)));
}

/** The daemon finds what it was told, and gives the node back to its work. */
function comeBack(kube: FakeKube, node: PlayedNode): void {
  node.booted = node.staged;
  const asked = `uncordon-${playedImages[node.pool].renderedConfig}`;
  const given = { [nodeKeys.desiredDrain]: asked, [nodeKeys.lastAppliedDrain]: asked };
  kube.put(nodes, withBoot(annotated(nodeIn(kube, node.name), given), node.starts));
}

const withoutKubelet = (node: KubeObject): KubeObject => ({
  ...node,
  status: {
    ...(node['status'] as object),
    conditions: [{ type: 'Ready', status: 'Unknown', message: 'Kubelet stopped posting status' }],
  },
});

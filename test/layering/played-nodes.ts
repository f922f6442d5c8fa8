import { etcdCluster } from '../../src/cluster/etcd.ts';
import { machineConfigPools, nodes, pods } from '../../src/cluster/kinds.ts';
import { nodeKeys } from '../../src/layering/node-keys.ts';
import type { PodAct } from '../../src/layering/switching/pods.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { type FakeKube, fakeKube } from '../support/fake-kube.ts';
import { final, rendered, site } from './hand-over-site.ts';
import { nodeObject } from './layered-pool.ts';

/** What a node of a played pool has been through. */
export interface PlayedNode {
  readonly name: string;
  /** What it runs; empty for the system of the release. */
  booted: string;
  staged: string;
  /** What its daemon finds on the disk. */
  recorded: string;
  starts: number;
}

/** A pool of masters whose kubelets, daemons and drain controller answer at once. */
export interface PlayedPool {
  readonly kube: FakeKube;
  readonly nodes: readonly PlayedNode[];
  /** What nobody may do. */
  readonly incidents: readonly string[];
}

/**
 * Three masters on the system of the release, and an etcd that can lose one of them.
 * @param stuck what no pod gets done
 */
export function playedPool(
  names: readonly string[] = ['m1', 'm2', 'm3'],
  stuck?: PodAct,
): PlayedPool {
  const kube = site.reduce((made, [kind, object]) => made.put(kind, object), fakeKube());
  kube.put(etcdCluster.kind, { metadata: { name: 'cluster' } });
  const played = names.map((name): PlayedNode => {
    kube.put(nodes, withBoot(joined(name), 0));
    kube.put(pods, etcdPod(name));
    return { name, booted: '', staged: '', recorded: '', starts: 0 };
  });
  const incidents: string[] = [];
  const world = { kube, played, incidents, stuck };
  return {
    kube: {
      ...kube,
      patch: async (ref, patch, signal) => {
        const object = await kube.patch(ref, patch, signal);
        if (ref.kind === nodes) drainAsAsked(kube, object);
        return object;
      },
      create: async (selection, object, signal) => {
        const made = await kube.create(selection, object, signal);
        if (selection.kind === pods) runPod(world, made);
        return made;
      },
    },
    nodes: played,
    incidents,
  };
}

interface World {
  readonly kube: FakeKube;
  readonly played: readonly PlayedNode[];
  readonly incidents: string[];
  readonly stuck: PodAct | undefined;
}

const joined = (name: string): KubeObject =>
  nodeObject(name, 'master', { currentConfig: rendered, desiredConfig: rendered, state: 'Done' });

const etcdPod = (node: string): KubeObject => ({
  metadata: { name: `etcd-${node}`, namespace: 'openshift-etcd', labels: { app: 'etcd' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});

const withBoot = (node: KubeObject, starts: number): KubeObject => ({
  ...node,
  status: { ...(node['status'] as object), nodeInfo: { bootID: `boot-${starts}` } },
});

const noted = ({ metadata }: KubeObject, key: keyof typeof nodeKeys): string =>
  metadata.annotations?.[nodeKeys[key]] ?? '';

const annotated = (node: KubeObject, notes: Readonly<Record<string, string>>): KubeObject => ({
  ...node,
  metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, ...notes } },
});

function drainAsAsked(kube: FakeKube, node: KubeObject): void {
  const asked = noted(node, 'desiredDrain');
  if (asked === noted(node, 'lastAppliedDrain')) return;
  kube.put(nodes, annotated(node, { [nodeKeys.lastAppliedDrain]: asked }));
}

function runPod(world: World, pod: KubeObject): void {
  if (pod.metadata.labels?.['bootwright.io/act'] === world.stuck) return;
  const { nodeName, containers } = pod['spec'] as {
    readonly nodeName: string;
    readonly containers: readonly [{ readonly args: readonly string[] }];
  };
  const node = world.played.find(({ name }) => name === nodeName);
  if (node === undefined) throw new RangeError(`there is no node ${nodeName}`);
  const [, verb, ...words] = containers[0].args;
  const isDone = verb === 'status' ? node.booted === words[1] : applyOn(world, node, words);
  world.kube.put(pods, { ...pod, status: { phase: isDone ? 'Succeeded' : 'Running' } });
}

function applyOn(world: World, node: PlayedNode, words: readonly string[]): true {
  const [image = '', option] = words;
  const isRunning = node.booted === image;
  if (!isRunning) node.staged = image;
  if (option === '--record') node.recorded = image;
  if (option === '--reboot' && !isRunning) restart(world, node);
  return true;
}

function restart({ kube, played, incidents }: World, node: PlayedNode): void {
  const complain = (what: string): void => void incidents.push(`${node.name}: ${what}`);
  const object = kube.objectsOf(nodes).find(({ metadata }) => metadata.name === node.name);
  if (object === undefined) throw new RangeError(`there is no node ${node.name}`);
  const [pool] = kube.objectsOf(machineConfigPools);
  if ((pool?.['spec'] as { paused?: boolean }).paused !== true) complain('its pool goes on');
  if (!noted(object, 'lastAppliedDrain').startsWith('drain-')) complain('it is not drained');
  const told = [noted(object, 'currentImage'), noted(object, 'desiredImage'), node.recorded];
  if (told.some((one) => one !== node.staged)) complain('its daemon expects another image');
  const others = kube.objectsOf(nodes).filter(({ metadata }) => metadata.name !== node.name);
  if (others.some((one) => noted(one, 'lastAppliedDrain').startsWith('drain-'))) {
    complain('another node is drained');
  }
  node.booted = node.staged;
  node.starts += 1;
  // The daemon finds what it was told, and gives the node back to its work.
  const given = { [nodeKeys.desiredDrain]: `uncordon-${rendered}` };
  const back = { ...given, [nodeKeys.lastAppliedDrain]: `uncordon-${rendered}` };
  kube.put(nodes, withBoot(annotated(object, back), node.starts));
  if (played.filter(({ booted }) => booted !== '' && booted !== final).length > 0) {
    complain('it runs something else');
  }
}

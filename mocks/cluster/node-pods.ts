// The kubelets of nodes whose hosts are simulated: they run our program where a pod says so, and bear a restart of the
// host.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { KubeRefusal } from '../kube/transport.ts';
import { followChanges } from './changes.ts';
import { kinds } from './kinds.ts';
import { restartingHosts, restartNode } from './layering/restart.ts';
import type { LayeredSite } from './layering/site.ts';
import { podStatus, type PodPhase, type PodRuns } from './pod-status.ts';
import { controllerNamespace } from './pods.ts';
import type { ClusterWork, NodeRun, NodeRunEnd } from './site.ts';

const LOOK_EVERY_MILLIS = 100;
const RESTART_AFTER_MILLIS = 1000;
const NOT_FOUND = 404;

const NodePod = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  spec: z.object({
    nodeName: z.string(),
    containers: z
      .array(
        z.object({ name: z.string(), image: z.string(), args: z.array(z.string()).default([]) }),
      )
      .min(1),
  }),
});
type NodePod = z.infer<typeof NodePod>;

/** Pods that move a node to another system. */
export const nodePods = {
  kind: kinds.Pod,
  namespace: controllerNamespace,
  labelSelector: 'app.kubernetes.io/component=node-switch',
} as const;

/** A cluster, and what its kubelets know. */
interface Kubelets {
  readonly work: ClusterWork;
  readonly layered: LayeredSite;
  /** Pods that were begun, by uid. */
  readonly pods: Map<string, BegunPod>;
  /** Hosts that are starting anew. */
  readonly away: Map<string, Promise<void>>;
}

interface BegunPod {
  readonly ended: Promise<void>;
  /** Ends it for good. */
  readonly stop: AbortController;
}

/** Runs pods, and restarts hosts, until the cluster is closed. */
export async function runKubelets(work: ClusterWork, layered: LayeredSite): Promise<void> {
  const kubelets: Kubelets = { work, layered, pods: new Map(), away: new Map() };
  const changes = followChanges(work, [nodePods]);
  while (!work.signal.aborted) {
    try {
      bearRestarts(kubelets);
      if (work.state().isApiUp && changes.take()) await beginPods(kubelets);
    } catch {
      // The API may be moving; the next look tells.
      changes.keep();
    }
    await sleep(LOOK_EVERY_MILLIS, undefined, { signal: work.signal }).catch(() => undefined);
  }
  await changes.ended;
  const pods = [...kubelets.pods.values()].map(({ ended }) => ended);
  await Promise.all([...pods, ...kubelets.away.values()]);
}

function bearRestarts({ work, layered, away }: Kubelets): void {
  for (const host of restartingHosts(layered)) {
    if (away.has(host)) continue;
    const back = restartNode(work, layered, host)
      .catch((error: unknown) => complain(work, error))
      .finally(() => away.delete(host));
    away.set(host, back);
  }
}

async function beginPods(kubelets: Kubelets): Promise<void> {
  const { work, pods } = kubelets;
  for (const object of await work.kube.client.list(nodePods)) {
    const { data: pod } = NodePod.safeParse(object);
    if (pod === undefined) continue;
    const { uid } = pod.metadata;
    if (!pods.has(uid)) pods.set(uid, beginPod(kubelets, pod));
    if (object.metadata.deletionTimestamp !== undefined) {
      pods.get(uid)?.stop.abort(new Error('the pod is to go'));
    }
  }
}

function beginPod(kubelets: Kubelets, pod: NodePod): BegunPod {
  const { work } = kubelets;
  const stop = new AbortController();
  const run = async (): Promise<void> => {
    await runPod(kubelets, pod, AbortSignal.any([work.signal, stop.signal]));
    await letGo(work, pod);
  };
  return { stop, ended: run().catch((error: unknown) => complain(work, error)) };
}

function complain(work: ClusterWork, error: unknown): void {
  if (!work.signal.aborted) work.complain(error instanceof Error ? error.message : String(error));
}

/** A pod's program is started again until it succeeds, or the pod is gone, or on its way. */
async function runPod(
  { work, layered, away }: Kubelets,
  pod: NodePod,
  signal: AbortSignal,
): Promise<void> {
  const host = pod.spec.nodeName;
  const [container] = pod.spec.containers;
  if (container === undefined) return;
  let runs: PodRuns = { ...container, at: new Date(), restarts: 0 };
  while (!signal.aborted) {
    await away.get(host);
    if (!(await isThere(work, pod))) return;
    await tell(work, pod, [runs, 'running']);
    const end = await runOnce(work, pod, { args: container.args, signal });
    // What ends while its host goes down did not end by itself.
    const isCut = away.has(host) || restartingHosts(layered).includes(host);
    if (end.exitCode === 0 && !isCut) return tell(work, pod, [runs, 'succeeded']);
    runs = { ...runs, restarts: runs.restarts + 1, last: isCut ? killed : end };
    if (!isCut) await tell(work, pod, [runs, 'waiting']);
    await sleep(RESTART_AFTER_MILLIS, undefined, { signal }).catch(() => undefined);
  }
}

const killed: NodeRunEnd = { exitCode: 137, message: '' };

async function runOnce(
  { runOnNode, tenants }: ClusterWork,
  { metadata: { name }, spec: { nodeName: node } }: NodePod,
  { args, signal }: Pick<NodeRun, 'args' | 'signal'>,
): Promise<NodeRunEnd> {
  if (runOnNode === undefined) return { exitCode: 1, message: 'no program runs on this node' };
  const leaving = new AbortController();
  const moveOut = tenants.moveIn(node, () => {
    leaving.abort(new Error(`${node} is emptied`));
  });
  try {
    return await runOnNode({
      node,
      pod: name,
      args,
      signal: AbortSignal.any([signal, leaving.signal]),
    });
  } finally {
    moveOut();
  }
}

const refOf = ({ metadata: { name } }: NodePod) => ({
  kind: kinds.Pod,
  namespace: controllerNamespace,
  name,
});

async function isThere({ kube: { client } }: ClusterWork, pod: NodePod): Promise<boolean> {
  const found = await client.get(refOf(pod));
  return found?.metadata.uid === pod.metadata.uid;
}

/** The API server keeps a pod that somebody has removed until its kubelet says that it has ended. */
async function letGo({ kube: { client }, signal }: ClusterWork, pod: NodePod): Promise<void> {
  if (signal.aborted) return;
  const found = await client.get(refOf(pod));
  const isGoing = found?.metadata.deletionTimestamp !== undefined;
  if (isGoing && found.metadata.uid === pod.metadata.uid) {
    await client.remove(refOf(pod), { graceSeconds: 0 });
  }
}

/** Somebody may have removed the pod meanwhile. */
async function tell(
  { kube: { client } }: ClusterWork,
  pod: NodePod,
  [runs, phase]: readonly [PodRuns, PodPhase],
): Promise<void> {
  try {
    await client.mergeStatus(refOf(pod), podStatus(runs, phase, new Date()));
  } catch (error) {
    if (!(error instanceof KubeRefusal && error.status === NOT_FOUND)) throw error;
  }
}

// Runs the controllers of the Machine Config Operator, and the daemons on the nodes, against the
// API server.
import {
  annotation,
  configurationOf,
  imagesObject,
  poolObject,
  releaseConfig,
  renderedConfig,
  textIn,
} from '../../layering/objects.ts';
import { builtPools, type LayeredSite } from '../../layering/plan.ts';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { followChanges, pollUntilClosed } from '../changes.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import {
  applyControllerAction,
  decideControllers,
  operatorNamespace,
  type OperatorObjects,
  operatorQueues,
  poolStatus,
  type PoolStatus,
  type PoolView,
} from './controllers.ts';
import { moveNode } from './node.ts';

const POLL_INTERVAL_MILLIS = 300;

/** Objects of the views. The polls in between perform the actions that only wait for time. */
const viewed = [
  { kind: kinds.MachineConfigPool },
  { kind: kinds.MachineOSConfig },
  { kind: kinds.MachineOSBuild },
  { kind: kinds.Node },
  { kind: kinds.Job, namespace: operatorNamespace },
];

/** Runs until the cluster is closed. */
export async function runControllers(work: ClusterWork, layered: LayeredSite): Promise<void> {
  const { signal } = work;
  const memory: Memory = {
    queues: operatorQueues(),
    reported: new Map(),
    moving: new Set(),
  };
  const changes = followChanges(work, viewed);
  let objects = none;
  await pollUntilClosed(signal, { changes, everyMillis: POLL_INTERVAL_MILLIS }, async () => {
    if (!work.state().isApiUp) return;
    if (changes.take()) objects = await readObjects(work);
    const hasActed = await actOn(work, layered, { memory, objects });
    if (hasActed) changes.keep();
  });
}

/** Memory of the controllers. */
interface Memory {
  readonly queues: ReturnType<typeof operatorQueues>;
  /** The last reported status of each pool. */
  readonly reported: Map<string, string>;
  /** Nodes whose daemons are at work. */
  readonly moving: Set<string>;
}

const none: OperatorObjects = { pools: [], osConfigs: [], builds: [], nodes: [], jobs: [] };

/** All objects that the operator sees now. */
export async function readObjects({ kube: { client } }: ClusterWork): Promise<OperatorObjects> {
  const pools = await client.list({ kind: kinds.MachineConfigPool });
  if (pools.length === 0) return none;
  const [osConfigs, builds, nodes, jobs] = await Promise.all([
    client.list({ kind: kinds.MachineOSConfig }),
    client.list({ kind: kinds.MachineOSBuild }),
    client.list({ kind: kinds.Node }),
    client.list({ kind: kinds.Job, namespace: operatorNamespace }),
  ]);
  return { pools, osConfigs, builds, nodes, jobs };
}

interface Seen {
  readonly memory: Memory;
  readonly objects: OperatorObjects;
}

/** Acts on the objects and on the elapsed time; returns whether it wrote anything but a status. */
async function actOn(
  work: ClusterWork,
  layered: LayeredSite,
  { memory, objects }: Seen,
): Promise<boolean> {
  let hasActed = false;
  for (const view of memory.queues.viewsAt(Date.now(), objects)) {
    if (isRendered(view.pool)) await reportPool(work, view, memory);
    for (const action of decideControllers(view)) {
      await applyControllerAction(work, { layered, action, view, nodes: objects.nodes });
      hasActed = true;
    }
    for (const node of view.nodes) startMove(work, { layered, memory, node });
  }
  return hasActed;
}

const isRendered = (pool: KubeObject): boolean =>
  textIn(pool, 'spec', 'configuration', 'name') !== '';

/** Writes the status of a pool when it has changed. */
async function reportPool(
  { kube }: ClusterWork,
  view: PoolView,
  { reported }: Memory,
): Promise<void> {
  const { name } = view.pool.metadata;
  const status = poolStatus(view);
  const text = JSON.stringify(status);
  if (reported.get(name) === text) return;
  const ref = { kind: kinds.MachineConfigPool, name };
  await kube.client.mergeStatus(ref, { ...status, conditions: conditionsAt(status, new Date()) });
  reported.set(name, text);
}

const conditionsAt = ({ conditions }: PoolStatus, at: Date): readonly object[] =>
  conditions.map((one) => ({
    ...one,
    reason: '',
    message: '',
    lastTransitionTime: at.toISOString().replace(/\.\d+Z$/, 'Z'),
  }));

interface Moving {
  readonly layered: LayeredSite;
  readonly memory: Memory;
  readonly node: KubeObject;
}

/** A daemon with a new desired image applies it in the background. */
function startMove(work: ClusterWork, { layered, memory: { moving }, node }: Moving): void {
  const { name } = node.metadata;
  const target = annotation(node, 'desiredImage');
  const isThere = annotation(node, 'currentImage') === target;
  if (isThere || moving.has(name) || annotation(node, 'state') !== 'Done') return;
  moving.add(name);
  moveNode(work, layered, { name, target })
    .catch((error: unknown) => {
      if (!work.signal.aborted) work.complain(error instanceof Error ? error.message : '');
    })
    .finally(() => moving.delete(name));
}

/** Creates the pools of the release in the cluster; none is rendered yet. */
export async function createPools({ kube }: ClusterWork): Promise<void> {
  for (const pool of builtPools)
    await kube.api.client.apply(kinds.MachineConfigPool, poolObject(pool));
}

/** The cluster's machine-config-controller has a master to run on, and renders. */
export async function renderPools({ kube }: ClusterWork, { plan }: LayeredSite): Promise<void> {
  const { client } = kube;
  await client.apply(kinds.ConfigMap, imagesObject(plan));
  const machineConfigs = await client.list({ kind: kinds.MachineConfig });
  for (const pool of builtPools) {
    await client.apply(kinds.MachineConfig, releaseConfig(plan, pool));
    await client.apply(kinds.MachineConfig, renderedConfig(plan, pool, machineConfigs));
    const ref = { kind: kinds.MachineConfigPool, name: pool };
    await client.merge(ref, { spec: { configuration: configurationOf(pool) } });
  }
}

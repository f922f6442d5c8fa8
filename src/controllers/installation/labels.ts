import { machineConfigPools, nodes as nodeKind } from '../../kube/kinds.ts';
import { readinessOf } from '../../cluster/node.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import {
  beginPause,
  endPause,
  isPaused,
  pausedSince,
} from '../../layering/api/machine-config-pool.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import type { Controller } from '../../kube/manager.ts';
import { patchOf } from '../../kube/write.ts';
import { changePause } from '../../steps/cluster/pool-pause.ts';
import type { InstallationScope } from './scope.ts';
import { byHost, type InstallationStores, nameOf, nodeNameOf } from './stores.ts';

function lacksLabels({ labels, status }: InstallingHost, node: KubeObject | undefined): boolean {
  const there = node?.metadata.labels ?? {};
  const wanted = status === 'error' ? [] : Object.entries(labels);
  return wanted.some(([name, value]) => node === undefined || there[name] !== value);
}

/** Gives nodes the labels that users want on them, each as soon as it is Ready. */
export const labelController = (
  { kube, note }: InstallationScope,
  stores: InstallationStores,
): Controller => ({
  id: 'controller/label-nodes',
  title: 'Give nodes the labels of their hosts',
  idle: 'each node has the labels of its host',
  ...byHost(stores),
  about: (id) => `labels of node ${nodeNameOf(stores, id)}`,
  reconcile: async (id, signal) => {
    const { host, node } = stores.seenOf(id);
    if (host === undefined || !lacksLabels(host, node)) return {};
    if (node !== undefined && readinessOf(node).isReady) {
      const { labels } = host;
      const { name } = node.metadata;
      await kube.patch({ kind: nodeKind, name }, patchOf(node, { metadata: { labels } }), signal);
      note('info', `node ${name} has its labels`, { labels: Object.keys(labels).join(', ') });
    }
    return { status: `labels of ${nameOf(host)}` };
  },
});

/** The pool that a worker is in until its labels put it into its own. */
const workerPool: KubeRef = { kind: machineConfigPools, name: 'worker' };

/** The pool of workers: paused by us, by another, not at all, or not to be read or changed. */
type PoolState = 'unread' | 'ours' | 'others' | 'running' | 'forbidden';

/** How long what was read of the pool counts: others pause it too. */
const readEvery: Millis = seconds(30);

/** What ends with the controller may take so long. */
const longestEnd: Millis = seconds(2);

/**
 * Pauses the pool `worker` while a worker for a pool of its own joins: it is in that pool until it
 * has its labels, and the operator would give it another configuration meanwhile. The pause never
 * outlives the controller; one that dies finds its annotation when it starts again.
 */
export function pauseController(scope: InstallationScope, stores: InstallationStores): Controller {
  const pool = poolOf(scope);
  const { service, nodes } = stores;
  const isNeeded = (): boolean =>
    service.hosts().some((host) => {
      const node = stores.nodeOf(host.id);
      const isWorker = host.pool !== '' && host.role === 'worker';
      const isThere = node !== undefined || host.stage === 'Configuring';
      return isWorker && isThere && lacksLabels(host, node);
    });
  return {
    id: 'controller/pause-workers',
    title: 'Pause the pool of workers while its nodes get their labels',
    idle: 'no worker is about to leave the pool',
    reads: [service, nodes],
    about: (name) => `the pause of MachineConfigPool ${name}`,
    keys: () => [workerPool.name],
    watch: (add) => {
      nodes.onChange(() => add(workerPool.name));
      service.onChange(() => add(workerPool.name));
    },
    reconcile: async (_, signal) => {
      // Read once for what an earlier run has left, and again only while it matters.
      const isOfUse = isNeeded() || pool.last() === 'unread' || pool.last() === 'ours';
      if (!isOfUse || pool.last() === 'forbidden') return {};
      // A pause that this controller did not set stays, and so does its end.
      const state = await pool.read(readEvery, signal);
      if (isNeeded() ? state === 'running' : state === 'ours') await pool.set(isNeeded(), signal);
      return isNeeded() ? { after: readEvery, status: 'a worker is about to leave the pool' } : {};
    },
    takeBack: async () => {
      if (pool.last() === 'ours') await pool.set(false, AbortSignal.timeout(longestEnd));
    },
  };
}

interface WorkerPool {
  readonly last: () => PoolState;
  /** As it was read within this time, or is read now. */
  readonly read: (within: Millis, signal: AbortSignal) => Promise<PoolState>;
  readonly set: (isPaused: boolean, signal: AbortSignal) => Promise<void>;
}

/**
 * The pool of workers, which may be read and not watched (assisted-installer-controller, its role).
 */
function poolOf({ kube, clock, note }: InstallationScope): WorkerPool {
  let last: PoolState = 'unread';
  let readAt = 0;
  let found: KubeObject | undefined;
  const orForbidden = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // It may have been changed all the same.
      readAt = -Infinity;
      if (!isForbidden(error)) throw error;
      const { code, message } = error;
      last = 'forbidden';
      note('warn', 'MachineConfigPool worker cannot be paused', { code, reason: message });
    }
  };
  return {
    last: () => last,
    read: async (within, signal) => {
      if (last !== 'unread' && clock.elapsed() - readAt < within) return last;
      await orForbidden(async () => {
        found = await kube.get(workerPool, signal);
        const isOurs = pausedSince(found, 'labels') !== '';
        // One that is paused for its image alone is paused for its labels too.
        const isFree = pausedSince(found, 'handOver') !== '' || !isPaused(found);
        last = isOurs && isPaused(found) ? 'ours' : isFree ? 'running' : 'others';
        readAt = clock.elapsed();
      });
      return last;
    },
    set: (isToPause, signal) =>
      orForbidden(async () => {
        // Before it is sent: whoever ends meanwhile must end the pause too.
        if (isToPause) last = 'ours';
        const now = new Date(clock.now()).toISOString();
        const since = pausedSince(found, 'labels');
        const due = (pool: KubeObject) =>
          isToPause ? beginPause(pool, 'labels', now) : endPause(pool, 'labels', since);
        found = await changePause({ kube, signal }, found ?? workerPool.name, due);
        const isOurs = pausedSince(found, 'labels') !== '';
        last = isOurs ? 'ours' : isToPause ? 'others' : 'running';
        if (isOurs === isToPause)
          note('info', `MachineConfigPool worker is ${isToPause ? 'paused' : 'unpaused'}`);
      }),
  };
}

import { nodes as nodeKind } from '../../kube/kinds.ts';
import { readinessOf } from '../../cluster/node.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import {
  beginPause,
  endPause,
  type PauseChange,
  pausedSince,
} from '../../layering/api/machine-config-pool.ts';
import type { InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import type { Controller } from '../../kube/manager.ts';
import { patchOf } from '../../kube/object.ts';
import { changePause } from '../../steps/cluster/pool-pause.ts';
import type { InstallationScope } from './scope.ts';
import { byHost, type InstallationStores, nameOf, nodeNameOf } from './stores.ts';

function lacksLabels({ labels, status }: InstallingHost, node: KubeObject | undefined): boolean {
  const there = node?.metadata.labels ?? {};
  const wanted = status === 'error' ? [] : Object.entries(labels);
  return wanted.some(([name, value]) => node === undefined || there[name] !== value);
}

/** Sets the labels that users requested on nodes, as soon as each node is Ready. */
export const labelController = (
  { kube, note }: InstallationScope,
  stores: InstallationStores,
): Controller => ({
  id: 'controller/label-nodes',
  title: 'Set the labels of hosts on their nodes',
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

/** The pool of a worker until its labels select its own pool. */
const workerPool = 'worker';

/** How long a reading of the pool is valid: other programs pause it too. */
const readEvery: Millis = seconds(30);

/** The longest clean-up at the end of the controller. */
const longestEnd: Millis = seconds(2);

/**
 * Pauses the pool `worker` while a worker for a custom pool joins: it is in the pool `worker` until
 * it has its labels, and the operator would apply another configuration meanwhile. The pause never
 * outlives the controller; a crashed controller finds its annotation when it restarts. A pause that
 * this controller did not begin is not ended by it either. Its role may read the pool and not watch
 * it (assisted-installer-controller).
 */
export function pauseController(scope: InstallationScope, stores: InstallationStores): Controller {
  const { kube, clock, note } = scope;
  const { service, nodes } = stores;
  let isDenied = false;
  /** Whether the pool may have a pause of this controller now. */
  let isOurs = false;
  /** Purpose and time of the last reading of the pool; an earlier run may have paused it. */
  let read: { readonly isNeeded: boolean; readonly at: Millis } | undefined;
  const isNeeded = (): boolean =>
    service.hosts().some((host) => {
      const node = stores.nodeOf(host.id);
      const isWorker = host.pool !== '' && host.role === 'worker';
      const isThere = node !== undefined || host.stage === 'Configuring';
      return isWorker && isThere && lacksLabels(host, node);
    });
  const change = async (isToPause: boolean, signal: AbortSignal): Promise<void> => {
    // Set before the request is sent: a stop meanwhile must end the pause too.
    isOurs ||= isToPause;
    let due: PauseChange | undefined;
    try {
      const now = new Date(clock.now()).toISOString();
      const pool = await changePause({ kube, signal }, workerPool, (found) => {
        due = isToPause
          ? beginPause(found, 'labels', now)
          : endPause(found, 'labels', pausedSince(found, 'labels'));
        return due;
      });
      isOurs = pausedSince(pool, 'labels') !== '';
      read = { isNeeded: isToPause, at: clock.elapsed() };
    } catch (error) {
      // The pool may have changed despite the failure.
      read = undefined;
      if (!isForbidden(error)) throw error;
      isDenied = true;
      const { code, message: reason } = error;
      note('warn', 'MachineConfigPool worker cannot be paused', { code, reason });
      return;
    }
    if (due !== undefined)
      note('info', `MachineConfigPool worker is ${due.spec.paused ? 'paused' : 'unpaused'}`);
  };
  return {
    id: 'controller/pause-workers',
    title: 'Pause the worker pool until its nodes are labelled',
    idle: 'no worker is about to leave the pool',
    reads: [service, nodes],
    about: (name) => `the pause of MachineConfigPool ${name}`,
    keys: () => [workerPool],
    watch: (add) => {
      nodes.onChange(() => add(workerPool));
      service.onChange(() => add(workerPool));
    },
    reconcile: async (_, signal) => {
      const isToPause = isNeeded();
      const isOld = isToPause && clock.elapsed() - (read?.at ?? 0) >= readEvery;
      const isDue = read?.isNeeded !== isToPause || isOld;
      if (isDue && !isDenied) await change(isToPause, signal);
      if (!isToPause || isDenied) return {};
      return { after: readEvery, status: 'a worker is about to leave the pool' };
    },
    takeBack: async () => {
      if (isOurs) await change(false, AbortSignal.timeout(longestEnd));
    },
  };
}
